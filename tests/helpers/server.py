"""A server in a process of its own, as `kolmogorov serve` starts it, and what tests ask of it."""

import os
import signal
import socket
import subprocess
from contextlib import contextmanager

import httpx

from .processes import PATIENCE, tool, wait_until


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The process, its log, and a client that keeps its connection."""

    def __init__(self, process, port, log):
        self.process, self.port, self.log = process, port, log
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def health(self):
        return self.client.get("/health").json()

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server has ended: {self.log.read_text()[-2000:]}")
        try:
            return httpx.get(f"{self.url}/health", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self):
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(model, log, *options, **environment):
    """Serve a model until the block ends."""
    port = free_port()
    words = tool("serve", model, "--port", port, *options)
    with open(log, "wb") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file, env=os.environ | environment)
    server = Server(process, port, log)
    try:
        wait_until(server.answers, "an answer of the server")
        yield server
    finally:
        server.stop()
