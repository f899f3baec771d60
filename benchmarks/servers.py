"""Streamlit servers of the benchmark: started, waited for, ended."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import peers

_FLAGS = {
    "server.headless": "true",
    "server.address": "127.0.0.1",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
}


@contextmanager
def serve(python: Path | str, script: Path) -> Iterator[str]:
    """Run a Streamlit script on a free port; gives its address once it answers.

    Raises:
        RuntimeError: if the server ends or does not answer within a minute.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    command += [part for flag, value in _FLAGS.items() for part in (f"--{flag}", value)]
    environment = os.environ | {"OMP_WAIT_POLICY": "passive", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=peers.ROOT, env=environment, stdout=quiet, stderr=quiet)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
    raise RuntimeError(f"no Streamlit server: {server.args!r}")
