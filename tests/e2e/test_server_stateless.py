"""Two servers without a state of their own, on one PostgreSQL and one ClickHouse: each accepts and answers everything,
and continues for the other. Skipped, with a message, if one of the two databases is not installed.

Usage: postgres.py test_server_stateless.py gpufl-server gpufl SOURCE_DIR [TEST…]"""
import contextlib
import http.client
import itertools
import json
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import clickhouse
import postgres
from agent_run import channels_of
from fleet_sender import Receiver, Sender
from patience import PATIENCE, until
from served import Server, report_of

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
RECORDED = os.path.join(RUN, sorted(os.listdir(RUN))[0])
RECORDED_ID = os.path.basename(RECORDED)
AT = "/api/v1/sessions/" + RECORDED_ID
# Routes that ClickHouse answers, and routes that PostgreSQL answers.
ROWS = ("/kernels?limit=100", "/launches?limit=100", "/copies", "/counts", "/lanes", "/scopes", "/sync", "/ledger",
        "/events?lanes={lanes}&from=0&to=3000000&limit=500", "/tiles?level=1&lanes={lanes}&from=0&to=9000000000&step=3",
        "/export.ndjson", "/export.trace.json")
TABLES = ("", "/summary", "/insights", "/findings", "/report", "/flame", "/positions")


class Channel:
    """One channel of a session on its way, to any server: it goes back to the position that a server answers."""

    def __init__(self, session, name, text, key):
        self.session, self.name, self.text, self.key, self.at = session, name, text, key, 0

    def done(self):
        return self.at >= len(self.text)

    def send(self, server, size):
        """A piece of so many bytes, up to the end of its last line."""
        end = self.text.find(b"\n", min(self.at + size, len(self.text) - 1)) + 1 or len(self.text)
        answer = server.ask("POST", "/api/v1/events/stream", self.text[self.at:end], Authorization=self.key,
                            X_GpuFlight_Session_Id=self.session, X_GpuFlight_Channel=self.name,
                            X_GpuFlight_Offset=str(self.at))
        said = answer.json()
        if answer.status == 409:
            assert said["expected_offset"] < self.at, (self.at, said)
            self.at = said["expected_offset"]
        elif answer.status not in (429, 503):  # else the same piece again
            assert answer.status == 200 and said["rejected"] == 0, answer
            self.at = end


class Pair(unittest.TestCase):
    killed = False  # True while one of them is killed
    dice = random.Random(4)

    @classmethod
    def setUpClass(cls):
        cls.store = clickhouse.ClickHouse().__enter__()
        cls.addClassCleanup(cls.store.__exit__)
        tables = postgres.new_database()
        cls.database = urllib.parse.urlsplit(tables).path[1:]
        options = ("--webhooks", "any", "--meta", tables)
        cls.one, cls.two = (Server(PROGRAM, *options, environment={"GPUFL_SERVER_COLUMNS": cls.store.url})
                            for _ in range(2))
        for server in (cls.one, cls.two):
            cls.addClassCleanup(server.__exit__)
        cls.both = (cls.one, cls.two)
        cls.one.set_up()
        cls.two.cookie, cls.two.csrf = cls.one.cookie, cls.one.csrf
        cls.key = cls.one.make_key("ingest,read,admin")
        cls.folder = tempfile.TemporaryDirectory(prefix="gpufl-sessions-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.seeds = itertools.count(1)

    def simulate(self, kernels=20000):
        where = os.path.join(self.folder.name, str(next(self.seeds)))
        subprocess.run([GPUFL, "sim", "--kernels", str(kernels), "--scopes", "--seed", os.path.basename(where), "-o", where],
                       check=True, stdout=subprocess.DEVNULL)
        return os.path.join(where, os.listdir(where)[0])

    def get(self, server, target):
        answer = server.ask("GET", target, Authorization=self.key)
        if answer.status != 200:
            self.fail(f"{target}: {answer}; the server's last lines:\n{server.errors()[-3000:]}")
        return answer

    def complete(self, server, session):
        server.complete(self.key, session)

    def check(self, folder, servers=None):
        """Checks that every server that runs says what `gpufl report` says."""
        at, report = f"/api/v1/sessions/{os.path.basename(folder)}", report_of(GPUFL, folder)
        sizes = {name: len(text) for name, text in channels_of(folder).items()}
        servers = servers or self.both

        def differs(server):
            """The difference from the report; a final report is made again if data came after it."""
            row, facts = (server.ask("GET", at + part, Authorization=self.key) for part in ("", "/insights"))
            if row.status != 200 or row.json()["state"] != "ended" or facts.status != 200 or not facts.json()["final"]:
                return f"its end: {row} {facts}"
            for part in ("summary", "sync", "ledger"):
                answer = server.ask("GET", f"{at}/{part}", Authorization=self.key)
                if answer.status != 200:  # not yet
                    return f"{part}: {answer}"
                answer = answer.json()
                for name in report.keys() & answer.keys() - {"kernels", "log", "sessions"}:
                    if answer[name] != report[name]:
                        return f"{part}.{name}: {answer[name]}, not {report[name]}"
            return None

        for server in servers:
            found = []  # the last difference
            try:
                until(lambda s=server, found=found: found.append(differs(s)) or not found[-1], "", 2 * PATIENCE)
            except AssertionError:
                self.fail(found[-1])
        for server in servers:
            kernels = self.get(server, at + "/kernels?limit=10000").json()
            totals = {kernels["mangled"][name]: tuple(rest) for name, *rest in
                      zip(*(kernels["data"][c] for c in ("name", "calls", "total", "shortest", "longest")))}
            self.assertEqual(totals, {k["symbol"]: (k["count"], k["total_ns"], k["min_ns"], k["max_ns"])
                                      for k in report["kernels"]["by_name"]})
            self.assertEqual(self.get(server, at).json()["kernels"], report["kernels"]["count"])
            positions = self.get(server, at + "/positions").json()["channels"]
            self.assertEqual({c["channel"]: c["offset"] for c in positions}, sizes)
            lanes = self.get(server, at + "/lanes").json()["data"]
            each, to = ",".join(lanes["lane"]), max(lanes["last"])
            window = f"level={0 if to < 2**31 else 1}&lanes={each}&from=0&to={to + 1}"
            tiles = self.get(server, f"{at}/tiles?{window}").json()["data"]
            spans = self.get(server, f"{at}/spans?{window}&limit=100000").json()["data"]
            for lane, events in zip(lanes["lane"], lanes["events"]):
                there = sum(n for l, n in zip(tiles["lane"], tiles["events"]) if l == lane)
                self.assertEqual(there + spans["lane"].count(lane), events)
        for part in ROWS + TABLES:
            target = at + part.format(lanes=each)
            answers = [self.get(s, target) for s in servers]
            # The order of names of two channels is not defined.
            same = [sorted(a.json()["channels"], key=str) if part == "/positions" else
                    sorted(a.body.splitlines()) if part == "/export.ndjson" else a.body for a in answers]
            self.assertEqual(same[0], same[-1], target)

    def send(self, folder, choose):
        """Sends all of a session's channels in turn, each piece to the server that is chosen. The last one chosen is
        asked what it lacks, and gets the end."""
        session, server = os.path.basename(folder), None
        channels = [Channel(session, name, text, self.key) for name, text in channels_of(folder).items()]
        while not all(c.done() for c in channels):
            for channel in channels:
                if not channel.done():
                    server = choose()
                    with contextlib.suppress(OSError, http.client.HTTPException):  # it was killed
                        channel.send(server, self.dice.randrange(1000, 40000))
            if all(c.done() for c in channels) and self.killed:  # with what the killed one had acknowledged
                there = self.get(server, f"/api/v1/sessions/{session}/positions").json()["channels"]
                there = {c["channel"]: c["offset"] for c in there}
                for channel in channels:
                    channel.at = there.get(channel.name, 0)
        server.complete(self.key, session)


class Stateless(Pair):
    def test_1_sessions_of_different_hosts(self):
        folders = [RECORDED, self.simulate()]
        for server, folder in zip(self.both, folders):
            server.send(self.key, folder)
            self.complete(server, os.path.basename(folder))
        for folder in folders:
            self.check(folder)
        for target in ("/api/v1/sessions", "/api/v1/hosts", "/api/v1/gpus", "/api/v1/findings",
                       "/api/v1/history?kind=app&name=train_loop", "/api/v1/fleet?by=app&from=0&to=1000000",
                       "/api/v1/compare?a={}&b={}".format(*(os.path.basename(f) for f in folders))):
            self.assertEqual(self.get(self.one, target).body, self.get(self.two, target).body, target)

    def test_2_parts_of_one_session_to_both(self):
        folder = self.simulate()
        turn = itertools.cycle(self.both)
        self.send(folder, lambda: next(turn))
        self.check(folder)

    def test_2_channels_of_one_session_to_both_at_once(self):
        folder = self.simulate(60000)
        session, failed = os.path.basename(folder), []

        def send(channel, server):
            try:
                while not channel.done():
                    channel.send(server, self.dice.randrange(2000, 40000))
            except Exception as e:  # pylint: disable=broad-except
                failed.append(e)

        threads = [threading.Thread(target=send, args=(Channel(session, name, text, self.key), server))
                   for (name, text), server in zip(channels_of(folder).items(), itertools.cycle(self.both))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.complete(self.one, session)
        self.check(folder)

    def test_3_seen_at_the_other_one(self):
        sender = Sender(self.one, self.key, "seen", "node-9", gpus=1)
        began = time.monotonic()
        sender.sample({"cpu": 90}, {})

        def there():
            answer = self.two.ask("GET", "/api/v1/sessions/seen/counts", Authorization=self.key)
            return answer.status == 200 and "host_metric" in answer.json()["data"]["record"]

        until(there, "its rows are not seen at the other server")
        until(lambda: any(h["name"] == "node-9" and h["state"].get("cpu") == 90
                          for h in self.get(self.two, "/api/v1/hosts").json()["rows"]), "nor is the host's state")
        print(f"seen at the other server after {time.monotonic() - began:.2f} s", flush=True)
        self.complete(self.two, "seen")
        until(lambda: self.get(self.one, "/api/v1/sessions/seen").json()["state"] == "ended", "it has not ended")

    def test_4_people_keys_and_links(self):
        """The other server accepts logins, links and keys that one server made, and refuses those that one has revoked."""
        session = RECORDED_ID
        self.one.send(self.key, RECORDED)
        until(lambda: self.two.ask("GET", AT, Authorization=self.key).status == 200, "it is not in the list")
        seen = self.two.ask("POST", "/api/v1/auth/login", {"email": "ada@example.org", "password": "correct horse battery"})
        self.assertEqual(seen.status, 200, seen)
        cookie = seen.fields["Set-Cookie"].split(";")[0]
        for server in self.both:
            self.assertEqual(server.ask("GET", "/api/v1/auth/me", Cookie=cookie).json()["name"], "ada@example.org")
        self.assertEqual(self.one.ask("POST", "/api/v1/auth/logout", Cookie=cookie, X_CSRF_Token=seen.json()["csrf"]).status, 204)
        self.assertEqual(self.two.ask("GET", "/api/v1/auth/me", Cookie=cookie).status, 401)

        made = self.one.as_user("POST", f"{AT}/shares", {"expires": "9000000000000000000"}).json()
        link = "Bearer " + made["token"]
        self.assertEqual(self.two.ask("GET", AT + "/counts", Authorization=link).status, 200)
        self.assertEqual(self.two.ask("GET", "/api/v1/hosts", Authorization=link).status, 403)
        self.assertEqual(self.two.as_user("DELETE", "/api/v1/shares/" + made["id"]).status, 204)
        self.assertEqual(self.one.ask("GET", AT, Authorization=link).status, 401)

        made = self.two.as_user("POST", "/api/v1/keys", {"name": "short", "scopes": "read"}).json()
        key = "Bearer " + made["key"]
        self.assertEqual(self.one.ask("GET", AT, Authorization=key).status, 200)
        self.assertEqual(self.one.as_user("DELETE", "/api/v1/keys/" + made["id"]).status, 204)
        self.assertEqual(self.two.ask("GET", AT, Authorization=key).status, 401)
        audits = [[row["action"] for row in s.as_user("GET", "/api/v1/audit?limit=5").json()["rows"]] for s in self.both]
        self.assertEqual(audits[0], audits[1])
        self.assertEqual(audits[0].count("key.revoke"), 1, audits)
        self.complete(self.two, session)


class Killed(Pair):
    """One of them is killed, at whatever it is doing."""

    def start_again(self, server):
        """Starts a server: what its journal holds is loaded."""
        server.start()
        self.killed = False

        def loaded():
            text = server.ask("GET", "/metrics").body.decode()
            return "gpufl_loader_waiting_frames 0\n" in text
        until(loaded, "its journal is not loaded")

    def kill(self, server):
        server.process.send_signal(signal.SIGKILL)
        server.wait()
        self.killed = True

    def test_5_one_is_killed_and_the_other_goes_on(self):
        """The sender asks the server that is left, which knows what the killed one acknowledged."""
        for number in range(3):
            with self.subTest(round=number):
                folder, calls = self.simulate(30000), itertools.count()
                size = sum(len(text) for text in channels_of(folder).values())
                at = random.Random(number).randrange(5, size // 20000 - 5)

                def choose(at=at, calls=calls):
                    n = next(calls)
                    if n == at:
                        self.kill(self.one)
                    return self.one if n % 2 == 0 and not self.killed else self.two

                self.send(folder, choose)
                self.assertTrue(self.killed)
                self.check(folder, [self.two])
                # The journal of a server that is back adds no rows.
                self.start_again(self.one)
                self.check(folder)

    def test_6_what_only_a_journal_has(self):
        """What is acknowledged and not loaded when a server is killed is not lost, but not there before it is back."""
        folder = self.simulate()
        session = os.path.basename(folder)
        channels = {name: Channel(session, name, text, self.key) for name, text in channels_of(folder).items()}
        channels["device"].send(self.one, 1000)
        until(lambda: self.get(self.two, f"/api/v1/sessions/{session}/positions").json()["channels"], "nothing is loaded")
        while not all(c.done() for c in channels.values()):
            for channel in channels.values():
                if not channel.done():
                    channel.send(self.one, 1 << 20)
        self.complete(self.one, session)
        self.kill(self.one)
        there = {c["channel"]: c["offset"]
                 for c in self.get(self.two, f"/api/v1/sessions/{session}/positions").json()["channels"]}
        self.assertLessEqual(there["device"], len(channels["device"].text))
        self.start_again(self.one)
        self.check(folder)

    def test_7_an_upload_goes_on_at_the_other_one(self):
        folder = self.simulate(80000)
        uploads = []
        for server in self.both:
            upload = subprocess.Popen(
                [GPUFL, "upload", "--quiet", "--server", f"http://127.0.0.1:{server.port}", folder], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "GPUFL_API_KEY": self.key.split()[1]})
            if server is self.one:
                session = f"/api/v1/sessions/{os.path.basename(folder)}/positions"
                until(lambda s=session: server.ask("GET", s, Authorization=self.key).json()["channels"], "nothing came")
                self.kill(server)
                upload.kill()
            uploads.append(upload.wait(4 * PATIENCE))
        self.assertEqual(uploads[1], 0)
        self.check(folder, [self.two])
        self.start_again(self.one)
        self.check(folder)

    def begun(self):
        """Sends the beginning of a session to one server, until the other one knows it: its folder, id and channels."""
        folder = self.simulate()
        session = os.path.basename(folder)
        channels = [Channel(session, name, text, self.key) for name, text in channels_of(folder).items()]
        for channel in channels:
            channel.send(self.one, 10000)
        until(lambda: self.two.ask("GET", f"/api/v1/sessions/{session}/counts", Authorization=self.key).status == 200,
              "it is not loaded")
        return folder, session, channels

    def send_rest(self, channels, server):
        for channel in channels:
            while not channel.done():
                channel.send(server, 1 << 20)

    def test_8_without_clickhouse(self):
        """What cannot be asked now can be asked later; what is acknowledged meanwhile is loaded then."""
        folder, session, channels = self.begun()
        self.store.stop()
        try:
            for part in ("/counts", "/kernels", "/lanes", "/export.ndjson", "/export.trace.json"):
                for server in self.both:
                    answer = server.ask("GET", f"/api/v1/sessions/{session}{part}", Authorization=self.key)
                    self.assertEqual((answer.status, answer.fields["Content-Type"]), (503, "application/problem+json"), answer)
                    self.assertGreater(int(answer.fields["Retry-After"]), 0)
                    self.assertTrue(any(answer.json()["request"] in line.get("text", "") and "ClickHouse" in line["text"]
                                        for line in server.lines()), server.errors()[-2000:])
            self.send_rest(channels, self.one)
            self.complete(self.one, session)
            self.assertEqual(self.get(self.two, "/healthz").status, 200)
        finally:
            self.assertTrue(self.store.start())
        self.check(folder)

    def test_9_without_postgresql(self):
        """The server cannot know who asks, and says so; what was acknowledged before is loaded afterwards."""
        folder, session, channels = self.begun()
        for channel in channels:
            channel.send(self.one, 1 << 20)
        try:
            postgres.sql(f"ALTER DATABASE {self.database} ALLOW_CONNECTIONS false")
            postgres.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.database}'")
            for server in self.both:
                until(lambda s=server: s.ask("GET", "/readyz").status == 503, "it is ready without its small tables")
                self.assertEqual(server.ask("GET", "/healthz").status, 200)
                for answer in (server.ask("GET", f"/api/v1/sessions/{session}", Authorization=self.key),
                               server.ask("POST", "/api/v1/events/stream", b"{}", Authorization=self.key)):
                    self.assertEqual((answer.status, answer.fields["Content-Type"]), (503, "application/problem+json"), answer)
                    self.assertGreater(int(answer.fields["Retry-After"]), 0)
        finally:
            postgres.sql(f"ALTER DATABASE {self.database} ALLOW_CONNECTIONS true")
        for server in self.both:
            until(lambda s=server: s.ask("GET", "/readyz").status == 200, "it does not find its small tables again")
        self.send_rest(channels, self.two)
        self.complete(self.two, session)
        self.check(folder)


class Once(Pair):
    """Tests what is done by one of them: slower, since it waits for what must not happen."""

    def test_alerts_retention_and_deletes(self):
        with contextlib.closing(Receiver()) as receiver:
            rule = {"name": "hot", "kind": "metric", "subject": "host.cpu", "threshold": 50, "url": receiver.url}
            self.assertEqual(self.two.as_user("POST", "/api/v1/alerts", rule).status, 200)
            senders = [Sender(server, self.key, f"hot-{i}", f"hot-{i}", gpus=1) for i, server in enumerate(self.both)]
            for sender in senders:
                sender.sample({"cpu": 90}, {})
            got = [json.loads(receiver.got.get(timeout=2 * PATIENCE)[2]) for _ in senders]
            self.assertEqual(sorted(g["firing"]["subject"] for g in got), ["hot-0", "hot-1"])
            for sender in senders:
                self.complete(self.one, sender.session)

            folder = self.simulate()
            for server in self.both:  # all of it is sent to both
                server.send(self.key, folder)
            self.complete(self.two, os.path.basename(folder))
            self.check(folder)
            self.one.send(self.key, RECORDED)
            self.complete(self.one, RECORDED_ID)
            self.check(RECORDED)
            workspace = self.one.as_user("GET", "/api/v1/workspaces").json()["rows"][0]["id"]
            parts = ("SELECT sum(rows) FROM system.parts WHERE active AND table != 'history' AND table != 'commits' AND "
                     f"database = 'e2e_{workspace}'")
            self.assertGreater(int(self.store.ask(parts)[0][0]), 20)
            self.assertEqual(self.two.as_user("DELETE", AT).status, 204)
            self.assertEqual(self.get_status(self.one, AT), 404)
            # The recorded session is deleted; the others are too old for the retention.
            keep = {"sessions": 1, "bytes": 0, "metrics": 0}
            self.assertEqual(self.one.as_user("PUT", "/api/v1/retention", keep).status, 204)
            until(lambda: self.get(self.two, "/api/v1/sessions").json()["rows"] == [], "they are kept", 90 + 2 * PATIENCE)
            until(lambda: self.store.ask(parts) == [["0"]], "their rows are still there", 90 + 2 * PATIENCE)
            actions = [(row["action"], row["target"]) for row in self.one.as_user("GET", "/api/v1/audit?limit=100").json()["rows"]]
            for action, target in (("session.delete", RECORDED_ID), ("session.expire", os.path.basename(folder)),
                                   ("session.expire", "hot-0"), ("session.expire", "hot-1")):
                self.assertEqual(actions.count((action, target)), 1, actions)
            with self.assertRaises(queue.Empty):  # no post comes twice
                receiver.got.get_nowait()

    def get_status(self, server, target):
        return server.ask("GET", target, Authorization=self.key).status


if __name__ == "__main__":
    if not clickhouse.PROGRAM:
        print("ClickHouse is not installed (package clickhouse-server): its tests are left out")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
