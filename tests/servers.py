"""A real llama-server, from COGBIAS_LLAMA_SERVER or PATH; tests say so when there is none."""

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

MISSING = "no llama-server here: run 'make llama', or set COGBIAS_LLAMA_SERVER to one"


def llama_server_binary():
    "The executable, or None."
    named = os.environ.get("COGBIAS_LLAMA_SERVER")
    return named if named and Path(named).exists() else shutil.which("llama-server")


def free_port():
    "A port that nobody listens on."
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(url, process, seconds=60):
    "Wait until a server answers; say what it printed when it dies instead."
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(
                f"the server ended with status {process.returncode}: "
                f"{(process.stdout.read() or b'')[-2000:].decode(errors='replace')}"
            )
        try:
            urllib.request.urlopen(url, timeout=1).read()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise TimeoutError(f"{url} did not answer within {seconds} s")


@contextmanager
def llama_server(gguf, *arguments, slots=4, alias="tiny"):
    "Serve a GGUF file; yields the address without /v1."
    port = free_port()
    command = [
        llama_server_binary(),
        "-m",
        str(gguf),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "-c",
        str(1024 * slots),
        "-np",
        str(slots),
        "--offline",
        "-a",
        alias,
        "--threads-http",
        "32",
        "-t",
        "1",
        *arguments,
    ]  # few HTTP threads stall pooled connections; two computing ones wait for each other
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=nowhere, stderr=nowhere
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
