"""llama.cpp's own server over a model file, until it is stopped: ``python -m tests.local.server MODEL.gguf``.

Its two lines on stdout are what to set: the address for ``OPENAI_BASE_URL``, and the model for ``--model``.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
from pathlib import Path

import xllamacpp

HOST = "127.0.0.1"


def main() -> None:
    """Serve the file. The port is one that is free, unless it is named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--context", type=int, default=8192, help="tokens of prompt and answer together")
    given = parser.parse_args()
    name = given.weights.stem.lower()
    params = xllamacpp.CommonParams()
    params.model.path = str(given.weights)
    params.model_alias = {name}
    params.hostnames = [HOST]
    params.port = given.port
    # A web page in the user's browser could reach the server otherwise.
    params.cors_origins, params.cors_origins_explicit = f"http://{HOST}", True
    params.ui = params.endpoint_slots = False
    params.n_ctx, params.n_parallel = given.context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 1024  # prompts kept for their prefixes; the default is 8 GB
    params.verbosity = 1  # errors
    server = xllamacpp.Server(params)  # serves as long as it is referred to
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    print(f"export OPENAI_BASE_URL={server.listening_address}/v1\n--model openai:{name}", flush=True)
    while not stopped.wait(1):
        pass
    os._exit(0)  # the server's destructor would wait for the answer in work, which can take minutes


if __name__ == "__main__":
    main()
