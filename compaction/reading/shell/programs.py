"""Programs that read, search, run and wrap, and their options with a value: the tables behind ``effects``."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


WRAPPERS = frozenset(
    {"sudo", "env", "time", "nohup", "command", "exec", "builtin", "timeout", "nice", "stdbuf", "xvfb-run"}
)
KEYWORDS = frozenset({"then", "do", "else", "elif", "if", "while", "until", "{", "!"})
NO_COMMAND = frozenset({"for", "case", "select", "function", "[[", "[", "test", "done", "fi", "esac", "}"})
SAFE = word_set(
    "cd pushd popd echo printf cat mkdir export set source . true : pwd ls head tail wc sleep sed touch cp mv "
    "rm tee nl chmod which type date git"
)
"""Programs whose failure is rare enough that what follows them after ``&&`` is taken to have happened."""

READERS: dict[str, frozenset[str]] = {
    # Program → its options that take a value as the next word.
    "cat": frozenset(),
    "bat": frozenset({"-l", "-r", "--line-range", "--style", "--language", "--theme"}),
    "batcat": frozenset({"-l", "-r", "--line-range", "--style"}),
    "head": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "tail": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "less": frozenset(),
    "more": frozenset(),
    "tac": frozenset(),
    "nl": frozenset({"-b", "-w", "-s", "-v", "-i", "-n"}),
    "wc": frozenset(),
    "od": frozenset({"-N", "-j", "-t", "-A"}),
    "xxd": frozenset({"-l", "-s", "-c"}),
    "hexdump": frozenset({"-n", "-s"}),
    "cut": frozenset({"-d", "-f", "-c"}),
    "diff": frozenset({"-U", "-C", "-x", "-I"}),
}
SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "awk", "gawk", "jq", "yq"})
SEARCH_VALUES = word_set(
    "-e -f -m -A -B -C -g -t -T -r -F -v --glob --type --include --exclude --exclude-dir --max-count --context "
    "--after-context --before-context --regexp --type-not --replace --max-depth --arg --argjson"
)
FLAG_FOR_GREP = frozenset({"-r", "-F", "-v", "-T"})
"""Options without a value for grep, though they take one for rg or awk."""

PROGRAMS = word_set(
    "pytest py.test unittest tox nox ctest make gmake just rake rspec phpunit mvn mvnw gradle gradlew bazel "
    "ninja jest vitest mocha ava tap tape playwright cypress tsc tsgo vue-tsc eslint biome prettier stylelint "
    "oxlint ruff mypy pyright pyre flake8 pylint black isort bandit sqlfluff golangci-lint gofmt staticcheck "
    "rustfmt clippy-driver shellcheck hadolint coverage pre-commit vite webpack rollup esbuild turbo nx "
    "py_compile compileall doctest build gcc g++ clang rustc javac"
)
SUBCOMMANDS: dict[str, frozenset[str]] = {
    "npm": word_set("test t run run-script ci start exec"),
    "pnpm": word_set("test t run exec build lint start -r --filter -F"),
    "yarn": word_set("test run build lint start jest vitest tsc workspace"),
    "go": word_set("test build vet run generate install"),
    "cargo": word_set("test build check clippy run fmt nextest bench"),
    "dotnet": word_set("test build run"),
    "mise": frozenset({"run"}),
    "task": word_set("test build lint check"),
    "swift": word_set("test build run"),
    "cmake": frozenset({"--build"}),
    "docker": word_set("build run compose"),
    "docker-compose": word_set("up run build"),
    "manage.py": word_set("test migrate check runserver"),
    "bun": word_set("test run x build"),
}
RUNNERS = frozenset(
    {
        ("uv", "run"),
        ("poetry", "run"),
        ("pipenv", "run"),
        ("pdm", "run"),
        ("bundle", "exec"),
        ("pnpm", "exec"),
        ("bun", "x"),
    }
)
"""What runs another program in an environment, and is left off."""

GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "-s", "--source"})
