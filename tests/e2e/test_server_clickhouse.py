"""gpufl-server with its sessions in ClickHouse: the same numbers as `gpufl report`, whatever is killed, and
deleting frees the disk. Skipped, with a message, where clickhouse-server is not installed.

Usage: test_server_clickhouse.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import clickhouse
from served import PATIENCE, SLOW, Server, until

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
RECORDED = os.path.join(RUN, sorted(os.listdir(RUN))[0])


def report_of(path):
    out = subprocess.run([GPUFL, "report", "--json", path], capture_output=True, check=True)
    return json.loads(out.stdout)


class WithClickHouse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = clickhouse.ClickHouse().__enter__()
        cls.addClassCleanup(cls.store.__exit__)
        cls.server = Server(PROGRAM, environment={"GPUFL_SERVER_COLUMNS": cls.store.url})
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.set_up()
        cls.key = cls.server.make_key()
        cls.folder = tempfile.mkdtemp(prefix="gpufl-sessions-")
        subprocess.run([GPUFL, "sim", "--kernels", "30000", "--scopes", "--devices", "2", "--seed", "5", "-o", cls.folder],
                       check=True, stdout=subprocess.DEVNULL)
        run = next(d for d, folders, files in os.walk(cls.folder) if any("device" in f for f in files))
        cls.folders = [RECORDED, run]
        cls.beside = Server(PROGRAM)  # with files, for what reports do not say
        cls.addClassCleanup(cls.beside.__exit__)
        cls.beside.set_up()
        cls.beside_key = cls.beside.make_key()
        for folder in cls.folders:
            cls.server.load(cls.key, folder)
            cls.beside.load(cls.beside_key, folder)

    def get(self, target):
        answer = self.server.ask("GET", target, Authorization=self.key)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def check_numbers(self, folder):
        at, report = f"/api/v1/sessions/{os.path.basename(folder)}", report_of(folder)
        kernels = self.get(at + "/kernels?limit=10000")
        said = {k["symbol"]: (k["count"], k["total_ns"], k["min_ns"], k["max_ns"])
                for k in report["kernels"]["by_name"]}
        totals = {kernels["mangled"][name]: rest for name, *rest in
                  zip(*(kernels["data"][c] for c in ("name", "calls", "total", "shortest", "longest")))}
        self.assertEqual({k: tuple(v) for k, v in totals.items()}, said)
        seen = 0
        for part in ("summary", "sync", "ledger"):
            answer = self.get(f"{at}/{part}")
            for key in report.keys() & answer.keys() - {"kernels", "log"}:
                if key == "sessions":  # which say where they lie
                    for session in answer[key] + report[key]:
                        session.pop("dir")
                self.assertEqual(answer[key], report[key], f"{part}.{key}")
                seen += 1
        self.assertGreater(seen, 8)
        self.assertEqual([i["id"] for i in self.get(at + "/insights")["insights"]],
                         [i["id"] for i in report["insights"]])
        lanes = self.get(at + "/lanes")["data"]
        each, to = ",".join(lanes["lane"]), max(lanes["last"])
        tiles = self.get(f"{at}/tiles?level=0&lanes={each}&from=0&to={to + 1}")["data"]
        spans = self.get(f"{at}/spans?level=0&lanes={each}&from=0&to={to + 1}&limit=100000")["data"]
        for lane, events in zip(lanes["lane"], lanes["events"]):
            there = sum(n for l, n in zip(tiles["lane"], tiles["events"]) if l == lane)
            self.assertEqual(there + spans["lane"].count(lane), events)

    def test_1_numbers_are_those_of_the_report(self):
        for folder in self.folders:
            self.check_numbers(folder)

    def test_2_answers_are_those_of_files(self):
        for folder in self.folders:
            at = f"/api/v1/sessions/{os.path.basename(folder)}"
            lanes = self.get(at + "/lanes")["data"]
            each, to = ",".join(lanes["lane"]), max(lanes["last"])
            kernel = self.get(at + "/kernels?limit=1")["data"]["name_id"][0]
            middle, window = to // 2, f"from={to // 3}&to={to // 2}"
            for part in ("/summary", "/scopes", "/sync", "/ledger", "/lanes", "/copies", "/counts", "/insights",
                         "/kernels?limit=100&order=longest", f"/kernels?{window}&limit=100", "/kernels?limit=9&pattern=GEMM",
                         f"/kernels/{kernel}/configs?limit=100", f"/kernels/{kernel}/histogram",
                         f"/launches?{window}&limit=1000", "/launches?order=longest&limit=50&offset=7",
                         f"/tiles?level=1&lanes={each}&from=0&to={to}&step=3",
                         f"/spans?level=0&lanes={each}&{window}&limit=500",
                         f"/events?lanes={each}&from={middle}&to={middle + 3000000}&limit=5000",
                         f"/search?pattern=a&from={middle}&back=true&limit=20"):
                answers = [s.ask("GET", at + part, Authorization=k)
                           for s, k in ((self.server, self.key), (self.beside, self.beside_key))]
                self.assertEqual(answers[0].status, 200, (part, answers[0]))
                ours, theirs = (a.json() for a in answers)
                for answer in (ours, theirs):
                    answer.pop("made", None)  # when
                self.assertEqual(ours, theirs, part)

    def test_2_export_is_the_session(self):
        at = f"/api/v1/sessions/{os.path.basename(RECORDED)}"
        answer = self.server.ask("GET", at + "/export.ndjson", Authorization=self.key)
        self.assertEqual(answer.status, 200)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "session.ndjson")
            with open(path, "wb") as out:
                out.write(answer.body)
            again, report = report_of(path), report_of(RECORDED)
        for key in ("copies", "fills", "synchronizations", "scope_paths", "memory", "graphs"):
            self.assertEqual(again[key], report[key], key)
        for record in ("kernel", "config", "counter"):  # of the last there is none
            both = [s.ask("GET", f"{at}/export.parquet?record={record}", Authorization=k)
                    for s, k in ((self.server, self.key), (self.beside, self.beside_key))]
            self.assertEqual([a.status for a in both], [200, 200])
            for answer in both:
                self.assertEqual((answer.body[:4], answer.body[-4:]), (b"PAR1", b"PAR1"))
            self.assertLess(abs(len(both[0].body) - len(both[1].body)), 1 + len(both[1].body) // 20)
        self.assertEqual([f for f in os.listdir(self.server.data) if f.startswith("export")], [])

    def test_3_sql_is_not_taken(self):
        answer = self.server.ask("POST", "/api/v1/sql", {"sql": "SELECT 1"}, Authorization=self.key)
        self.assertEqual(answer.status, 501, answer)

    def test_3_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GPUFL, "sim", "--kernels", "5000", "--seed", "9", "-o", folder], check=True,
                           stdout=subprocess.DEVNULL)
            run = next(d for d, folders, files in os.walk(folder) if any("device" in f for f in files))
            session = self.server.load(self.key, run)
        base = self.store.ask("SELECT DISTINCT database FROM system.tables WHERE name = 'commits'")[0][0]
        count = (f"SELECT count() FROM system.parts WHERE active AND partition IN (SELECT toString(session) FROM "
                 f"`{base}`.commits WHERE name = '{session}')")
        self.assertGreater(int(self.store.ask(count)[0][0]), 10)
        answer = self.server.as_user("DELETE", f"/api/v1/sessions/{session}")
        self.assertIn(answer.status, (200, 202, 204), answer)
        last = f"SELECT argMax(kind, commit) FROM `{base}`.commits WHERE name = '{session}'"
        until(lambda: self.store.ask(last) == [["2"]], "it is not deleted")
        self.assertEqual(self.server.ask("GET", f"/api/v1/sessions/{session}", Authorization=self.key).status, 404)
        until(lambda: self.store.ask(count) == [["0"]], "its partitions are still there", 10 * SLOW)

    def test_4_both_are_killed(self):
        self.store.stop()
        self.server.stop(signal.SIGKILL)
        self.server.wait()
        self.assertTrue(self.store.start())
        self.server.start()
        for folder in self.folders:
            self.check_numbers(folder)

    def test_5_killed_while_loading(self):
        """What was acknowledged while ClickHouse was away is loaded once when it is back."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GPUFL, "sim", "--kernels", "20000", "--seed", "77", "-o", folder], check=True,
                           stdout=subprocess.DEVNULL)
            run = next(d for d, folders, files in os.walk(folder) if any("device" in f for f in files))
            session, *parts = os.path.basename(run), *sorted(os.listdir(run))
            with contextlib.closing(self.server.events(self.key)) as events:
                for i, name in enumerate(parts):
                    with open(os.path.join(run, name), "rb") as part:
                        fields = {"Content_Encoding": "gzip"} if name.endswith(".gz") else {}
                        answer = self.server.ask("POST", "/api/v1/events/stream", part.read(), Authorization=self.key,
                                                 X_GpuFlight_Session_Id=session, Content_Type="application/x-ndjson",
                                                 **fields)
                    self.assertEqual(answer.status, 200, answer)
                    if i == 0:
                        self.store.stop()
                self.server.complete(self.key, session)
                self.assertTrue(self.store.start())
                for event, data in events:
                    if event == "report" and data["session"] == session and data["final"]:
                        break
            self.check_numbers(run)

    def test_5_backup_has_all_of_it(self):
        """A backup holds the rows, too, as files: it is restored to files, or to a ClickHouse."""
        made = self.server.as_user("POST", "/api/v1/backups")
        self.assertEqual(made.status, 200, made)
        backup = os.path.join(self.server.data, "backups", made.json()["name"])
        elsewhere = self.store.url.rsplit("/", 1)[0] + "/restored"
        mine, key = self.server, self.key
        with tempfile.TemporaryDirectory() as folder:
            for name, environment in (("files", {}), ("columns", {"GPUFL_SERVER_COLUMNS": elsewhere})):
                data = os.path.join(folder, name)
                out = subprocess.run([PROGRAM, "restore", backup, "--data", data], capture_output=True, text=True,
                                     env={**os.environ, **environment})
                self.assertEqual(out.returncode, 0, out)
                self.assertEqual(os.path.exists(os.path.join(data, "columns")), name == "files")
                with Server(PROGRAM, data=data, environment=environment) as restored:
                    type(self).server = restored
                    try:
                        for run in self.folders:
                            self.check_numbers(run)
                        history = [s.ask("GET", "/api/v1/history?kind=app&name=train_loop", Authorization=key) for s in (mine, restored)]
                        self.assertEqual([h.status for h in history], [200, 200], history)
                        self.assertEqual(history[0].json(), history[1].json())
                    finally:
                        type(self).server = mine
            # A restore that was broken off is done again with a new folder: what is there stays.
            again = subprocess.run([PROGRAM, "restore", backup, "--data", os.path.join(folder, "again")], capture_output=True,
                                   text=True, env={**os.environ, "GPUFL_SERVER_COLUMNS": elsewhere})
            self.assertEqual(again.returncode, 0, again)
            self.assertRegex(again.stdout, r"^0 sessions to ClickHouse with 0 rows; \d+ were there already")

    def test_6_checked_and_no_secret_is_told(self):
        self.assertEqual(self.server.stop(), 0)
        out = subprocess.run([PROGRAM, "check", "--data", self.server.data], capture_output=True, text=True,
                             env={**os.environ, "GPUFL_SERVER_COLUMNS": self.store.url})
        self.assertEqual(out.returncode, 0, out)
        self.assertRegex(out.stdout, r"3 sessions, \d+ rows, 0 damaged")
        wrong = re.sub(r":[0-9a-f]+@", ":not-" + self.store.password + "@", self.store.url)
        again = subprocess.run([PROGRAM, "--data", self.server.data, "--listen", "127.0.0.1:0", "--columns", wrong],
                               capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(again.returncode, 1)
        self.assertIn("password", again.stderr)
        for text in (again.stderr, out.stdout, out.stderr, self.server.errors()):
            self.assertNotIn(self.store.password, text)
        self.server.start()


if __name__ == "__main__":
    if not clickhouse.PROGRAM:
        print("ClickHouse is not installed (package clickhouse-server): its tests are left out")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
