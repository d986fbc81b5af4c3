#!/usr/bin/env python3
"""`gpufl upload` and `gpufl view` with the real gpufl-server: the recorded data can be queried.

    test_view.py GPUFL TEST_DATA
"""
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

GPUFL, DATA = map(os.path.abspath, sys.argv[1:3])
PROGRAM = os.path.join(os.path.dirname(os.path.dirname(GPUFL)), "tests", "e2e-program")
SERVER = os.path.join(os.path.dirname(GPUFL), "gpufl-server")
PEER = pathlib.Path(DATA) / "peer" / "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
# A shell's background jobs, and their children, ignore SIGINT; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
DEADLINE_S = 60
PAGE_GONE_S = 10  # how long the server waits for the page to come back


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-view-"))
        self.logs = self.dir / "logs"
        self.logs.mkdir()
        self.env = {**ENV, "HOME": str(self.dir), "XDG_CACHE_HOME": str(self.dir / "cache")}
        self.views = []

    def tearDown(self):
        for view in self.views:
            if view.poll() is None:
                view.send_signal(signal.SIGINT)
            view.wait(DEADLINE_S)
            view.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def session(self, kernels=2000, name="app", *options):
        before = set(self.logs.iterdir())
        subprocess.run([GPUFL, "sim", "-k", str(kernels), "-n", name, *options, "-o", self.logs], env=self.env, check=True,
                       stdout=subprocess.DEVNULL)
        return next(d for d in self.logs.iterdir() if d not in before and not d.name.startswith("."))

    def view(self, *args, path=None, env=None, browser=False, stderr=None):
        """A running `gpufl view`, and the link it printed."""
        command = [GPUFL, "view", *([] if browser else ["--no-browser"]), *args, str(path or self.logs)]
        view = subprocess.Popen(command, env={**self.env, **(env or {})}, stdout=subprocess.PIPE, stderr=stderr,
                                text=True)
        self.views.append(view)
        link = view.stdout.readline().strip()
        self.assertTrue(link.startswith("http://127.0.0.1:"), link)
        return view, link

    def server_of(self, view):
        """The process of a view's server."""
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = stat.read_text().rpartition(")")
            except OSError:  # it has ended meanwhile
                continue
            if int(rest.split()[1]) == view.pid:
                return int(name.split()[0])
        self.fail("there is no server")
        return 0

    def enter(self, link):
        """The headers of a browser that has followed the link."""
        browser = Browser(link)
        browser.open(link)
        return browser

    def until(self, ask, wanted):
        """Calls `what` until its result is true, as pages do."""
        end = time.monotonic() + DEADLINE_S
        while True:
            got = ask()
            if got == wanted:
                return
            self.assertLess(time.monotonic(), end, f"{got} is not {wanted}")
            time.sleep(0.05)


class Browser:
    def __init__(self, link):
        self.base = re.match(r"http://[^/]+", link)[0]
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def open(self, url):
        try:
            return self.opener.open(url, timeout=DEADLINE_S)
        except urllib.error.HTTPError as error:  # the page itself may not be built into this server
            return error

    def get(self, path):
        with self.open(self.base + path) as answer:
            return json.loads(answer.read())

    def kernels(self):
        return {row["id"]: (row["kernels"], row["state"]) for row in self.get("/api/v1/sessions")["rows"]}


class Upload(Case):
    """Uploads to a server that runs by itself, whose workspace is entered by its link."""

    def test_what_was_recorded_is_there_once(self):
        folder = self.session(5000)
        shutil.copytree(PEER, self.logs / PEER.name)
        key = "gpfl_" + "k" * 32
        server = subprocess.Popen([SERVER, "--local", "--data", self.dir / "data", "--listen", "127.0.0.1:0",
                                   "--log-level", "warning"], env={**self.env, "GPUFL_SERVER_LOCAL_KEY": key},
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)  # ends the server
        url = server.stdout.readline().split()[-1]
        browser = self.enter(server.stdout.readline().split()[-1])
        for again in range(2):
            run = subprocess.run([GPUFL, "upload", "--json", "--server", url, self.logs], capture_output=True, text=True,
                                 env={**self.env, "GPUFL_API_KEY": key}, check=False)
            said = {one["session"]: one for one in json.loads(run.stdout)["sessions"]}
            self.assertEqual((run.returncode, set(said)), (0, {folder.name, PEER.name}), run.stderr)
            self.assertEqual(said[folder.name]["bytes_sent"] == 0, again == 1)
            self.assertEqual(said[PEER.name]["lines_accepted"] == 0, again == 1)
        self.until(lambda: browser.kernels().get(folder.name), (5000, "ended"))
        report = subprocess.run([GPUFL, "report", "--json", self.logs / PEER.name], capture_output=True, env=self.env,
                                check=True)
        launches = json.loads(report.stdout)["kernels"]["count"]
        self.until(lambda: browser.kernels().get(PEER.name), (launches, "ended"))


class View(Case):
    def test_what_was_recorded_is_there(self):
        one, two = self.session(3000), self.session(700)
        shutil.copytree(PEER, self.logs / PEER.name)
        nobody = "http://127.0.0.1:1"  # for this machine no proxy is used
        _, link = self.view(env={"http_proxy": nobody, "all_proxy": nobody})
        browser = self.enter(link)
        self.until(lambda: {k: v for k, v in browser.kernels().items() if k != PEER.name},
                   {one.name: (3000, "ended"), two.name: (700, "ended")})
        self.until(lambda: PEER.name in browser.kernels(), True)

    def test_unknown_is_not_zero(self):
        """Rows of a session without kernel records, or with a damaged device channel, have null and the reason."""
        whole = self.session(300, "whole")
        damaged = self.session(200, "damaged")
        for log in damaged.glob("device*.log*"):
            log.write_text("no line of a log\n" * 8)
        sync = self.session(100, "sync", "--engine", "Sync")
        report = subprocess.run([GPUFL, "report", "--brief", damaged], capture_output=True, text=True, env=self.env,
                                check=False)
        self.assertEqual(report.returncode, 1)
        self.assertIn("Kernels unknown: device channel damaged (200 rows were written", report.stdout)
        self.assertIn("kernels unknown: device channel damaged", report.stderr)
        self.assertEqual(subprocess.run([GPUFL, "report", "--brief", whole], env=self.env, check=False,
                                        stdout=subprocess.DEVNULL).returncode, 0)
        _, link = self.view()
        browser = self.enter(link)

        def rows():
            return {row["app"]: (row["analyzed"], row["kernels"], row["busy"] is None)
                    for row in browser.get("/api/v1/sessions")["rows"]}

        def known(session):
            return browser.get(f"/api/v1/sessions/{session.name}/ledger")["known"]["kernels"]

        self.until(rows, {"whole": (True, 300, False), "damaged": (True, None, True), "sync": (True, None, True)})
        self.assertEqual((known(damaged)["why"], known(sync)["why"], known(whole)["why"]),
                         ("damaged", "not_recorded", None))
        summary = browser.get(f"/api/v1/sessions/{damaged.name}/summary")
        self.assertIsNone(summary["kernels"]["count"])
        self.assertIsNone(summary["kernels"]["busy"]["busy_ns"])
        fleet = {row["name"]: (row["kernels"], row["counted"], row["busy"])
                 for row in browser.get("/api/v1/fleet?by=app&from=20000&to=20400")["rows"]}
        self.assertEqual((fleet["damaged"], fleet["sync"]), ((None, 0, None), (None, 0, None)))
        self.assertEqual(fleet["whole"][:2], (300, 1))

    def test_passes_belong_together(self):
        """Sessions of `gpufl trace --passes` are found by their run, and say which pass they are."""
        subprocess.run([GPUFL, "trace", "-q", "-o", self.logs / "passes", "--passes", "Trace,PcSampling", PROGRAM,
                        "exit", "0"], env={**self.env, "GPUFL_BACKEND": "Sim"}, check=True)
        self.session(10)
        _, link = self.view()
        browser = self.enter(link)

        def found(query):
            rows = browser.get("/api/v1/sessions?" + query)["rows"]
            return sorted((row["engine"], row["labels"].get("pass")) for row in rows)

        self.until(lambda: found("label=pass"), [("PcSampling", "2 of 2"), ("Trace", "1 of 2")])
        row = browser.get("/api/v1/sessions?label=pass")["rows"][0]
        self.assertEqual(found("label=run&label_value=" + row["labels"]["run"]), found("label=pass"))
        self.until(lambda: len(browser.kernels()), 3)

    def test_the_link_works_once_and_nobody_else_gets_in(self):
        self.session(10)
        _, link = self.view()
        self.enter(link)
        stranger = Browser(link)
        self.assertIn(stranger.open(link).status, (400, 401, 403, 404))
        self.assertEqual(stranger.open(stranger.base + "/api/v1/sessions").status, 401)
        forged = urllib.request.Request(stranger.base + "/api/v1/sessions", headers={"Host": "evil.example"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(forged, timeout=DEADLINE_S)
        self.assertGreaterEqual(refused.exception.code, 400)
        refused.exception.close()

    def test_the_next_time_nothing_is_loaded_again(self):
        folder = self.session(2000)
        for _ in range(2):
            view, link = self.view()
            browser = self.enter(link)
            self.until(browser.kernels, {folder.name: (2000, "ended")})
            view.send_signal(signal.SIGINT)
            self.assertEqual(view.wait(DEADLINE_S), 0)
        self.assertTrue((self.logs / ".gpufl-view" / "list").is_file())
        self.assertFalse((self.dir / "cache").exists())

    def test_sessions_that_changed_are_loaded_again(self):
        folder = self.session(1000)
        view, link = self.view()
        self.until(self.enter(link).kernels, {folder.name: (1000, "ended")})
        view.send_signal(signal.SIGINT)
        view.wait(DEADLINE_S)
        shutil.rmtree(folder)
        other = self.session(500)
        _, link = self.view()
        self.until(self.enter(link).kernels, {other.name: (500, "ended")})

    def test_a_running_program_is_followed(self):
        folder = self.session(3000)
        text = (folder / "device.log").read_text().splitlines(keepends=True)
        system = (folder / "system.log").read_text().splitlines(keepends=True)
        runs = subprocess.Popen(["sleep", "600"])
        self.addCleanup(runs.wait)
        self.addCleanup(runs.kill)
        ends = [line for line in system if '"type":"end"' in line]
        (folder / "system.log").write_text("".join(line for line in system if line not in ends))
        half = len(text) // 2
        (folder / "device.log").write_text("".join(text[:half]))
        for path in folder.glob("*.log"):  # its process lives, so it is said
            first, rest = path.read_text().split("\n", 1)
            head = json.loads(first)
            head.update(pid=runs.pid, host=os.uname().nodename, start=time.monotonic_ns())
            path.write_text(json.dumps(head) + "\n" + rest)
        _, link = self.view()
        browser = self.enter(link)
        self.until(lambda: folder.name in browser.kernels(), True)
        self.until(lambda: 0 < (browser.kernels()[folder.name][0] or 0) < 3000, True)
        with open(folder / "device.log", "a", encoding="utf8") as f:
            f.write("".join(text[half:]))
        self.until(lambda: browser.kernels().get(folder.name), (3000, "live"))
        with open(folder / "system.log", "a", encoding="utf8") as f:
            f.write("".join(ends))
        self.until(lambda: browser.kernels().get(folder.name), (3000, "ended"))

    def test_sessions_that_begin_later_follow(self):
        first = self.session(400)  # it has ended: nothing runs
        view, link = self.view()
        browser = self.enter(link)
        self.until(browser.kernels, {first.name: (400, "ended")})
        second = self.session(600)
        self.until(browser.kernels, {first.name: (400, "ended"), second.name: (600, "ended")})
        view.send_signal(signal.SIGINT)
        self.assertEqual(view.wait(DEADLINE_S), 0)

    def test_it_ends_with_the_page(self):
        self.session(10)
        view, link = self.view()
        browser = self.enter(link)
        with browser.open(browser.base + "/api/v1/live") as live:
            self.assertEqual(live.status, 200)
            live.readline()
        began = time.monotonic()
        self.assertEqual(view.wait(DEADLINE_S), 0)
        self.assertGreater(time.monotonic() - began, PAGE_GONE_S - 1)

    def test_it_ends_with_whoever_started_it(self):
        self.session(10)
        view, link = self.view()
        view.kill()
        view.wait()

        def answers():
            try:
                urllib.request.urlopen(re.match(r"http://[^/]+", link)[0] + "/healthz", timeout=DEADLINE_S).close()
                return True
            except OSError:
                return False
        self.until(answers, False)

    def test_a_server_that_is_killed_is_a_failure(self):
        self.session(500)
        for loaded in (False, True):
            view, link = self.view(stderr=subprocess.PIPE)
            if loaded:
                browser = self.enter(link)
                self.until(lambda: [kernels for kernels, _ in browser.kernels().values()], [500])
            os.kill(self.server_of(view), signal.SIGKILL)
            said = view.stderr.read()
            view.stderr.close()
            self.assertEqual(view.wait(DEADLINE_S), 1, said)
            self.assertIn("gpufl view: gpufl-server was ended by signal 9 (Killed)", said)

    def test_a_folder_that_cannot_be_written_uses_the_users_cache(self):
        folder = self.session(10)
        (self.logs / ".gpufl-view").write_text("in the way")
        _, link = self.view()
        self.until(self.enter(link).kernels, {folder.name: (10, "ended")})
        self.assertEqual(len(list((self.dir / "cache/gpufl/view").iterdir())), 1)

    def test_two_at_once(self):
        folder = self.session(100)
        links = [self.view()[1] for _ in range(2)]
        for link in links:
            self.until(self.enter(link).kernels, {folder.name: (100, "ended")})

    def test_the_browser_is_opened(self):
        self.session(10)
        opener = self.dir / "browser"
        opener.write_text(f'#!/bin/sh\necho "$1" > {self.dir}/opened.new; mv {self.dir}/opened.new {self.dir}/opened\n')
        opener.chmod(0o700)
        _, link = self.view(env={"BROWSER": str(opener)}, browser=True)
        self.until((self.dir / "opened").exists, True)
        self.assertEqual((self.dir / "opened").read_text().strip(), link)

    def test_nothing_there(self):
        run = subprocess.run([GPUFL, "view", self.logs], env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no session there", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
