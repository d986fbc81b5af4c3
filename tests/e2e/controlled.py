"""A gpufl-server, a gpufl-agent with --allow-remote-control, and programs over the fake driver whose sessions the agent may have record."""
import json
import os
import pathlib
import signal
import subprocess

import live_server
from agent_run import Agent
from patience import until

HOST = os.uname().nodename
QUICK = ("--wait-least", "10ms", "--wait-most", "100ms", "--delay", "20ms")


class Program:
    """Launches on and on, with the library injected by the driver. options: of the library. starter: what starts it."""

    def __init__(self, build, logs, program=("2000000", "rate=2"), starter=(), **options):
        before = set(logs.iterdir()) if logs.is_dir() else set()
        self.process = subprocess.Popen(
            [*starter, build / "fake/fake_program", *program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": str(build / "fake"),
                 "CUDA_INJECTION64_PATH": str(build / "lib/libgpufl.so"), "GPUFL_LOG_PATH": str(logs),
                 "GPUFL_CUPTI_PATH": str(build / "fake"), "FAKE_DEVICE": f"{os.getpid():08x}",
                 **{"GPUFL_" + name.upper(): str(value) for name, value in options.items()},
                 **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}})
        self.folder = until(lambda: next((d for d in logs.iterdir() if d not in before and d.is_dir()
                                          and any(d.glob("*.log*"))), None) if logs.is_dir() else None,
                            lambda: f"no session begins: {self.process.poll()}")
        self.session, self.pid = self.folder.name, self.process.pid

    def end(self, number=signal.SIGTERM):
        """Ends the program: what it printed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.communicate(timeout=live_server.DEADLINE_S)[1]

    def wait(self):
        said = self.process.communicate(timeout=live_server.DEADLINE_S)[1]
        assert self.process.returncode == 0, said
        return self


class House:
    """The server, the agent with a key of its own, and the programs. starter: what starts the agent."""

    def __init__(self, folder, build, *options, allowed=True, starter=()):
        self.build, self.folder = pathlib.Path(build), folder
        self.logs, self.cache = folder / "logs", folder / "cache"
        self.logs.mkdir(parents=True)
        self.server = live_server.Server(self.build / "bin/gpufl-server", folder / "server")
        self.owner = live_server.set_up(self.server)
        self.key = live_server.key(self.server, self.owner, "ingest")
        self.agent = Agent(self.build / "bin/gpufl-agent", folder / "state", self.server.url, [self.logs], *QUICK,
                           "--config-cache", str(self.cache), *(["--allow-remote-control"] if allowed else []), *options,
                           key=self.key)
        self.agent.command[:0] = starter
        self.agent.start().ready()
        until(self.agents, self.agent.said)
        self.programs = []

    def ask(self, method, path, body=None, who=None):
        return self.server.ask(method, "/api/v1" + path, body, self.owner if who is None else who)

    def agents(self):
        return self.ask("GET", "/agents").json()["rows"]

    def start(self, engine="Monitor", **more):
        """Starts a program: the program, once the server knows its session and, while that is live, its process."""
        program = Program(self.build, self.logs, profiling_engine=engine, **more)
        self.programs.append(program)

        def is_known():
            session = self.ask("GET", f"/sessions/{program.session}")
            if session.status != 200:
                return False
            running = self.ask("GET", "/running").json()["rows"]
            return session.json()["state"] != "live" or any(r["session"] == program.session and r["pid"] for r in running)

        self.server.until(is_known, "the session arrives")
        return program

    def capture(self, program, engine="Trace", ms=300, **more):
        return self.ask("POST", "/captures", {"session": program.session, "engine": engine, "duration": ms * 1000000, **more})

    def request(self, number):
        return next(r for r in self.ask("GET", "/captures").json()["rows"] if r["id"] == number)

    def outcome(self, answer, *states):
        """The row of the one request of this answer, when it is in one of the states."""
        assert answer.status == 200, answer
        number = answer.json()["rows"][0]["id"]
        return self.server.until(lambda: (row := self.request(number))["state"] in states and row,
                                 f"{states}: {self.request(number)} {self.agent.said()[-800:]}")

    def audit(self):
        return [(row["action"], row["target"], row["kind"]) for row in self.ask("GET", "/audit").json()["rows"]]

    def report(self, program):
        run = subprocess.run([self.build / "bin/gpufl", "report", "--json", program.folder], capture_output=True, text=True,
                             check=True, timeout=live_server.DEADLINE_S)
        return json.loads(run.stdout)

    def close(self):
        for program in self.programs:
            if not program.process.stderr.closed:
                program.end(signal.SIGKILL)
        self.agent.kill(15)
        self.server.end(self.folder / "server")
