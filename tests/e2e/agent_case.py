"""A case of gpufl-agent's tests: a folder of logs, a state, a server that keeps what it receives. The arguments of these tests are

    GPUFL GPUFL_AGENT SOURCE
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import ingest_server
from agent_run import QUICK, Agent
from patience import PATIENCE, until

GPUFL, AGENT, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:4])
PEER = SOURCE / "tests/data/peer/5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def run(*args, env=None):
    return subprocess.run([AGENT, *args], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                          env={**ENV, **(env or {})}, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-agent-"))
        self.logs, self.state = self.dir / "logs", self.dir / "state"
        self.logs.mkdir()
        self.server = ingest_server.Server()

    def tearDown(self):
        self.server.close()
        shutil.rmtree(self.dir)

    def agent(self, *options, server=None, sources=None, **more):
        return Agent(AGENT, self.state, server or self.server.url, sources or [self.logs], *QUICK, *options, **more)

    def simulate(self, kernels=2000, rotate=1 << 16):
        before = set(self.logs.iterdir())
        subprocess.run([GPUFL, "sim", "-k", str(kernels), "-o", self.logs], check=True, stdout=subprocess.DEVNULL,
                       env={**ENV, "GPUFL_LOG_ROTATE_BYTES": str(rotate)})
        return next(d for d in self.logs.iterdir() if d not in before)

    def arrived(self, log, channel="device"):
        return bytes(self.server.channels.get((log.name, channel), b""))

    def until_arrived(self, log, agent=None):
        for channel in ("device", "system"):
            want = b"".join(line + b"\n" for line in log.lines[channel])
            until(lambda channel=channel, want=want: self.arrived(log, channel) == want,
                  lambda: agent.said()[-2000:] if agent else "it does not arrive")
