"""What the shell and the search answer: test runs, compilers, listings, versions, logs, each about as long as asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.synth.project import Project
from tests.synth.words import ERRORS, NOUNS


@dataclass(frozen=True)
class Ran:
    """A command line and what came of it."""

    command: str
    output: str
    is_error: bool = False


VERSIONS = 0.0104
"""Share of results that list versions: as in the sessions that the profile was taken from."""


class Shell:
    """The shell of one session."""

    def __init__(self, chance: Random, project: Project, content: dict[str, float]) -> None:
        self._chance, self._project = chance, project
        plain = (self._listing, self._history, self._difference, self._log, self._script, self._log, self._script)
        self._plain: tuple[Callable[[int], Ran], ...] = plain
        self._shares = (content.get("failing", 0.0), content.get("passing", 0.0), VERSIONS)

    def run(self, file: str, test: str, size: int, argument_size: int, *, fails: bool) -> Ran:
        """Run something that has to do with a file; ``size`` is of the output, ``argument_size`` of the command."""
        drawn = self._chance.random()
        failing, passing, versions = self._shares
        if drawn < failing:
            ran = self._failing(test, size)
        elif fails:
            ran = self._broken(file, size)
        elif drawn < failing + passing:
            ran = self._passing(test, size)
        elif drawn < failing + passing + versions:
            ran = self._versions(size)
        else:
            ran = self._chance.choice(self._plain)(size)
        return Ran(self._as_long(ran.command, argument_size), ran.output[: max(size, 2)] or "ok", ran.is_error or fails)

    def _as_long(self, command: str, size: int) -> str:
        """A command with as much around it as makes it about ``size`` long: a change of folder, a script."""
        project = self._project
        if len(command) + len(project.root) + 20 < size:
            command = f"cd {project.root} && {command}"
        if size > len(command) + 80:
            body = "\n".join(project.code(self._chance, size - len(command) - 40))
            command += f" && tee /tmp/{self._chance.choice(NOUNS)}.txt <<'EOF'\n{body}\nEOF"
        return command

    def _test_command(self, test: str) -> str:
        if self._project.language == "python":
            return f"python -m pytest {test} -q"
        if self._project.language == "typescript":
            return f"npx vitest run {test}"
        return f"go test ./{test.rpartition('/')[0]}/... -run {self._test_name()}"

    def _test_name(self) -> str:
        name = self._chance.choice(self._project.names)
        return f"test_{name}" if self._project.language == "python" else f"Test{name[:1].upper()}{name[1:]}"

    def error_line(self, file: str) -> str:
        """One line as a program of the project would end with."""
        chance, project = self._chance, self._project
        name, other, n = chance.choice(project.names), chance.choice(project.names), chance.randint(2, 900)
        if project.language == "go":
            return f"{file}:{n}:{n % 60 + 1}: undefined: {name}"
        if project.language == "typescript":
            return f"{file}({n},{n % 60 + 1}): error TS2339: Property '{name}' does not exist on type '{other}'."
        return f"{chance.choice(ERRORS)}: {name} expected {n} entries, got {other!r}"

    def _failing(self, test: str, size: int) -> Ran:
        chance, failed, passed = self._chance, self._chance.randint(1, 3), self._chance.randint(3, 180)
        names = [self._test_name() for _ in range(failed)]
        errors = [self.error_line(test) for _ in names]
        if self._project.language == "go":
            end = (
                "\n".join(
                    f"--- FAIL: {name} (0.0{chance.randint(1, 9)}s)\n    {error}"
                    for name, error in zip(names, errors, strict=True)
                )
                + "\nFAIL"
            )
        elif self._project.language == "typescript":
            end = "\n".join(
                f" FAIL  {test} > {name}\nError: {error}" for name, error in zip(names, errors, strict=True)
            )
            end += f"\n Tests  {failed} failed | {passed} passed ({failed + passed})"
        else:
            end = "\n".join(f"FAILED {test}::{name} - {error}" for name, error in zip(names, errors, strict=True))
            end += f"\n=== {failed} failed, {passed} passed in {chance.randint(1, 900) / 100:.2f}s ==="
        return Ran(self._test_command(test), self._before(end, size), self._chance.random() < 0.5)

    def _before(self, end: str, size: int) -> str:
        """A long output with its point at the end."""
        room = size - len(end) - 1
        return "\n".join(self._project.code(self._chance, room))[:room] + "\n" + end if room > 40 else end

    def _passing(self, test: str, size: int) -> Ran:
        passed, seconds = self._chance.randint(3, 240), self._chance.randint(1, 900) / 100
        if self._project.language == "go":
            end = f"ok  \tinternal/{self._chance.choice(NOUNS)}\t{seconds:.3f}s"
        elif self._project.language == "typescript":
            end = f" Tests  {passed} passed ({passed})"
        else:
            end = f"{passed} passed in {seconds:.2f}s"
        return Ran(self._test_command(test), self._before(end, size))

    def _broken(self, file: str, size: int) -> Ran:
        build = {"python": f"python {file}", "typescript": "npx tsc --noEmit", "go": "go build ./..."}
        return Ran(build[self._project.language], self._before(self.error_line(file), size), is_error=True)

    def _versions(self, size: int) -> Ran:
        packages = self._project.packages
        if self._project.language == "python":
            rows = "\n".join(f"{name:<20} {version}" for name, version in packages)
            return Ran("pip list", f"Package              Version\n-------------------- -------\n{rows}")
        if self._project.language == "typescript":
            return Ran("npm ls --depth=0", "\n".join(f"├── {name}@{version}" for name, version in packages))
        return Ran("go list -m all", "\n".join(f"{name} v{version}" for name, version in packages)[:size])

    def _listing(self, size: int) -> Ran:
        chance, count = self._chance, size // 50 + 1
        files = chance.choices(self._project.files, k=count)
        sizes = chance.choices(range(200, 60_000), k=count)
        rows = [f"-rw-r--r-- 1 dev dev {n:6} Mar {n % 28 + 1:2} {file}" for n, file in zip(sizes, files, strict=True)]
        return Ran("make package && ls -la build", "\n".join(rows))

    def _history(self, size: int) -> Ran:
        chance, count = self._chance, size // 55 + 1
        names, parts = (chance.choices(self._project.names, k=count), chance.choices(self._project.components, k=count))
        rows = [f"{chance.getrandbits(28):07x} {name} in the {part}" for name, part in zip(names, parts, strict=True)]
        return Ran(f"git fetch --all && git log --oneline -{min(count, 200)}", "\n".join(rows))

    def _difference(self, size: int) -> Ran:
        chance, file = self._chance, self._chance.choice(self._project.files)
        lines = self._project.code(chance, size)
        signs = chance.choices("   +-", k=len(lines))
        head = f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -{len(lines)},7 +{len(lines)},9 @@\n"
        return Ran(
            f"git add {file} && git diff --cached", head + "\n".join(map("".join, zip(signs, lines, strict=True)))
        )

    def _log(self, size: int) -> Ran:
        chance, count = self._chance, size // 75 + 1
        names, numbers = chance.choices(self._project.names, k=count), chance.choices(range(10**6), k=count)
        rows = [
            f"2026-03-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:{n % 59:02}.{n % 997:03}Z INFO {name} {n:x} {n % 3001}ms"
            for n, name in zip(numbers, names, strict=True)
        ]
        part = chance.choice(self._project.components).replace(" ", "-")
        return Ran(f"docker compose logs --tail {count} {part}", "\n".join(rows))

    def _script(self, size: int) -> Ran:
        chance, count = self._chance, size // 28 + 1
        names, numbers = chance.choices(self._project.names, k=count), chance.choices(range(10**5), k=count)
        rows = [f"{name}: {n / 100:.2f} of {n % 977}" for n, name in zip(numbers, names, strict=True)]
        runner = {"python": "python", "typescript": "npx tsx", "go": "go run"}[self._project.language]
        return Ran(f"{runner} {chance.choice(self._project.files)} --limit {count}", "\n".join(rows))

    def found(self, word: str, size: int) -> str:
        """The hits of a search."""
        chance, project = self._chance, self._project
        lines = project.code(chance, max(1, size // 2))
        files, at = chance.choices(project.files, k=len(lines)), chance.choices(range(1, 900), k=len(lines))
        hits = [f"{file}:{n}:{line.strip()} {word}" for file, n, line in zip(files, at, lines, strict=True)]
        return "\n".join(hits)[: max(size, 2)] or "no match"
