"""gpufl-server with its sessions in ClickHouse: the same numbers as `gpufl report`, whatever is killed, and
deleting frees the disk. Skipped, with a message, if clickhouse-server is not installed.

Usage: test_server_clickhouse.py gpufl-server gpufl SOURCE_DIR"""
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import uuid

import clickhouse
from between import Between
from patience import PATIENCE, SLOW, until
from served import Server, report_of

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
RECORDED = os.path.join(RUN, sorted(os.listdir(RUN))[0])


def alike(rows):
    """Rows in any order, numbers to nine digits: whole ones may be reals elsewhere."""
    return sorted([[f"{float(cell):.9g}" if isinstance(cell, (int, float)) else str(cell) for cell in row] for row in rows])


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
        cls.with_files = Server(PROGRAM)  # with files, for data that reports do not have
        cls.addClassCleanup(cls.with_files.__exit__)
        cls.with_files.set_up()
        cls.with_files_key = cls.with_files.make_key()
        for folder in cls.folders:
            cls.server.load(cls.key, folder)
            cls.with_files.load(cls.with_files_key, folder)

    def get(self, target):
        answer = self.server.ask("GET", target, Authorization=self.key)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def check_numbers(self, folder):
        at, report = f"/api/v1/sessions/{os.path.basename(folder)}", report_of(GPUFL, folder)
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
                if key == "sessions":  # they say where they are
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
                           for s, k in ((self.server, self.key), (self.with_files, self.with_files_key))]
                self.assertEqual(answers[0].status, 200, (part, answers[0]))
                ours, theirs = (a.json() for a in answers)
                for answer in (ours, theirs):
                    answer.pop("made", None)  # the time
                self.assertEqual(ours, theirs, part)

    def test_2_export_is_the_session(self):
        at = f"/api/v1/sessions/{os.path.basename(RECORDED)}"
        answer = self.server.ask("GET", at + "/export.ndjson", Authorization=self.key)
        self.assertEqual(answer.status, 200)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "session.ndjson")
            with open(path, "wb") as out:
                out.write(answer.body)
            again, report = report_of(GPUFL, path), report_of(GPUFL, RECORDED)
        for key in ("copies", "fills", "synchronizations", "scope_paths", "memory", "graphs"):
            self.assertEqual(again[key], report[key], key)
        for record in ("kernel", "config", "counter"):  # the last one has no rows
            both = [s.ask("GET", f"{at}/export.parquet?record={record}", Authorization=k)
                    for s, k in ((self.server, self.key), (self.with_files, self.with_files_key))]
            self.assertEqual([a.status for a in both], [200, 200])
            for answer in both:
                self.assertEqual((answer.body[:4], answer.body[-4:]), (b"PAR1", b"PAR1"))
            self.assertLess(abs(len(both[0].body) - len(both[1].body)), 1 + len(both[1].body) // 20)
        self.assertEqual([f for f in os.listdir(self.server.data) if f.startswith("export")], [])

    def sql(self, sql, key=None, **more):
        body = {"sql": sql, "sessions": ",".join(os.path.basename(f) for f in self.folders), "milliseconds": 20000, **more}
        return self.server.ask("POST", "/api/v1/sql", body, Authorization=key or self.key)

    def rows(self, sql, **more):
        answer = self.sql(sql, **more)
        self.assertEqual(answer.status, 200, (sql, answer.body))
        return answer.json()["rows"]

    @unittest.skipIf(clickhouse.TODAY, "the library has one user")
    def test_3_sql(self):
        """A workspace's SELECT runs as a user of its own, who sees this workspace only."""
        self.assertEqual(self.server.stop(), 0)
        self.server.environment["GPUFL_SERVER_COLUMNS_SQL"] = "reader:read"
        place = self.check_refusals()
        self.store.readers(place)
        until(lambda: self.sql("SELECT 1").status == 200, "its user is not read")
        self.check_sql()
        self.check_questions()
        self.check_devices()
        self.refuse_sql()
        self.check_other_workspace(place)

    def check_refusals(self):
        """Rights that are not enough, and rights that change between the two checks: even if each check saw something
        right, the user is refused."""
        with Between(self.store.port) as between:
            self.server.environment["GPUFL_SERVER_COLUMNS"] = self.store.url.replace(str(self.store.port), str(between.port))
            self.server.start()
            place = self.server.as_user("GET", "/api/v1/auth/me").json()["workspaces"][0]["workspace"]
            answer = self.sql("SELECT 1")
            self.assertEqual(answer.status, 501, answer)
            self.assertIn(f"no user reader_{place}", answer.json()["detail"])
            self.store.readers(place, confined=False)
            self.refused_for("sees database")
            def loosen():
                self.store.readers(place, profile="default")
                until(lambda: self.store.ask("SELECT value FROM system.settings WHERE name = 'readonly'",
                                             f"reader_{place}", "read") == [["0"]], "its user is not read")
            between.before(b"system.databases", loosen)
            answer = self.sql("SELECT 1")
            self.assertEqual((answer.status, between.word), (501, None), answer)
            self.assertIn("was changed while it was being checked", answer.json()["detail"])
            self.refused_for("readonly 1")
            self.assertEqual(self.server.stop(), 0)
        self.server.environment["GPUFL_SERVER_COLUMNS"] = self.store.url
        self.server.start()
        return place

    def refused_for(self, word):
        """ClickHouse reads its users again after a while."""
        answer = {}
        def refused():
            answer.update(self.sql("SELECT 1").json())
            return word in answer.get("detail", "")
        until(refused, lambda: f"not refused for {word}: {answer}")

    def check_sql(self):
        reports = [report_of(GPUFL, f) for f in self.folders]
        said = {(os.path.basename(f), k["symbol"], k["count"], k["total_ns"], k["min_ns"], k["max_ns"])
                for f, r in zip(self.folders, reports) for k in r["kernels"]["by_name"]}
        rows = self.rows("SELECT session, name, count(), sum(duration), min(duration), max(duration) FROM kernels "
                         "GROUP BY session, name -- all of them\n;")
        self.assertEqual({tuple(r) for r in rows}, said)
        one = os.path.basename(RECORDED)
        copies = self.rows("SELECT count(), sum(bytes), sum(duration) FROM memcpy AS m", sessions=one)
        self.assertEqual(copies, [[reports[0]["copies"][k] for k in ("count", "bytes", "total_ns")]])
        row = self.get(f"/api/v1/sessions/{one}")
        self.assertEqual(self.rows("SELECT * FROM sessions", sessions=one), [
            [one, row["app"], row["host"], row["engine"], "ended", row["started"], row["ended"]]])
        launches = self.get(f"/api/v1/sessions/{one}/launches?limit=3")["data"]
        self.assertEqual(self.rows("SELECT start FROM kernels ORDER BY start LIMIT 3", sessions=one), [[t] for t in launches["start"]])
        self.assertEqual(self.rows("SELECT calls, name FROM history WHERE kind = 2 AND session = 'x' OR app = 'train_loop' AND kind = 2",
                                   sessions=""), [[1, "train_loop"]])
        joined = self.rows("SELECT s.name, sum(k.duration) FROM scope s ALL INNER JOIN (SELECT scope AS instance, duration FROM kernel) AS k "
                           "USING instance GROUP BY s.name", sessions=one)
        self.assertGreater(len(joined), 0)
        self.assertEqual(self.rows("SELECT 9007199254740993, 1.5, 0 / 0, 'a\\tb\\\\', NULL, toDate('2020-01-02'), [1, 2]"),
                         [["9007199254740993", 1.5, "NaN", "a\tb\\", None, "2020-01-02", "[1,2]"]])
        ids = ", ".join(f"'{os.path.basename(f)}'" for f in self.folders)  # other workspaces were deleted, and left theirs
        both = [s.ask("POST", "/api/v1/sql", {"sql": "SELECT session, app, name, shape, calls, total, mean, p99, deviation, kind FROM history "
                                              f"WHERE session IN ({ids}) ORDER BY session, kind, name, shape, device", "sessions": ""},
                      Authorization=k)
                for s, k in ((self.server, self.key), (self.with_files, self.with_files_key))]
        self.assertEqual(both[0].json()["rows"], both[1].json()["rows"])
        schema = json.loads(subprocess.run([GPUFL, "schema", "--json"], capture_output=True, check=True).stdout)
        for record in schema["records"]:
            for sessions in (one, ""):  # whether it has rows there or not
                answer = self.sql(f'SELECT * FROM "{record["type"]}" LIMIT 1', sessions=sessions)
                self.assertEqual(answer.status, 200, (record["type"], answer))
                self.assertEqual([c["name"] for c in answer.json()["columns"]],
                                 ["session"] + [c["name"] for c in record["columns"]])
        for view in ("kernels", "sessions", "history"):
            ours, theirs = (s.ask("POST", "/api/v1/sql", {"sql": f"SELECT * FROM {view} LIMIT 0", "sessions": ""}, Authorization=k).json()
                            for s, k in ((self.server, self.key), (self.with_files, self.with_files_key)))
            self.assertEqual([c["name"] for c in ours["columns"]], [c["name"] for c in theirs["columns"]])
        for name, order in (("kernel", "start, stream"), ("kernels", "start, stream"), ("config", "id"), ("scope", "instance"),
                            ("memcpy", "start, stream"), ("device", "id"), ("host_metric", "time")):
            ours, theirs = (s.ask("POST", "/api/v1/sql", {"sql": f"SELECT * FROM {name} ORDER BY {order} LIMIT 50", "sessions": one},
                                  Authorization=k).json()["rows"]
                            for s, k in ((self.server, self.key), (self.with_files, self.with_files_key)))
            self.assertEqual(ours, theirs, name)
        cut = self.sql("SELECT start FROM kernels", rows=3).json()
        self.assertEqual((len(cut["rows"]), cut["truncated"]), (3, True))

    def check_questions(self):
        """The page's ready questions: ClickHouse answers as files do. Only the history of the two differs."""
        self.assertEqual(self.get("/api/v1/sql/tables")["dialect"], "clickhouse")
        with open(os.path.join(SOURCE, "web", "src", "pages", "sql", "questions.json"), encoding="utf-8") as f:
            questions = [q for q in json.load(f) if "clickhouse" in q]
        self.assertEqual(len(questions), 9)
        some = collections.Counter()
        for session in map(os.path.basename, self.folders):
            for question in questions:
                answer = self.sql(question["clickhouse"], sessions=session)
                self.assertEqual(answer.status, 200, f'{question["id"]}: {answer}')
                here = answer.json()
                self.assertTrue({question["x"], question["y"]} <= {c["name"] for c in here["columns"]}, question["id"])
                some[question["id"]] += len(here["rows"])
                if question["id"] == "history":
                    continue
                there = self.with_files.ask("POST", "/api/v1/sql", {"sql": question["sql"], "sessions": session},
                                        Authorization=self.with_files_key).json()
                self.assertEqual([c["name"] for c in here["columns"]], [c["name"] for c in there["columns"]])
                self.assertEqual(alike(here["rows"]), alike(there["rows"]), f'{question["id"]} of {session}')
        self.assertTrue(all(some[q["id"]] for q in questions), some)

    def check_devices(self):
        """A GPU whose rows come again with more values, load by load, is one GPU with all of them, in files and in
        ClickHouse."""
        session = str(uuid.uuid4())
        header = {"type": "header", "format": 1, "session": session, "channel": "device", "part": 1, "base": 0, "app": "a",
                  "host": "h", "clock_monotonic": 1, "clock_real": 1770000000000000000}
        pieces = ([header, {"type": "device", "rows": 2, "id": [1, 2], "index": [0, 1], "memory_total": 7}],
                  [{"type": "names", "rows": 2, "id": [1, 2], "text": ["Known GPU", "GPU-1"]},
                   {"type": "device", "rows": 1, "id": 1, "index": 0, "name": 1, "uuid": 2},
                   {"type": "stream", "rows": 1, "id": 1, "device": 1, "number": 7},
                   {"type": "config", "rows": 1, "id": 1, "name": 1, "device": 1},
                   {"type": "kernel", "rows": 1, "start": [5], "duration": 3, "config": 1, "stream": 1}],
                  [{"type": "device", "rows": 1, "id": 1, "index": 0, "sm_count": 132},
                   {"type": "kernel", "rows": 1, "start": [9], "duration": 3, "config": 1, "stream": 1}])
        for server, key in ((self.server, self.key), (self.with_files, self.with_files_key)):
            def rows(sql, server=server, key=key):
                answer = server.ask("POST", "/api/v1/sql", {"sql": sql, "sessions": session, "milliseconds": 20000}, Authorization=key)
                return answer.json()["rows"] if answer.status == 200 else None
            for kernels, piece in enumerate(pieces):
                body = "".join(json.dumps(line) + "\n" for line in piece).encode()
                answer = server.ask("POST", "/api/v1/events/stream", body, Authorization=key, X_GpuFlight_Session_Id=session,
                                    Content_Type="application/x-ndjson")
                self.assertEqual(answer.status, 200, answer)
                until(lambda n=kernels, ask=rows: ask("SELECT count(*) FROM kernel") == [[n]], "it is not loaded")
            self.assertEqual(rows("SELECT id, name, uuid, memory_total, sm_count FROM device ORDER BY id"),
                             [[1, "Known GPU", "GPU-1", 7, 132], [2, None, None, 7, None]])
            self.assertEqual(rows("SELECT start, device FROM kernels ORDER BY start"), [[5, "Known GPU"], [9, "Known GPU"]])
            server.complete(key, session)
            exported = server.ask("GET", f"/api/v1/sessions/{session}/export.ndjson", Authorization=key)
            self.assertEqual(exported.status, 200)
            devices = [line for line in map(json.loads, exported.body.splitlines()) if line["type"] == "device"]
            self.assertEqual([d["rows"] for d in devices], [2])
            self.assertEqual(devices[0]["sm_count"], [132, None])
            self.assertEqual(server.as_user("DELETE", f"/api/v1/sessions/{session}").status, 204)

    def refuse_sql(self):
        base = self.store.ask("SELECT DISTINCT database FROM system.tables WHERE name = 'commits'")[0][0]
        for sql in ("DROP TABLE kernels", "INSERT INTO kernels VALUES (1)", "SELECT 1; SELECT 2", "SELECT 1 FORMAT CSV", "SET max_threads = 1",
                    "SELECT 1 SETTINGS readonly = 0", "SELECT 1 INTO OUTFILE '/tmp/x'", "SHOW DATABASES", "KILL QUERY WHERE 1", "",
                    "SELECT * FROM system.processes", "SELECT * FROM `system`.processes", 'SELECT * FROM "system".tables', "SELECT * FROM SYSTEM.tables",
                    f"SELECT * FROM `{base}`.kernel", f"SELECT 1 IN `{base}`.kernel", "SELECT 1 IN system.one", "SELECT * FROM kernels, system.one",
                    "SELECT * FROM file('/etc/passwd', 'CSV', 'a String')", "SELECT * FROM url('http://127.0.0.1/', 'CSV', 'a String')",
                    "SELECT * FROM remote('127.0.0.1', e2e, kernel)", f"SELECT * FROM merge('{base}', '.*')", "SELECT * FROM numbers(3)",
                    "SELECT hostName()", "SELECT `hostName`()", "SELECT dictGetString('a', 'b', toUInt64(1))", "SELECT sleep(1)",
                    "SELECT * FROM (SELECT * FROM default.x)", "SELECT 'open", "SELECT /* open", "SELECT 1 -- \n FROM nowhere", "SELECT \u0000 1",
                    "SELECT * FROM /**/ system /**/ . one", "SELECT nothing_of_that_name", "SELECT (1", "SELECT 1)", "DESCRIBE kernels",
                    "SELECT " + "(" * 3000 + "1" + ")" * 3000, "SELECT " + "NOT " * 60000 + "1", "SELECT `a\\`b` FROM kernels"):
            answer = self.sql(sql)
            self.assertEqual(answer.status, 400, (sql[:80], answer))
            self.assertNotIn(self.store.password, str(answer.body))
        for sql in ("SELECT " + "NOT " * 3900 + "1", "SELECT " + "-" * 3900 + "1", "SELECT " + "(" * 90 + "1" + ")" * 90,
                    "SELECT " + "CASE WHEN 1 THEN " * 900 + "1" + " END" * 900):  # statements that are allowed do no harm
            self.assertIn(self.sql(sql).status, (200, 400), sql[:30])
        began = time.monotonic()
        slow = self.sql("SELECT count() FROM (SELECT a.start FROM kernel a ALL LEFT JOIN (SELECT duration - duration AS z FROM kernel) b ON "
                        "a.start - a.start = b.z)", milliseconds=700)
        self.assertEqual(slow.status, 400, slow)
        self.assertLess(time.monotonic() - began, 10 * SLOW)
        self.assertEqual(self.rows("SELECT 1"), [[1]])

    def check_other_workspace(self, place):
        """Another workspace has its own user, who sees nothing of this one, whatever is asked."""
        other = self.server.as_user("POST", "/api/v1/workspaces", {"name": "other"}).json()["id"]
        key = self.server.make_key(workspace=other)
        self.store.readers(place, other)
        until(lambda: self.sql("SELECT 1", key, sessions="").status == 200, "its user is not read")
        self.assertEqual(self.sql("SELECT 1", key).status, 404)
        self.assertEqual(self.sql("SELECT count() FROM kernels", key, sessions="").json()["rows"], [[0]])
        denied = self.sql(f"SELECT * FROM `e2e_{place}`.kernel", key, sessions="")
        self.assertEqual(denied.status, 400, denied)
        # Without the server's check of words, ClickHouse itself refuses these statements.
        for sql in (f"SELECT count() FROM `e2e_{place}`.kernel", f"SELECT count() FROM merge('e2e_{place}', '.*')"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.store.ask(sql, f"reader_{other}", "read")
            refused.exception.close()
        self.assertEqual(self.server.as_user("DELETE", f"/api/v1/workspaces/{other}").status, 204)

    def test_3_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GPUFL, "sim", "--kernels", "5000", "--seed", "9", "-o", folder], check=True,
                           stdout=subprocess.DEVNULL)
            run = next(d for d, folders, files in os.walk(folder) if any("device" in f for f in files))
            session = self.server.load(self.key, run)
        base = self.store.ask("SELECT DISTINCT database FROM system.tables WHERE name = 'commits'")[0][0]
        tables = [name for name, in self.store.ask(f"SELECT table FROM system.columns WHERE database = '{base}' AND name = 'session' "
                                                   "AND table NOT IN ('commits', 'history')")]

        def having_rows():
            return [t for t in tables if self.store.ask(f"SELECT count() FROM `{base}`.`{t}` WHERE session IN (SELECT session FROM "
                                                        f"`{base}`.commits WHERE name = '{session}')") != [["0"]]]
        self.assertEqual(having_rows(), ["small"])
        answer = self.server.as_user("DELETE", f"/api/v1/sessions/{session}")
        self.assertIn(answer.status, (200, 202, 204), answer)
        last = f"SELECT argMax(kind, commit) FROM `{base}`.commits WHERE name = '{session}'"
        until(lambda: self.store.ask(last) == [["2"]], "it is not deleted")
        self.assertEqual(self.server.ask("GET", f"/api/v1/sessions/{session}", Authorization=self.key).status, 404)
        until(lambda: having_rows() == [], "its rows are still there", 60 + 10 * SLOW)
        for folder in self.folders:  # whose rows lie in the same partitions
            self.check_numbers(folder)

    def test_4_both_are_killed(self):
        self.store.stop()
        self.server.stop(signal.SIGKILL)
        self.server.wait()
        self.assertTrue(self.store.start())
        self.server.start()
        for folder in self.folders:
            self.check_numbers(folder)

    def begin_session(self):
        """Sends the whole of a small session that is new to the server."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GPUFL, "sim", "--kernels", "100", "--seed", "78", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            run = next(d for d, folders, files in os.walk(folder) if any("device" in f for f in files))
            self.server.send(self.key, run)
            session = os.path.basename(run)
        self.server.complete(self.key, session)
        return session

    def test_5_killed_while_loading(self):
        """What was acknowledged while ClickHouse was away is loaded once when it is back, a session that began then, too."""
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
                new = self.begin_session()
                self.server.complete(self.key, session)
                self.assertTrue(self.store.start())
                for event, data in events:
                    if event == "report" and data["session"] == session and data["final"]:
                        break
            until(lambda: self.server.ask("GET", f"/api/v1/sessions/{new}", Authorization=self.key).status == 200,
                  "the session that began meanwhile is not there", 10 * SLOW)
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
            # A restore that was interrupted is done again with a new folder: what is there stays.
            again = subprocess.run([PROGRAM, "restore", backup, "--data", os.path.join(folder, "again")], capture_output=True,
                                   text=True, env={**os.environ, "GPUFL_SERVER_COLUMNS": elsewhere})
            self.assertEqual(again.returncode, 0, again)
            self.assertRegex(again.stdout, r"^0 sessions to ClickHouse with 0 rows; \d+ were there already")

    def check_damage(self):
        """If rows cannot be read, their sessions are named, and no others."""
        path, before = self.harm()
        out = subprocess.run([PROGRAM, "check", "--data", self.server.data], capture_output=True, text=True,
                             env={**os.environ, "GPUFL_SERVER_COLUMNS": self.store.url})
        self.assertEqual(out.returncode, 1, out)
        named = re.findall(r"^session (\S+) of workspace \S+: (.*)", out.stdout, re.M)
        self.assertIn(len(named), (1, 2, 3), out)
        self.assertIn(f"{len(named)} damaged", out.stdout)
        self.assertTrue(all("is damaged" in why for _, why in named), out)
        with open(path, "r+b") as f:
            f.write(before)

    def harm(self):
        """Overwrites the middle of a column of the largest part of small sessions: (its file, what it was)."""
        part = self.store.ask("SELECT path FROM system.parts WHERE active AND database LIKE 'e2e%' AND table = 'small' "
                              "ORDER BY rows DESC LIMIT 1")[0][0]
        path = next(p for p in (os.path.join(part, "cells.bin"), os.path.join(part, "data.bin")) if os.path.exists(p))
        with open(path, "r+b") as f:
            before = f.read()
            f.seek(len(before) // 2)
            f.write(bytes(b ^ 0x55 for b in before[len(before) // 2:][:64]))
        return path, before

    def test_6_checked_and_no_secret_is_shown(self):
        self.assertEqual(self.server.stop(), 0)
        out = subprocess.run([PROGRAM, "check", "--data", self.server.data], capture_output=True, text=True,
                             env={**os.environ, "GPUFL_SERVER_COLUMNS": self.store.url})
        self.assertEqual(out.returncode, 0, out)
        self.assertRegex(out.stdout, r"4 sessions, \d+ rows, 0 damaged")
        self.check_damage()
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
        print("GPUFL_CHDB names no libchdb.so: the tests on today's ClickHouse are left out" if clickhouse.TODAY else
              "ClickHouse is not installed (package clickhouse-server): its tests are left out")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
