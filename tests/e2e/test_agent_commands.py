#!/usr/bin/env python3
"""`gpufl-agent`'s commands and `--check`: their answers are true, and they change nothing that is not the agent's.

    test_agent_commands.py GPUFL_AGENT GPUFL_SERVER
"""
import http.server
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
import live_server
from agent_run import QUICK, Agent, Log, letters
from patience import PATIENCE, until

AGENT, SERVER = (pathlib.Path(p).absolute() for p in sys.argv[1:3])
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
       **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}


def run(*args, env=None):
    return subprocess.run([AGENT, *map(str, args)], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
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

    def agent(self, *options, state=None, server=None):
        return Agent(AGENT, state or self.state, server or self.server.url, [self.logs], *QUICK, *options)

    def log(self, name, kernels=1):
        log = Log(self.logs, name)
        for n in range(kernels):
            log.kernel(n)
        log.end()
        return log


class Socket(Case):
    def begin(self, *options, state=None):
        return run("--source", self.logs, "--server", self.server.url, "--state", state or self.state, *options)

    def test_a_file_in_its_place_stays(self):
        precious = self.dir / "precious.txt"
        precious.write_text("mine")
        for more in ((), ("--check",)):
            out = self.begin("--control", precious, *more)
            self.assertEqual(out.returncode, 2, out)
            self.assertIn(f"{precious} is no socket: name another path for the control socket with --control", out.stderr)
            self.assertEqual(precious.read_text(), "mine")

    def test_another_agent_keeps_its_socket(self):
        path = self.dir / "both.sock"
        with socket.socket(socket.AF_UNIX) as left:  # as of an agent that was killed: nobody listens
            left.bind(str(path))
        first = self.agent("--control", str(path)).start()
        self.addCleanup(first.kill)
        until(lambda: run("status", "--control", path).returncode == 0, first.said)
        second = self.begin("--control", path, state=self.dir / "other")
        self.assertEqual(second.returncode, 4, second)
        self.assertIn(f"another program listens at the control socket {path}", second.stderr)
        self.assertEqual(run("status", "--control", path).returncode, 0)
        self.assertEqual(first.kill(signal.SIGTERM), 0)
        self.assertFalse(path.exists())

    def test_it_removes_its_own_socket_only(self):
        path = self.dir / "late.sock"
        first = self.agent("--control", str(path)).start()
        self.addCleanup(first.kill)
        until(lambda: run("status", "--control", path).returncode == 0, first.said)
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            self.assertEqual(first.kill(signal.SIGTERM), 0)
            self.assertTrue(path.is_socket())

    def test_where_no_agent_listens(self):
        out = run("status", "--state", self.state)
        self.assertEqual(out.returncode, 3, out)
        self.assertIn("--state or --control says where", out.stderr)


class Commands(Case):
    def test_a_paused_agent_sends_nothing_whatever_is_asked(self):
        log = Log(self.logs, "held")
        log.kernel(1)
        with self.agent() as agent:
            agent.ask("flush")
            agent.ask("pause")
            self.assertEqual(agent.status()["state"], "paused")
            log.end()
            asked = len(self.server.requests)
            for command in ("flush", "drain", "retry"):
                self.assertEqual(agent.ask(command, code=1)[2], "gpufl-agent: the agent is paused\n", command)
            self.assertEqual(len(self.server.requests), asked)
            agent.ask("resume")
            agent.ask("drain")
            self.assertEqual(agent.wait(), 0, agent.said())
        self.assertEqual(self.server.complete, ["held"])

    def test_a_pause_ends_a_drain_that_cannot_go_on(self):
        self.log("stuck")
        self.server.script = [{"status": 503}] * 10_000
        with self.agent() as agent:
            until(lambda: agent.status()["state"] == "waiting", agent.said)
            drain = subprocess.Popen([AGENT, "drain", "--state", self.state], stderr=subprocess.PIPE, text=True, env=ENV)
            until(lambda: agent.status()["counts"]["answers_wait"] > 5, agent.said)
            self.assertIsNone(drain.poll())
            agent.ask("pause")
            self.assertEqual(drain.communicate(timeout=PATIENCE)[1], "gpufl-agent: the agent is paused\n")
            self.assertEqual(drain.returncode, 1)
            self.server.script = []
            agent.ask("resume")
            agent.until_done(1)

    def test_status_in_words(self):
        self.log("words")
        self.server.script = [{"status": 503, "headers": {"Retry-After": "1000"}}]
        with self.agent("--compression", "gzip") as agent:
            until(lambda: agent.status()["state"] == "waiting", agent.said)
            lines = agent.ask("status")[1].splitlines()
            self.assertRegex(lines[0], r"^waiting: the server answers 503: as the script says; next try in (9\d\d|1\d{3}) s$")
            agent.ask("pause")
            self.assertNotIn("next try", agent.ask("status")[1])
            agent.ask("resume")
            self.assertRegex(lines[1], rf"^sends to: {self.server.url}; last good answer: \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
            self.assertEqual(lines[2], "sessions: 1, of them on the server: 0; channels that cannot go on: 0")
            self.assertRegex(lines[3], r"^bytes that wait: [1-9]\d*; dead letters: 0$")
            self.assertEqual(len(lines), 4)
        with self.agent(server="http://127.0.0.1:1", state=self.dir / "other") as agent:
            self.assertIn("; last good answer: none since the agent began\n", agent.ask("status")[1])

    def test_a_flush_says_why_not(self):
        self.log("waits")
        self.server.script = [{"status": 503, "headers": {"Retry-After": "1000"}}]
        with self.agent("--compression", "gzip") as agent:
            until(lambda: agent.status()["state"] == "waiting", agent.said)
            self.assertEqual(agent.ask("flush", code=1)[2],
                             "gpufl-agent: the agent waits: the server answers 503: as the script says\n")

    def test_statuses_of_a_dead_letter(self):
        """A status that says "not now" ends the retry; after one about the line it goes on to the next letter."""
        log = Log(self.logs, "dead")
        for n in range(3):
            log.kernel(n)
            log.put("device", b'{"bad":%d}' % n)
        log.end()
        real = self.server.RequestHandlerClass.take_offset

        def take(handler, session, body, step):
            return real(handler, session, body, {"reject": [n for n, line in enumerate(bytes(body).splitlines(), 1) if b"bad" in line]})
        self.server.RequestHandlerClass.take_offset = take
        self.addCleanup(setattr, self.server.RequestHandlerClass, "take_offset", real)
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
            self.assertEqual(len(letters(self.state)), 3)
            handler, stream = self.server.RequestHandlerClass, self.server.RequestHandlerClass.stream
            self.addCleanup(setattr, handler, "stream", stream)
            for status, bodies in ((408, 1), (425, 1), (429, 1), (500, 1), (401, 1), (404, 1), (302, 1), (413, 3), (422, 3)):
                asked = []

                def refuse(step, *_, status=status, asked=asked):
                    step.rest()
                    asked.append(step.path)
                    step.answer(status, {"detail": "for now"})
                handler.stream = refuse
                out = json.loads(agent.ask("retry", "--json")[1])
                final = bodies == 3
                self.assertEqual((len(asked), out), (bodies, {"delivered": 0, "refused": 3 if final else 0, "kept": 3, "all_tried": final}), status)
            handler.stream = stream
            self.server.portal = True
            self.assertEqual(json.loads(agent.ask("retry", "--json")[1])["delivered"], 0)
            self.assertEqual(len(letters(self.state)), 3)


class Check(Case):
    def check(self, *more, code=0, server=None, key="", state=None):
        out = run("--check", "--source", self.logs, "--state", state or self.state, "--server", server or self.server.url, *more,
                  env={"GPUFL_API_KEY": key})
        self.assertEqual(out.returncode, code, out)
        if code:
            self.assertRegex(out.stderr, r"^gpufl-agent: [^\n]*\n(Try `gpufl-agent --help`\.\n)?$")
        return out.stdout + out.stderr

    def test_another_web_server_is_none_of_ours(self):
        class Files(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass
        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        said = self.check(server=f"http://127.0.0.1:{other.server_port}", code=5)
        self.assertIn("has no API of a gpufl-server at /api/v1: --server and --api-path say where it is", said)
        self.server.portal = True
        self.assertIn("answers 200, but not with the words of a gpufl-server", self.check(code=5))

    def test_the_key_and_the_path(self):
        server = live_server.Server(SERVER, self.dir / "server")
        self.addCleanup(server.kill)
        key = live_server.key(server, live_server.set_up(server), "ingest")
        self.assertIn(f"server {server.url}: answers, and takes the key\n", self.check(server=server.url, key=key))
        self.assertIn("answers 401", self.check(server=server.url, key="gpfl_wrong", code=5))
        self.assertIn("the API path /elsewhere right", self.check("--api-path", "/elsewhere", server=server.url, key=key, code=5))

    def test_a_server_without_positions(self):
        """A public server says which versions it speaks, and nothing about a session."""
        self.server.positions = False
        self.server.versions = True
        self.assertIn("answers; it does not say whether it takes the key", self.check())

    def test_what_a_run_would_refuse(self):
        for listen, said in (("0.0.0.0:0", "the agent answers on this machine alone"), ("nonsense", "is not ADDRESS:PORT")):
            self.assertIn(said, self.check("--listen", listen, code=2))
        self.assertIn("--control", self.check("--control", self.dir / ("x" * 120), code=2))
        self.assertIn("cannot write the configurations' folder /proc/nowhere", self.check("--config-cache", "/proc/nowhere", code=1))
        self.check("--listen", "127.0.0.1:0", "--control", self.dir / "c.sock", "--config-cache", self.dir / "cache")
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["logs"])  # it changes nothing

    def test_while_the_agent_runs(self):
        with self.agent():
            self.check()

    def test_a_disk_without_room(self):
        full = self.dir / "full"
        full.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", full], capture_output=True, check=False).returncode:
            self.skipTest("a file system cannot be mounted here")
        try:
            self.fill(full)
        finally:
            subprocess.run(["umount", full], check=True)

    def fill(self, full):
        self.check(state=full / "state")
        with open(full / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        self.assertIn(f"cannot write the state {full / 'state'}: No space left on device", self.check(state=full / "state", code=1))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
