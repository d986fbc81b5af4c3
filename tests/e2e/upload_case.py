"""A case of `gpufl upload`'s tests: a folder of sessions, a server with a script, and a listener in place of a proxy. The
first argument of these tests is GPUFL, the program.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import ingest_server
from agent_run import channels_of

GPUFL = os.path.abspath(sys.argv[1])
# A shell's background jobs, and their children, ignore SIGINT; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
KEY = "gpfl_" + "k" * 32


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-upload-"))
        self.server = ingest_server.Server()

    def tearDown(self):
        self.server.close()
        shutil.rmtree(self.dir)

    def session(self, name="app", kernels=3000, **options):
        """A session of the simulated GPU in several parts."""
        env = {**ENV, "GPUFL_LOG_ROTATE_BYTES": str(options.get("rotate", 1 << 16))}
        subprocess.run([GPUFL, "sim", "-k", str(kernels), "-n", name, "-o", self.dir], env=env, check=True,
                       stdout=subprocess.DEVNULL)
        newest = max((d for d in self.dir.iterdir() if d.is_dir()), key=lambda d: d.stat().st_mtime_ns)
        return newest

    def upload(self, *args, path=None, env=None, server=None):
        command = [GPUFL, "upload", "--server", server or self.server.url, *args, path or self.dir]
        return subprocess.run(command, env={**ENV, **(env or {})}, capture_output=True, text=True, timeout=120,
                              check=False)

    def upload_within(self, *args, **more):
        """An upload to which nobody may answer; on a busy machine it has more time, as much as the first answer
        needs."""
        for unreachable, limit in (("200ms", "300ms"), ("2s", "3s"), ("20s", "30s")):
            run = self.upload("--time-limit", limit, "--unreachable", unreachable, *args, **more)
            if "no time left" not in run.stderr:
                break
        return run

    def result(self, *args, **more):
        run = self.upload("--json", *args, **more)
        return run.returncode, json.loads(run.stdout), run.stderr

    def assert_arrived(self, folder):
        for channel, text in channels_of(folder).items():
            self.assertEqual(bytes(self.server.channels[folder.name, channel]), text, channel)


class Proxy:
    """A listener in place of a proxy: it keeps the heads of requests, and answers with one status."""

    def __init__(self, status="502 Bad Gateway"):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.heads = []
        self.answer = f"HTTP/1.1 {status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy".encode()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.settimeout(10)
                head = b""
                while b"\r\n\r\n" not in head and (more := client.recv(4096)):
                    head += more
                if head:
                    self.heads.append(head.decode(errors="replace"))
                    client.sendall(self.answer)

    def close(self):
        """Closes it: what it was asked."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(60)
        return self.heads
