"""POST /api/v1/sql: a SELECT answers, and nothing else is possible.

Usage: test_server_sql.py gpufl-server gpufl SOURCE_DIR"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from patience import PATIENCE, SLOW
from served import Server, report_of

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
ENDLESS = "SELECT count(*) FROM range(1000000000000000)"


def children(pid):
    """Processes that a process has started."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as f:
                found += [int(p) for p in f.read().split()]
        except OSError:
            pass
    return found


class Asked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--sql", "4")
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.set_up()
        cls.key = cls.server.make_key()
        cls.server.load(cls.key, FOLDER)

    def ask(self, sql, key=None, **more):
        body = {"sql": sql, "sessions": SESSION, "milliseconds": 30000, **more}
        return self.server.ask("POST", "/api/v1/sql", body, Authorization=key or self.key)

    def rows(self, sql, **more):
        answer = self.ask(sql, **more)
        self.assertEqual(answer.status, 200, answer)
        self.assertFalse(answer.json()["truncated"])
        return answer.json()["rows"]

    def columns_of(self, tables, **more):
        """The columns of each table, by few statements: every one is a process. A mark begins each table's columns."""
        tables, found = list(tables), {}
        for at in range(0, len(tables), 6):  # an answer has 256 columns at most
            sides = ", ".join(f'(SELECT 1 AS "of {name}"), "{name}"' for name in tables[at:at + 6])
            answer = self.ask(f"SELECT * FROM {sides} LIMIT 0", **more)
            self.assertEqual(answer.status, 200, answer)
            for column in answer.json()["columns"]:
                if column["name"].startswith("of "):
                    mine = found[column["name"][3:]] = []
                else:
                    mine.append(column)
        self.assertEqual(list(found), tables)
        return found

    def refused(self, sql, word="", **more):
        answer = self.ask(sql, **more)
        self.assertEqual(answer.status, 400, f"{sql}: {answer}")
        self.assertIn(word, answer.json()["detail"], sql)
        return answer.json()["detail"]

    def another_workspace(self):
        place = self.server.as_user("POST", "/api/v1/workspaces", {"name": "other"}).json()["id"]
        return place, self.server.make_key(workspace=place)

    # ---- what can be asked ----------------------------------------------------------------------

    def test_numbers_are_those_of_the_report(self):
        report = report_of(GPUFL, FOLDER)
        rows = self.rows("SELECT name, count(*), sum(duration), min(duration), max(duration) FROM kernels GROUP BY name")
        said = {(k["symbol"], k["count"], k["total_ns"], k["min_ns"], k["max_ns"])
                for k in report["kernels"]["by_name"]}
        self.assertEqual({tuple(r) for r in rows}, said)
        copies = self.rows("SELECT count(*), sum(bytes), sum(duration) FROM memcpy")
        self.assertEqual(copies, [[report["copies"]["count"], report["copies"]["bytes"], report["copies"]["total_ns"]]])
        row = self.server.ask("GET", f"/api/v1/sessions/{SESSION}", Authorization=self.key).json()
        self.assertEqual(self.rows("SELECT * FROM sessions"), [
            [SESSION, row["app"], row["host"], row["engine"], "ended", row["started"], row["ended"]]])
        launches = self.server.ask("GET", f"/api/v1/sessions/{SESSION}/launches?limit=3", Authorization=self.key).json()
        self.assertEqual(self.rows("SELECT start FROM kernels ORDER BY start LIMIT 3"),
                         [[t] for t in launches["data"]["start"]])

    def test_history(self):
        rows = self.rows("SELECT session, sum(calls), sum(share) FROM history WHERE kind = 0 GROUP BY session", sessions="")
        self.assertEqual([r[:2] for r in rows], [[SESSION, report_of(GPUFL, FOLDER)["kernels"]["count"]]])
        self.assertAlmostEqual(rows[0][2], 1, 6)
        self.assertEqual(self.rows("SELECT calls, name FROM history WHERE kind = 2", sessions=""), [[1, "train_loop"]])

    def test_views_are_those_of_the_manual(self):
        with open(os.path.join(SOURCE, "docs", "server-sql.md"), encoding="utf-8") as f:
            manual = f.read()
        for view in ("sessions", "kernels", "history"):
            columns = re.findall(r"^\| `(\w+)` \|", manual.split(f"### {view}\n")[1].split("###")[0], re.M)
            answer = self.ask(f"SELECT * FROM {view} LIMIT 0").json()
            self.assertEqual([c["name"] for c in answer["columns"]], columns)
        schema = json.loads(subprocess.run([GPUFL, "schema", "--json"], capture_output=True, check=True).stdout)
        wanted = {record["type"]: ["session"] + [c["name"] for c in record["columns"]] for record in schema["records"]}
        for sessions in (SESSION, ""):  # whether it has rows there or not
            found = self.columns_of(wanted, sessions=sessions)
            for name, columns in wanted.items():
                self.assertEqual([c["name"] for c in found[name]], columns, name)

    def test_every_ready_question_has_an_answer(self):
        with open(os.path.join(SOURCE, "web", "src", "pages", "sql", "questions.json"), encoding="utf-8") as f:
            questions = {q["id"]: q for q in json.load(f)}
        self.assertEqual(len(questions), 10)
        _, key = self.another_workspace()
        recorded = [FOLDER] + [glob.glob(os.path.join(SOURCE, "tests", "data", "answers", name, "*-*"))[0]
                               for name in ("hf_train", "hf_generate")]
        for session in [self.server.load(key, folder) for folder in recorded]:
            for question in questions.values():
                answer = self.ask(question["sql"], key, sessions=session)
                self.assertEqual(answer.status, 200, f'{question["id"]} of {session}: {answer}')
                columns = [c["name"] for c in answer.json()["columns"]]
                self.assertTrue(answer.json()["rows"], f'{question["id"]} of {session}')
                self.assertTrue({question["x"], question["y"]} <= set(columns), question["id"])
        report = report_of(GPUFL, FOLDER)
        kernels = self.rows(questions["kernels"]["sql"])
        self.assertEqual([r[1] for r in kernels[:2]], [2000, 2000])
        self.assertAlmostEqual(sum(r[2] for r in kernels), report["kernels"]["total_ns"] / 1e6, 6)
        self.assertAlmostEqual(sum(r[1] for r in self.rows(questions["busy"]["sql"])), report["kernels"]["total_ns"] / 1e6, 6)
        line = self.rows(questions["lines"]["sql"])[0]
        self.assertEqual((os.path.basename(line[0]), line[1]), ("train_loop.cu:235", 1000))
        self.assertEqual(self.rows(questions["waits"]["sql"])[0][:2], ["stream", 1000])
        self.assertEqual([r[:3] for r in self.rows(questions["copies"]["sql"])][0], ["host to device", 1000, 524.288])
        self.assertEqual([r[:3] for r in self.rows(questions["streams"]["sql"])],
                         [["stream 13", 10000, 2000], ["stream 14", 0, 1000], ["stream 7", 0, 3]])

    def test_tables_can_be_asked_for(self):
        answer = self.server.ask("GET", "/api/v1/sql/tables", Authorization=self.key).json()
        self.assertEqual(answer["dialect"], "duckdb")
        said = answer["tables"]
        self.assertEqual([t["name"] for t in said[:3]], ["sessions", "kernels", "history"])
        found = self.columns_of([table["name"] for table in said])
        for table in said:
            self.assertEqual([(c["name"], c["type"]) for c in found[table["name"]]],
                             [(c["name"], c["type"]) for c in table["columns"]], table["name"])
            self.assertTrue(table["doc"] and all(c["doc"] for c in table["columns"]), table["name"])
        self.assertEqual(self.server.ask("GET", "/api/v1/sql/tables").status, 401)

    def test_an_error_says_its_place(self):
        self.assertIn("LINE 2: FROM kernelz\n             ^", self.refused("SELECT *\nFROM kernelz"))

    def test_cells(self):
        answer = self.ask("SELECT 1.25 AS a, -0.005 AS b, 0.5::DECIMAL(38,2) AS c, DATE '2020-01-02', "
                          "TIMESTAMP '2020-01-02 03:04:05.5', '1969-12-31 23:59:59'::TIMESTAMP_S, "
                          "170141183460469231731687303715884105727, -9007199254740992, 9007199254740993, 255::UTINYINT, "
                          "-7::TINYINT, 18446744073709551615::UBIGINT, 'é\"\\', NULL, true, 0.1::DOUBLE, 'nan'::DOUBLE, "
                          "'-inf'::FLOAT, make_timestamp_ns(1000000001), repeat('long', 5), 'infinity'::TIMESTAMP").json()
        self.assertEqual(answer["rows"], [[
            1.25, -0.005, 0.50, "2020-01-02", "2020-01-02T03:04:05.500000", "1969-12-31T23:59:59",
            "170141183460469231731687303715884105727", -9007199254740992, "9007199254740993", 255, -7,
            "18446744073709551615", 'é"\\', None, True, 0.1, "NaN", "-Infinity", "1970-01-01T00:00:01.000000001",
            "long" * 5, "infinity"]])
        self.assertEqual(answer["columns"][0], {"name": "a", "type": "DECIMAL"})
        self.refused("SELECT [1, 2] AS xs", "cast it to VARCHAR")
        self.assertEqual(self.rows("SELECT [1, 2]::VARCHAR"), [["[1, 2]"]])

    def test_limits_cut_and_say_so(self):
        answer = self.ask("SELECT * FROM range(10000000)", rows=3).json()
        self.assertEqual((answer["rows"], answer["truncated"]), ([[0], [1], [2]], True))
        self.assertFalse(self.ask("SELECT * FROM range(3)", rows=3).json()["truncated"])
        large = self.ask("SELECT repeat('x', 1000000) FROM range(100)")
        self.assertEqual(large.status, 200)
        self.assertTrue(large.json()["truncated"])
        self.assertLess(len(large.body), 17 << 20)
        self.assertGreater(len(large.json()["rows"]), 10)

    def test_a_live_session_is_asked_as_it_is(self):
        place, key = self.another_workspace()
        self.server.send(key, FOLDER, end=False)
        count, end = 0, time.monotonic() + PATIENCE
        while count == 0 and time.monotonic() < end:
            answer = self.ask("SELECT count(*) FROM kernel", key)
            self.assertIn(answer.status, (200, 404, 503), answer)  # 503: busy, to be asked again
            count = answer.json()["rows"][0][0] if answer.status == 200 else 0
        state = self.server.ask("GET", f"/api/v1/sessions/{SESSION}", Authorization=key).json()["state"]
        self.assertEqual((count, state), (report_of(GPUFL, FOLDER)["kernels"]["count"], "live"))
        folder = os.path.join(self.server.data, "columns", ".select")
        self.assertEqual(os.listdir(folder) if os.path.exists(folder) else [], [])
        self.assertEqual(self.server.as_user("DELETE", f"/api/v1/workspaces/{place}").status, 204)

    # ---- what cannot ----------------------------------------------------------------------------

    def test_nothing_but_one_select(self):
        for sql in ("COPY (SELECT 1) TO '/tmp/gpufl-sql-test.csv'", "COPY sessions FROM '/etc/passwd'", "ATTACH '/tmp/x.db'",
                    "DETACH s0", "INSTALL httpfs", "LOAD httpfs", "PRAGMA version", "PRAGMA database_list",
                    "CALL pragma_version()", "SET threads=4", "RESET threads", "SET GLOBAL lock_configuration=false",
                    "SELECT 1; SELECT 2", "SELECT 1; SET threads=4", "CREATE TABLE x(a INT)", "CREATE SECRET (TYPE s3)",
                    "INSERT INTO sessions VALUES ('a','b','c','d','e',1,2)", "DELETE FROM sessions", "DROP TABLE sessions",
                    "UPDATE sessions SET app = 'x'", "EXPORT DATABASE '/tmp/gpufl-sql-test'", "IMPORT DATABASE '/tmp'",
                    "EXPLAIN ANALYZE SELECT 1", "CHECKPOINT s0", "VACUUM", "USE s0", "BEGIN", "PREPARE a AS SELECT 1",
                    "WITH a AS (SELECT 1) DELETE FROM sessions", "SHOW TABLES", "", " ", ";", "-- nothing", "/* SELECT 1"):
            self.refused(sql)
        self.assertEqual(self.rows("-- a remark\n/* and one */ SELECT 1; -- the end"), [[1]])
        self.assertEqual(self.rows("from range(1)"), [[0]])
        self.assertEqual(self.rows("(VALUES (1))"), [[1]])
        self.assertEqual(glob.glob("/tmp/gpufl-sql-test*"), [])

    def test_no_file_no_network_no_setting(self):
        data = self.server.data
        other = os.path.join(data, "columns")
        for sql in ("SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_text('/etc/passwd')",
                    "SELECT * FROM read_blob('/proc/self/environ')", "SELECT * FROM glob('/*')", "SELECT * FROM 'x.parquet'",
                    "SELECT * FROM read_parquet('https://example.org/x.parquet')", "SELECT * FROM read_json('/etc/passwd')",
                    f"SELECT * FROM read_text('{data}/meta.db')", f"SELECT * FROM glob('{other}/*')",
                    "SELECT * FROM sniff_csv('/etc/passwd')", "SELECT getenv('HOME')",
                    "SELECT * FROM query('SET threads=4')", "SELECT * FROM query('ATTACH ''/tmp/x.db''')",
                    "SELECT * FROM parquet_metadata('x')", "SELECT * FROM sqlite_scan('x', 'y')",
                    "SELECT * FROM s0.main.kernel, s1.main.kernel", "SELECT write_log('x')  FROM read_csv('/dev/stdin')"):
            self.refused(sql)
        self.assertEqual(self.rows("SELECT current_setting('enable_external_access'), current_setting('lock_configuration')"),
                         [[False, True]])

    def test_nothing_of_the_host_is_shown(self):
        texts = [*self.rows("SELECT path FROM duckdb_databases()"), *self.rows("SELECT comment FROM duckdb_databases()"),
                 *self.rows("SELECT value FROM duckdb_settings() WHERE value IS NOT NULL")]
        texts = [t for (t,) in texts if t]
        self.assertGreater(len(texts), 10)
        for text in texts:
            self.assertNotIn(self.server.data, text)
            self.assertNotIn(os.path.expanduser("~") + "/.", text)

    def test_other_workspaces(self):
        place, key = self.another_workspace()
        self.assertEqual(self.ask("SELECT 1", key).status, 404)  # the session is not theirs
        self.assertEqual(self.ask("SELECT count(*) FROM history", key, sessions="").json()["rows"], [[0]])
        self.assertEqual(self.ask("SELECT 1", key, sessions="").status, 200)
        self.assertEqual(self.server.as_user("DELETE", f"/api/v1/workspaces/{place}").status, 204)

    def test_who_may(self):
        self.assertEqual(self.server.ask("POST", "/api/v1/sql", {"sql": "SELECT 1"}).status, 401)
        self.assertEqual(self.ask("SELECT 1", self.server.make_key("ingest")).status, 403)
        self.assertEqual(self.ask("SELECT 1", self.server.make_key("read")).status, 200)
        share = self.server.as_user("POST", f"/api/v1/sessions/{SESSION}/shares", {"expires": "9000000000000000000"})
        self.assertEqual(self.ask("SELECT 1", "Bearer " + share.json()["token"]).status, 403)

    def test_ids_that_are_none(self):
        for sessions, status in (("x", 404), (f"{SESSION},x", 404), ("../x", 400), (",", 400), ("a b", 400),
                                 (f"{SESSION},{SESSION}", 400), ("'", 400), (",".join(["x"] * 40), 404)):
            self.assertEqual(self.ask("SELECT 1", sessions=sessions).status, status, sessions)

    def test_too_long_and_too_large(self):
        begin = time.monotonic()
        self.refused(ENDLESS, "took longer than 700 ms", milliseconds=700)
        self.assertLess(time.monotonic() - begin, PATIENCE)
        for sql in ("SELECT list(i) FROM range(100000000) t(i)", "SELECT string_agg(repeat('x', 1000000), '') FROM range(10000)",
                    "SELECT * FROM range(100000000) a(x) ORDER BY hash(x)"):
            self.refused(sql, "more memory")
        self.refused("SELECT " + "+".join(["1"] * 15000))
        deep = self.ask("SELECT " + "(" * 20000 + "1" + ")" * 20000)
        self.assertIn(deep.status, (200, 400, 500))
        self.assertEqual(self.rows("SELECT 1"), [[1]])

    def test_each_stands_in_the_audit_log(self):
        self.rows("SELECT 'a mark of its own'")
        self.refused("SELECT nothing_of_that_name")
        rows = self.server.as_user("GET", "/api/v1/audit?limit=200").json()["rows"]
        asked = [r["detail"] for r in rows if r["action"] == "sql.ask"]
        mark = next(d for d in asked if d["sql"] == "SELECT 'a mark of its own'")
        self.assertEqual(mark["sessions"], SESSION)
        self.assertNotIn("error", mark)
        self.assertIn("not found", next(d for d in asked if "nothing_of" in d["sql"])["error"])
        self.assertNotIn("a mark of its own", self.server.errors())  # it is only there


class Processes(unittest.TestCase):
    """Tests what happens to the process that asks, and to the server."""

    def setUp(self):
        self.server = Server(PROGRAM, "--sql", "1")
        self.addCleanup(self.server.__exit__)
        self.server.set_up()
        self.key = self.server.make_key()
        self.answers = []

    def ask(self, sql, **more):
        return self.server.ask("POST", "/api/v1/sql", {"sql": sql, **more}, Authorization=self.key)

    def begin(self, sql):
        """Asks on a thread; the process that does it."""
        thread = threading.Thread(target=lambda: self.answers.append(self.ask(sql, milliseconds=30000)))
        thread.start()
        self.addCleanup(thread.join)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for pid in children(self.server.process.pid):
                with open(f"/proc/{pid}/status", encoding="ascii") as f:
                    status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
                if status.get("Seccomp") == "2" and status.get("Seccomp_filters", "2") == "2":
                    return thread, pid, status
        self.fail("no process was started")

    def test_a_crash_is_its_own(self):
        # Sanitizers turn the other signals into an exit.
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT) if SLOW == 1 else (signal.SIGKILL,):
            thread, pid, _ = self.begin(ENDLESS)
            os.kill(pid, number)
            thread.join()
            answer = self.answers.pop()
            self.assertEqual(answer.status, 500, answer)
            self.assertIn(f"signal {int(number)}", self.server.errors())
            self.assertEqual(self.ask("SELECT 1").json()["rows"], [[1]])
        self.assertEqual(children(self.server.process.pid), [])
        self.assertIsNone(self.server.process.poll())

    def test_it_has_nothing(self):
        thread, pid, status = self.begin(ENDLESS)
        self.assertEqual((status["NoNewPrivs"], status["Threads"]), ("1", "1"))
        if os.geteuid() == 0:
            self.assertEqual(status["Uid"].split(), ["65534"] * 4)
            self.assertEqual(int(status["CapEff"], 16), 0)
        with open(f"/proc/{pid}/environ", "rb") as f:
            self.assertNotIn(b"PATH=/usr", f.read())
        open_files = [os.readlink(f) for f in glob.glob(f"/proc/{pid}/fd/*")]
        self.assertTrue(all(f.startswith(("socket:", "/dev/null")) or f.endswith("/columns") for f in open_files), open_files)
        with open(f"/proc/{pid}/limits", encoding="ascii") as f:
            limits = {line[:26].strip(): line[26:].split()[1] for line in f.readlines()[1:]}
        self.assertEqual((limits["Max core file size"], limits["Max file size"]), ("0", "0"))
        self.assertLessEqual(int(limits["Max cpu time"]), 31)
        if SLOW == 1:
            self.assertLess(int(limits["Max address space"]), 2 << 30)
        os.kill(pid, signal.SIGKILL)
        thread.join()

    def test_one_workspace_waits_for_itself(self):
        wide = Server(PROGRAM, "--sql", "2", data=os.path.join(self.server.folder, "wide"))
        self.addCleanup(wide.__exit__)
        wide.set_up()
        self.server, self.key = wide, wide.make_key()
        thread, pid, _ = self.begin(ENDLESS)
        answer = self.ask("SELECT 1")
        self.assertEqual((answer.status, answer.fields["Retry-After"]), (429, "1"))
        os.kill(pid, signal.SIGKILL)
        thread.join()
        self.assertEqual(self.ask("SELECT 1").status, 200)

    def test_the_server_ends_while_one_is_asked(self):
        thread, pid, _ = self.begin(ENDLESS)
        self.server.process.kill()
        self.server.wait()
        end = time.monotonic() + PATIENCE
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                if f.read().split()[2] == "Z":
                    break
        else:
            self.assertFalse(os.path.exists(f"/proc/{pid}"), "it outlives its server")
        thread.join()

    def test_switched_off(self):
        off = Server(PROGRAM, "--sql", "0", data=os.path.join(self.server.folder, "off"))
        self.addCleanup(off.__exit__)
        off.set_up()
        answer = off.ask("POST", "/api/v1/sql", {"sql": "SELECT 1"}, Authorization=off.make_key())
        self.assertEqual(answer.status, 501, answer)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
