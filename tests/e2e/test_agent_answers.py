#!/usr/bin/env python3
"""`gpufl-agent` when something is wrong: answers of the server, its commands, its configuration.

    test_agent_answers.py GPUFL GPUFL_AGENT SOURCE
"""
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import unittest

import ingest_server
from agent_case import PEER, SOURCE, Case, run
from agent_run import Log, letters, plain
from patience import PATIENCE, until


class Fails(Case):
    def test_statuses_that_wait(self):
        log = Log(self.logs, "waits")
        log.kernel(1)
        log.end()
        self.server.script = [{"status": s} for s in (500, 503, 429, 408, 425, 507, 502)]
        self.server.script[2]["headers"] = {"Retry-After": "1"}
        began = time.monotonic()
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
            counts = agent.status()["counts"]
        self.until_arrived(log)
        self.assertGreaterEqual(time.monotonic() - began, 1)  # as the server asked
        self.assertEqual((counts["answers_wait"], counts["dead_lines"]), (7, 0))

    def test_a_wrong_key_pauses_and_alarms(self):
        self.server.key = "right"
        secret = self.dir / "key"
        secret.write_text("wrong\n")
        secret.chmod(0o600)
        log = Log(self.logs, "key")
        with self.agent("--api-key-file", secret, "--listen", "127.0.0.1:0") as agent:
            port = int(re.search(r":(\d+)$", agent.process.stdout.readline().strip())[1])
            until(lambda: agent.status()["state"] == "alarm", agent.said)
            self.assertIn("401", agent.status()["why"])
            self.assertEqual(get(port, "/healthz")[0], 503)
            self.assertIn("gpufl_agent_alarm 1\n", get(port, "/metrics")[1])
            self.assertNotIn("wrong", agent.said())
            secret.write_text("right\n")
            self.until_arrived(log, agent)
            until(lambda: get(port, "/healthz")[0] == 200, agent.said)

    def test_a_page_that_asks_for_a_login_acknowledges_nothing(self):
        log = Log(self.logs, "guest")
        log.kernel(1)
        log.end()
        shutil.copytree(PEER, self.logs / PEER.name)
        self.server.portal = True
        with self.agent() as agent:
            until(lambda: agent.status()["state"] == "alarm", agent.said)
            self.assertRegex(agent.status()["why"], r"answers 200, but not with the words of a gpufl-server: .*a login\?$")
            asked = len(self.server.requests)
            until(lambda: len(self.server.requests) > asked + 10, agent.said)  # each session was sent
            counts = agent.status()["counts"]
            self.assertEqual([counts[name] for name in ("bodies", "completed", "dead_lines")], [0, 0, 0])
            self.assertEqual(agent.status()["done"], 0)
            self.server.portal = False
            agent.until_done(2)
        self.until_arrived(log)
        there = {p.name.removesuffix(".gz"): plain(p) for p in PEER.glob("*.log*")}
        self.assertEqual({f"{c}.{n}.log": text for (_, c, n), text in self.server.windows.items()}, there)

    def test_whoever_refuses_everything_gets_no_dead_letters(self):
        """A server whose port for TLS is asked without TLS answers 400 to every request."""
        log = Log(self.logs, "plain")
        log.kernel(1)
        log.end()
        shutil.copytree(PEER, self.logs / PEER.name)
        handler, allowed = self.server.RequestHandlerClass, self.server.RequestHandlerClass.allowed
        self.addCleanup(setattr, handler, "allowed", allowed)
        asked = []

        def refuse(step):
            step.rest()
            asked.append(step.path)
            step.problem(400, "The plain HTTP request was sent to HTTPS port")
            return False
        handler.allowed = refuse
        with self.agent() as agent:
            until(lambda: agent.status()["state"] == "alarm" and len(asked) > 10, agent.said)
            self.assertIn("plain HTTP request", agent.status()["why"])
            self.assertEqual([path for path in asked if not path.endswith("/positions")], [])
            self.assertEqual(agent.status()["dead_letters"], 0)
            handler.allowed = allowed
            agent.until_done(2)
        self.assertEqual(letters(self.state), [])
        self.until_arrived(log)

    def test_bodies_that_are_too_large_are_halved(self):
        log = Log(self.logs, "large")
        for n in range(2000):
            log.kernel(n)
        log.end()
        self.server.largest = 5000
        with self.agent() as agent:
            agent.until_done(1)
            counts = agent.status()["counts"]
        self.until_arrived(log)
        self.assertGreater(counts["answers_large"], 3)
        self.assertEqual(counts["dead_lines"], 0)

    def test_bodies_that_are_cut_off_are_halved(self):
        """A 413 whose connection is reset at once is never read."""
        log = Log(self.logs, "cut")
        for n in range(8000):
            log.kernel(n, name="x" * 200)
        log.end()
        self.server.largest, self.server.abrupt = 500_000, True
        with self.agent() as agent:
            agent.until_done(1)
            counts = agent.status()["counts"]
        self.until_arrived(log)
        self.assertGreater(counts["unanswered"], 3)
        self.assertEqual(counts["dead_lines"], 0)

    def test_a_line_that_is_refused_alone_for_its_size(self):
        log = Log(self.logs, "one")
        log.kernel(1)
        log.kernel(2, name="x" * 9000)
        log.kernel(3)
        log.end()
        self.server.largest = 5000
        with self.agent() as agent:
            agent.until_done(1)
        dead = letters(self.state)
        self.assertEqual([(d[2]["status"], d[3]) for d in dead], [(413, log.lines["device"][2] + b"\n")])
        text = self.arrived(log)
        self.assertEqual([line for line in text.splitlines() if line.strip()],
                         [line for i, line in enumerate(log.lines["device"]) if i != 2])
        self.assertEqual(len(text), sum(len(line) + 1 for line in log.lines["device"]))  # each line at its place

    def test_lines_that_the_answer_names(self):
        log = Log(self.logs, "named")
        for n in range(10):
            log.kernel(n)
        log.end()
        self.server.script = [{"status": 415}]  # for zstd, then for the device channel
        channel = threading.Event()
        real = self.server.RequestHandlerClass.take_offset

        def take(handler, session, body, step):
            if handler.headers.get("X-GpuFlight-Channel") == "device" and not channel.is_set():
                channel.set()
                step = {"reject": [3, 5]}
            return real(handler, session, body, step)
        self.server.RequestHandlerClass.take_offset = take
        try:
            with self.agent() as agent:
                agent.until_done(1)
        finally:
            self.server.RequestHandlerClass.take_offset = real
        dead = letters(self.state)
        self.assertEqual([d[3] for d in dead], [log.lines["device"][i] + b"\n" for i in (2, 4)])
        self.assertEqual({d[2]["reason"] for d in dead}, {"as the script says"})

    def test_lines_that_a_409_names_are_good_elsewhere(self):
        log = Log(self.logs, "elsewhere")
        log.kernel(1)
        log.end()
        error = {"line": 1, "type": "header", "reason": "not a JSON object, or cut"}
        self.server.script = [{"status": 409, "json": {"expected_offset": 0, "errors": [error]}}] * 2
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
            self.until_arrived(log, agent)
        self.assertEqual(letters(self.state), [])

    def refuse_bad(self, lost=0):
        """Makes the server leave out lines with the word bad, also when they come again; the first answers are lost."""
        real, answers = self.server.RequestHandlerClass.take_offset, []

        def take(handler, session, body, step):
            bad = [n for n, line in enumerate(bytes(body).splitlines(), 1) if b"bad" in line]
            answer = real(handler, session, body, {"reject": bad})
            if handler.headers.get("X-GpuFlight-Channel") == "device":
                answers.append(answer)
                if len(answers) <= lost:
                    raise ingest_server.Cut
            return answer
        self.server.RequestHandlerClass.take_offset = take
        self.addCleanup(setattr, self.server.RequestHandlerClass, "take_offset", real)
        return answers

    def test_a_refused_line_whose_answer_was_lost_is_kept(self):
        log = Log(self.logs, "unanswered")
        log.kernel(1)
        log.put("device", b'{"bad":1}')
        log.kernel(2)
        answers = self.refuse_bad(lost=1)
        with self.agent("--compression", "gzip", "--wait-least", "1h", "--wait-most", "1h") as agent:
            until(lambda: answers and agent.status()["state"] == "waiting", agent.said)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.assertEqual(letters(self.state), [])
        log.end()
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
        self.assertEqual([d[3] for d in letters(self.state)], [log.lines["device"][2] + b"\n"])

    def test_refused_lines_of_all_bodies_since_the_mark_are_kept(self):
        log = Log(self.logs, "since")
        for n in range(400):
            if n % 40 == 20:
                log.put("device", b'{"bad":%d}' % n)
            log.kernel(n)
        bad = [line + b"\n" for line in log.lines["device"] if b"bad" in line]
        self.refuse_bad()
        with self.agent("--compression", "gzip", "--batch", "4K") as agent:
            self.until_arrived(log, agent)
            until(lambda: agent.status()["dead_letters"] == len(bad), agent.said)
            agent.kill()
        shutil.rmtree(self.state / "dead")  # as if it had been killed between an answer and the disk
        log.end()
        with self.agent("--compression", "gzip", "--batch", "4K") as agent:
            agent.until_done(1)
        self.assertEqual([d[3] for d in letters(self.state)], bad)

    def test_bandwidth(self):
        log = Log(self.logs, "slow")
        for n in range(4000):
            log.kernel(n, name=os.urandom(40).hex())
        log.end()
        began = time.monotonic()
        with self.agent("--bandwidth", "100K") as agent:
            agent.until_done(1)
            took, sent = time.monotonic() - began, agent.status()["counts"]["sent_bytes"]
        self.until_arrived(log)
        self.assertGreater(sent, 200_000)
        self.assertLess(sent / took, 2.5 * 102_400)  # a body of two seconds may be sent at once


def get(port, path):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    link.request("GET", path)
    answer = link.getresponse()
    body = answer.read().decode()
    link.close()
    return answer.status, body


class Controlled(Case):
    def test_pause_flush_resume_drain(self):
        log = Log(self.logs, "ctl")
        with self.agent("--delay", "1h", "--scan", "1h") as agent:  # no command waits for either of the two
            self.assertEqual(json.loads(agent.ask("flush", "--json")[1]), {"sent": True})
            log.kernel(1)
            agent.ask("flush")
            self.until_arrived(log, agent)
            agent.ask("pause")
            log.kernel(2)
            self.assertEqual(agent.ask("flush", code=1)[2], "gpufl-agent: the agent is paused\n")
            self.assertEqual(agent.status()["state"], "paused")
            self.assertNotIn(log.lines["device"][-1], self.arrived(log))
            agent.ask("resume")
            log.end()
            agent.ask("drain")
            self.assertEqual(agent.wait(), 0, agent.said())
        self.until_arrived(log)
        self.assertEqual(self.server.complete, ["ctl"])
        code, _, said = agent.ask("status", code=None)
        self.assertEqual(code, 3)
        self.assertEqual(said.count("\n"), 1)

    def test_two_agents_on_one_cursor(self):
        with self.agent() as agent:
            other = run("--source", self.logs, "--server", self.server.url, "--state", self.state)
            self.assertEqual(other.returncode, 4)
            self.assertRegex(other.stderr, r"^gpufl-agent: another gpufl-agent works with [^\n]*\n$")
            self.assertEqual(agent.ask("status")[0], 0)
            self.assertEqual(sorted(json.loads(agent.ask("status", "--json")[1])), sorted(agent.status()))

    def test_metrics_pass_the_lint(self):
        log = Log(self.logs, "m")
        with self.agent("--listen", "127.0.0.1:0") as agent:
            port = int(re.search(r":(\d+)$", agent.process.stdout.readline().strip())[1])
            self.until_arrived(log, agent)
            status, text = get(port, "/metrics")
            self.assertEqual((status, get(port, "/other")[0]), (200, 404))
        types, helps = {}, set()
        for line in text.splitlines():
            words = line.split(" ", 3)
            if line.startswith("# HELP "):
                self.assertNotIn(words[2], helps, line)
                helps.add(words[2])
                self.assertRegex(words[3], r"^(?!(Of|Their|Its|It|Bytes of them)\b).*\.$", line)
            elif line.startswith("# TYPE "):
                self.assertNotIn(words[2], types, line)
                types[words[2]] = words[3]
            else:
                self.assertIn(re.match(r"[a-z_]+", line).group(), types, line)
        self.assertEqual(set(types), helps)
        for name, kind in types.items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertNotRegex(name, "_(ns|us|ms|milliseconds|minutes|hours|kb|mb|mib|kib|gib|percent)(_|$)")
        if shutil.which("promtool"):
            lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            self.assertEqual((lint.returncode, lint.stdout + lint.stderr), (0, ""))


class Configured(Case):
    def refused(self, text, *args, env=None, code=2):
        out = run(*args, env=env)
        self.assertEqual(out.returncode, code, out)
        self.assertIn(text, out.stderr)
        self.assertRegex(out.stderr, r"^gpufl-agent: [^\n]*\n(Try `gpufl-agent --help`\.\n)?$")

    def test_file_environment_and_flags(self):
        config = self.dir / "agent.json"
        config.write_text(json.dumps({"server": "http://127.0.0.1:1", "source": [str(self.logs)], "delay": "10ms",
                                      "state": str(self.state), "no-names": True, "batch": 8192}))
        out = run("--config", config, "--check")
        self.assertEqual(out.returncode, 5, out)  # nobody listens there
        self.assertIn("127.0.0.1:1", out.stderr)
        out = run("--check", env={"GPUFL_AGENT_CONFIG": str(config), "GPUFL_AGENT_SERVER": self.server.url})
        self.assertEqual(out.returncode, 0, out)
        self.assertIn(f"server {self.server.url}: answers", out.stdout)
        out = run("--check", "--server", self.server.url, env={
            "GPUFL_AGENT_CONFIG": str(config), "GPUFL_AGENT_SERVER": "http://127.0.0.1:1"})
        self.assertEqual(out.returncode, 0, out)
        out = run("--check", env={"GPUFL_BACKEND_URL": self.server.url, "GPUFL_AGENT_SOURCE": f"{self.logs}:{self.dir}",
                                  "GPUFL_AGENT_STATE": str(self.state)})
        self.assertEqual(out.stdout.count("can be read"), 2, out)
        self.assertFalse(self.state.exists())  # --check changes nothing

    def test_bad_configuration_is_one_sentence(self):
        config = self.dir / "agent.json"
        for text, said in (('{"sorce": ["x"]}', "there is no option 'sorce'; is it 'source'?"), ("[1]", "not a JSON object"),
                           ('{"delay": "soon"}', "delay"), ('{"delay": {}}', "delay: a whole number, or a text with a unit, belongs there"),
                           ('{"delay": true}', "delay: a whole number"), ('{"source": 5}', "source: a text, or a list of texts, belongs there"),
                           ('{"source": ["a", 5]}', "source: a text, or a list"), ('{"server": true}', "server: a text belongs there"),
                           ('{"insecure": 1}', "insecure: true or false belongs there"), ('{"batch": 1e9}', "batch: a whole number"), ('{"batch": 1}', "4K"),
                           ('{"compression": "lzma"}', "compression"), ('{"server":', "not a JSON object")):
            config.write_text(text)
            self.refused(said, "--config", config)
        self.refused("No such file", "--config", self.dir / "none", code=2)
        self.refused("which folders?", "--server", "x")
        self.refused("to which server?", "--source", self.logs)
        for everybody in ("0.0.0.0:0", "0:0", "0x0:0", "[::]:0", "[::0]:0", "[::ffff:0.0.0.0]:0"):
            self.refused("--listen " + everybody, "--source", self.logs, "--server", self.server.url, "--listen",
                         everybody, "--state", self.state)
        self.refused("is no folder", "--source", config, "--server", self.server.url, "--state", self.state)
        self.refused("belong together", "--client-cert", "x")
        self.refused("there is no command 'stats'", "stats")
        self.refused("neither true nor false", env={"GPUFL_AGENT_INSECURE": "maybe"})

    def test_check_names_a_wrong_key(self):
        self.server.key = "right"
        args = ("--check", "--source", self.logs, "--server", self.server.url, "--state", self.state)
        self.refused("401", *args, env={"GPUFL_API_KEY": "wrong"}, code=5)
        self.assertEqual(run(*args, env={"GPUFL_API_KEY": "right"}).returncode, 0)

    def test_help_and_version(self):
        self.assertRegex(run("--version").stdout, r"^gpufl-agent \d+\.\d+\.\d+\n$")
        page = (SOURCE / "docs/man/gpufl-agent.1").read_text()
        for option in re.findall(r"^ .*?--([a-z-]+)", run("--help").stdout, re.M):
            self.assertRegex(page, rf"Fl -{option}\b", option)

    def test_help_and_page_name_each_default(self):
        """`--help` and the manual page have the defaults of options.def, in the form that the command line takes."""
        table = (SOURCE / "src/agent/options/options.def").read_text()
        help_text, page = run("--help").stdout, (SOURCE / "docs/man/gpufl-agent.1").read_text()
        units = {"DURATION": (("s", 10**9), ("ms", 10**6)), "SIZE": (("M", 1 << 20),)}
        rows = re.findall(r'^OPTION\((DURATION|SIZE), \w+, "([a-z-]+)", 0, ([^,]+),', table, re.M)
        self.assertEqual(len(rows), 9)
        for kind, name, value in rows:
            number = eval(value.replace("LL", ""), {})  # 4LL << 20
            unit, size = next(((u, s) for u, s in units[kind] if number and number % s == 0), ("", 1))
            text = f"{number // size}{unit}"
            about = re.search(rf"--{name} .*?(?=\n +--|\n  -)", help_text, re.S)[0]
            self.assertRegex(" ".join(about.split()), rf"\({text}\)\.$", name)
            entry = re.search(rf"^\.It Fl -{name} .*?(?=^\.It )", page, re.M | re.S)[0]
            self.assertIn(f"\nDefault: {text}.\n", entry, name)

    def certificate(self, name):
        """The files of a self-signed certificate of localhost, and of its key."""
        files = [self.dir / f"{name}-{part}.pem" for part in ("cert", "key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-out", files[0], "-keyout", files[1]], check=True,
                       capture_output=True)
        return files

    def speak_tls(self, clients=None):
        """The server speaks TLS from now on, with clients that have this certificate alone; its address and certificate."""
        cert, key = self.certificate("server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if clients:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        return f"https://localhost:{self.server.server_port}", cert

    def test_a_server_that_asks_for_a_certificate(self):
        cert, key = self.certificate("client")
        other = self.certificate("other")
        url, authority = self.speak_tls(cert)
        args = ("--check", "--source", self.logs, "--state", self.state, "--server", url, "--ca-file", authority)
        for more in ((), ("--client-cert", other[0], "--client-key", other[1])):
            out = run(*args, *more)
            self.assertEqual((out.returncode, out.stderr.count("\n")), (5, 1), out)
            self.assertRegex(out.stderr, rf"^gpufl-agent: {url}: .*certificate")
        for name, more in (("cert", (self.dir / "none.pem", key)), ("key", (cert, self.dir / "none.pem"))):
            out = run(*args, "--client-cert", more[0], "--client-key", more[1])
            self.assertEqual((out.returncode, out.stderr.count("\n")), (5, 1), (name, out))
            self.assertIn("none.pem", out.stderr, name)
        self.assertEqual(run(*args, "--client-cert", cert, "--client-key", key).returncode, 0)
        log = Log(self.logs, "known")
        with self.agent("--ca-file", authority, "--client-cert", cert, "--client-key", key, server=url) as agent:
            self.until_arrived(log, agent)

    def test_a_certificate_that_nobody_signed(self):
        url, cert = self.speak_tls()
        args = ("--check", "--source", self.logs, "--state", self.state, "--server", url)
        out = run(*args)
        self.assertEqual((out.returncode, out.stderr.count("\n")), (5, 1), out)
        self.assertIn("certificate", out.stderr)
        self.assertEqual(run(*args, "--ca-file", cert).returncode, 0)
        log = Log(self.logs, "tls")
        with self.agent(server=url) as agent:
            until(lambda: agent.status()["state"] == "alarm", agent.said)
            self.assertIn("certificate", agent.status()["why"])
        self.assertEqual(self.arrived(log), b"")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
