"""gpufl-server over HTTP: sent data can be read, nobody sees data of others, and bad input
gets a sentence.

Usage: test_server_api.py gpufl-server gpufl SOURCE_DIR"""
import gzip
import json
import os
import re
import sys
import tempfile
import unittest
import urllib.parse

from api_check import Duck, Schema
from served import Server, report_of

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
AT = f"/api/v1/sessions/{SESSION}"


class Loaded(unittest.TestCase):
    """A server that holds one recorded session."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--max-body", "64M")
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.set_up()
        cls.key = cls.server.make_key()
        cls.server.load(cls.key, FOLDER)

    def get(self, target, **fields):
        fields.setdefault("Authorization", self.key)
        return self.server.ask("GET", target, **fields)

    def rows(self, target):
        answer = self.get(target)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    # ---- what was sent comes back ------------------------------------------------------------------

    def test_registry(self):
        row = self.rows(AT)
        self.assertEqual(row["id"], SESSION)
        self.assertEqual(row["state"], "ended")
        self.assertEqual(self.rows("/api/v1/sessions?app=" + row["app"])["rows"], [row])
        self.assertEqual(self.rows("/api/v1/sessions?app=other")["rows"], [])
        self.assertEqual(self.rows("/api/v1/session-count")["count"], 1)
        self.assertEqual(self.rows("/api/v1/session-names?by=app")["rows"][0]["name"], row["app"])

    def test_numbers_are_those_of_the_report(self):
        report = report_of(GPUFL, FOLDER)
        kernels = self.rows(AT + "/kernels?limit=10000")
        totals = {kernels["mangled"][name]: (calls, total, least, most) for name, calls, total, least, most in
                  zip(*(kernels["data"][c] for c in ("name", "calls", "total", "shortest", "longest")))}
        said = {k["symbol"]: (k["count"], k["total_ns"], k["min_ns"], k["max_ns"])
                for k in report["kernels"]["by_name"]}
        self.assertEqual(totals, said)
        names = {k["symbol"]: k["name"] for k in report["kernels"]["by_name"]}
        self.assertEqual(dict(zip(kernels["mangled"], kernels["names"])), names)
        short = {k["symbol"]: k["short_name"] for k in report["kernels"]["by_name"]}
        self.assertEqual(dict(zip(kernels["mangled"], kernels["short_names"])), short)
        self.assertEqual(len(set(short.values())), len(short))
        counts = dict(zip(*(self.rows(AT + "/counts")["data"][c] for c in ("record", "rows"))))
        self.assertEqual(counts["kernel"], report["kernels"]["count"])
        copies = self.rows(AT + "/copies")["data"]
        self.assertEqual(sum(copies["calls"]), report["copies"]["count"])
        self.assertEqual(sum(copies["bytes"]), report["copies"]["bytes"])
        self.assertEqual(sum(copies["total"]), report["copies"]["total_ns"])
        for section, keys in (("scopes", ["scopes", "scope_paths"]), ("sync", ["synchronizations"]),
                              ("insights", ["insights"]), ("ledger", ["ledger", "capabilities", "options"])):
            answer = self.rows(f"{AT}/{section}")
            self.assertTrue(answer["final"])
            for key in keys:
                if key != "insights":
                    self.assertEqual(answer[key], report[key], key)
        self.assertEqual([i["id"] for i in self.rows(AT + "/insights")["insights"]],
                         [i["id"] for i in report["insights"]])
        self.assertEqual(len(self.rows(AT + "/findings")["rows"]), len(report["insights"]))
        self.assertNotIn("by_name", self.rows(AT + "/summary")["kernels"])

    def test_sections_have_all_of_the_report(self):
        report = report_of(GPUFL, FOLDER)
        served = {}
        for section in ("summary", "ledger", "sync", "scopes", "steps", "insights", "kernel-report", "profile"):
            served.update({(section, key): value for key, value in self.rows(f"{AT}/{section}").items()})
        keys = {key for _, key in served}
        # /samplers says whose samples a session shows.
        self.assertEqual(set(report) - keys - {"format", "gpufl", "groups", "shared_samples"}, set())
        for section, key in (("summary", "managed_memory"), ("summary", "windows"), ("ledger", "windows"),
                             ("ledger", "settings"), ("profile", "external_correlation")):
            self.assertEqual(served[section, key], report[key], key)

    def test_times_count_from_the_start(self):
        launches = self.rows(AT + "/launches?limit=100000")
        report = report_of(GPUFL, FOLDER)
        start = min(launches["data"]["start"])
        self.assertGreaterEqual(start, 0)
        self.assertLess(max(launches["data"]["start"]), report["session"]["duration_ns"])
        self.assertEqual(int(launches["epoch"]), int(self.rows(AT)["started"]))
        first = self.rows(f"{AT}/launches?from={start}&to={start + 1}&limit=10")
        self.assertEqual(first["data"]["start"], [start])
        self.assertEqual(self.rows(f"{AT}/launches?to={start}")["rows"], 0)

    def test_timeline(self):
        lanes = self.rows(AT + "/lanes")["data"]
        for lane in lanes["lane"]:
            self.assertIsInstance(lane, str)  # lanes have more than 53 bits
        each = ",".join(lanes["lane"])
        to = max(lanes["last"])
        tiles = self.rows(f"{AT}/tiles?level=0&lanes={each}&from=0&to={to + 1}")["data"]
        spans = self.rows(f"{AT}/spans?level=0&lanes={each}&from=0&to={to + 1}&limit=100000")["data"]
        for lane, events in zip(lanes["lane"], lanes["events"]):
            seen = sum(n for at, n in zip(tiles["lane"], tiles["events"]) if at == lane)
            seen += sum(at == lane for at in spans["lane"])
            self.assertEqual(seen, events, lane)

    def test_events_have_names(self):
        lanes = self.rows(AT + "/lanes")["data"]["lane"]
        known = {1: r".", 2: r"copy (HtoD|DtoH|DtoD)|fill", 3: r"(stream|context|event) synchronization|stream waits for event",
                 4: r"(wait for|call to|let stream) .*", 5: r".", 6: "graph launch"}
        for question in ("events", "spans", "tiles"):
            level = "&level=0" if question != "events" else ""
            for kind in {int(lane) >> 56 for lane in lanes}:
                some = ",".join(lane for lane in lanes if int(lane) >> 56 == kind)
                answer = self.rows(f"{AT}/{question}?lanes={some}&from=0&to={10**9}{level}")
                for name in answer["names"]:
                    self.assertRegex(name, known[kind], (question, kind))
                if question == "events":
                    self.assertGreater(answer["rows"], 0)
                    self.assertNotIn(None, answer["data"]["name"])

    def test_bookmarks(self):
        odd = "<img src=x onerror=alert(1)>'; DROP TABLE bookmarks; --"
        made = self.server.as_user("POST", AT + "/bookmarks", {"start": 5000, "duration": 70, "note": odd})
        self.assertEqual(made.status, 200, made)
        first = self.server.as_user("POST", AT + "/bookmarks", {"start": 10, "note": "before"}).json()
        rows = self.get(AT + "/bookmarks").json()["rows"]
        self.assertEqual([(r["start"], r["duration"], r["note"]) for r in rows], [(10, 0, "before"), (5000, 70, odd)])
        self.assertEqual(self.server.as_user("PUT", f'{AT}/bookmarks/{first["id"]}', {"note": "after"}).status, 204)
        self.assertEqual(self.get(AT + "/bookmarks").json()["rows"][0]["note"], "after")
        for body in ({"note": "x"}, {"start": 1}, {"start": 1, "note": "x" * 4097}, {"start": 1, "duration": -1, "note": "x"}):
            self.assertEqual(self.server.as_user("POST", AT + "/bookmarks", body).status, 400, body)
        self.assertEqual(self.server.as_user("DELETE", f"{AT}/bookmarks/nothing").status, 404)
        for row in rows:
            self.assertEqual(self.server.as_user("DELETE", f'{AT}/bookmarks/{row["id"]}').status, 204)
        self.assertEqual(self.get(AT + "/bookmarks").json()["rows"], [])
        self.assertEqual(self.get("/api/v1/sessions/nothing/bookmarks").status, 404)

    def test_exports(self):
        answer = self.get(AT + "/export.ndjson")
        self.assertEqual(answer.status, 200)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "session.ndjson")
            with open(path, "wb") as out:
                out.write(answer.body)
            again, report = report_of(GPUFL, path), report_of(GPUFL, FOLDER)
        for key in ("copies", "fills", "synchronizations", "scope_paths", "memory", "graphs"):
            self.assertEqual(again[key], report[key], key)
        self.assertEqual(again["kernels"]["count"], report["kernels"]["count"])
        self.assertEqual(again["kernels"]["total_ns"], report["kernels"]["total_ns"])
        stacks = self.get(AT + "/flame").body.decode().splitlines()
        scope = self.get(AT + "/export.speedscope.json").json()
        self.assertEqual(sum(len(p["samples"]) for p in scope["profiles"]), len(stacks))
        self.assertEqual(sum(p["endValue"] for p in scope["profiles"]), sum(int(s.rsplit(" ", 1)[1]) for s in stacks))
        pprof = self.get(AT + "/export.pprof")
        self.assertIn(b"host_blocked", pprof.body)
        self.assertIn(f"{SESSION}.pb", pprof.fields["Content-Disposition"])
        parquet = self.get(AT + "/export.parquet?record=kernel")
        self.assertEqual(parquet.status, 200)
        self.assertEqual(parquet.body[:4] + parquet.body[-4:], b"PAR1PAR1")
        self.assertIn(SESSION, parquet.fields["Content-Disposition"])
        self.assertEqual(self.get(AT + "/export.parquet?record=nothing").status, 400)

    def test_export_gives_every_row_back(self):
        """What is exported is sent to another workspace: each record has its rows there again, and the same report."""
        counts = dict(zip(*(self.rows(AT + "/counts")["data"][c] for c in ("record", "rows"))))
        exported = self.get(AT + "/export.ndjson").body
        rows = {}
        for line in exported.splitlines():
            row = json.loads(line)
            if "rows" in row and row["type"] != "names":
                rows[row["type"]] = rows.get(row["type"], 0) + row["rows"]
        self.assertEqual(rows, counts)
        place = self.server.as_user("POST", "/api/v1/workspaces", {"name": "again"}).json()["id"]
        key = self.server.make_key(workspace=place)
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, SESSION))
            with open(os.path.join(folder, SESSION, "device.log"), "wb") as out:
                out.write(exported)
            self.server.load(key, os.path.join(folder, SESSION))
        again = self.get(AT + "/counts", Authorization=key).json()["data"]
        self.assertEqual(dict(zip(again["record"], again["rows"])), counts)
        for target in ("/kernels?limit=1000", "/launches?limit=100000", "/copies", "/lanes", "/scopes", "/sync"):
            first, second = self.rows(AT + target), self.get(AT + target, Authorization=key).json()
            for made in ("made", "records"):
                first.pop(made, None), second.pop(made, None)
            self.assertEqual(second, first, target)
        self.assertEqual(self.server.as_user("DELETE", f"/api/v1/workspaces/{place}").status, 204)

    def test_parquet_gives_every_row_back(self):
        duck, report = Duck(PROGRAM), report_of(GPUFL, FOLDER)
        counts = dict(zip(*(self.rows(AT + "/counts")["data"][c] for c in ("record", "rows"))))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.parquet")
            for record, rows in counts.items():
                answer = self.get(f"{AT}/export.parquet?record={record}")
                self.assertEqual(answer.status, 200, answer)
                with open(path, "wb") as out:
                    out.write(answer.body)
                self.assertEqual(duck.row(f"SELECT count(*) FROM '{path}'", 1), [str(rows)], record)
                if record == "kernel":
                    self.assertEqual(duck.row(f"SELECT sum(duration), min(duration) FROM '{path}'", 2),
                                     [str(report["kernels"]["total_ns"]), str(min(k["min_ns"] for k in report["kernels"]["by_name"]))])
                if record == "config":  # names are written as texts
                    self.assertEqual(duck.row(f"SELECT count(DISTINCT name) FROM '{path}'", 1), [str(len(report["kernels"]["by_name"]))])
        left = [f for f in os.listdir(self.server.data) + os.listdir(os.path.join(self.server.data, "columns")) if "export" in f]
        self.assertEqual(left, [])

    def test_chrome_trace(self):
        answer = self.get(AT + "/export.trace.json")
        self.assertIn(SESSION + ".trace.json", answer.fields["Content-Disposition"])
        events = answer.json()["traceEvents"]
        report = report_of(GPUFL, FOLDER)
        counts = dict(zip(*(self.rows(AT + "/counts")["data"][c] for c in ("record", "rows"))))
        kinds = {}
        for e in events:
            if e["ph"] == "X":
                kinds.setdefault(e["cat"], []).append(e)
        for kind, some in kinds.items():
            self.assertEqual(len(some), counts[kind], kind)
        self.assertEqual(set(kinds), {"kernel", "memcpy", "memset", "sync", "wait", "scope", "graph_launch"} & set(counts))
        self.assertEqual(sum(round(e["dur"] * 1000) for e in kinds["kernel"]), report["kernels"]["total_ns"])
        self.assertEqual({(e["name"], e["args"]["kernel"]) for e in kinds["kernel"]},
                         {(k["short_name"], k["name"]) for k in report["kernels"]["by_name"]})
        launch = self.rows(AT + "/launches?limit=1")
        first = min(kinds["kernel"], key=lambda e: e["ts"])
        self.assertEqual(round(first["ts"] * 1000), launch["data"]["start"][0])
        self.assertEqual((first["tid"], first["args"]["correlation"]), (launch["data"]["stream"][0], launch["data"]["correlation"][0]))
        self.assertEqual(sorted(e["args"]["name"] for e in events if e["ph"] == "M"),
                         ["Copies and fills", "Graph launches", "Graphs", "Kernels", "Marks", "Scopes", "Synchronizations", "Waits"])
        # Scopes of a thread are nested.
        spans = sorted(((e["ts"], -e["dur"]) for e in kinds["scope"]))
        ends = []
        for ts, dur in spans:
            while ends and ends[-1] <= ts + 0.0005:
                ends.pop()
            if ends:
                self.assertLessEqual(ts - dur, ends[-1] + 0.002)
            ends.append(ts - dur)

    def test_sent_again(self):
        for name in sorted(os.listdir(FOLDER)):
            with open(os.path.join(FOLDER, name), "rb") as part:
                answer = self.server.ask("POST", "/api/v1/events/stream", part.read(), Authorization=self.key,
                                         Content_Encoding="gzip", X_GpuFlight_Session_Id=SESSION,
                                         X_GpuFlight_Wire_Version="1", User_Agent="gpufl-client/1.3.0 (deferred-upload)")
            self.assertEqual(answer.status, 200, answer)
            self.assertTrue(answer.json()["repeated"])
        positions = self.rows(AT + "/positions")["channels"]
        for at in positions:
            path = os.path.join(FOLDER, at["channel"] + ".1.log.gz")
            with gzip.open(path) as part:
                self.assertEqual(at["offset"], len(part.read()), at)

    def test_public_client_asks_for_versions(self):
        answer = self.server.ask("GET", "/api/v1/info/version", User_Agent="gpufl/1.3.0")
        self.assertEqual(answer.status, 200)
        self.assertIn("1", answer.json()["supported"])

    # ---- answers -------------------------------------------------------------------------------------

    def test_every_answer_is_as_described(self):
        document = self.get("/api/v1/openapi.json").json()
        with open(os.path.join(SOURCE, "docs", "openapi.json")) as kept:
            self.assertEqual(document, json.load(kept))
        schema = Schema(document)
        values = {"session": SESSION, "name": 1, "level": 0, "from": 0, "to": 10**9, "lanes": "1", "pattern": "a",
                  "device": 0, "threads": "0", "step": 10**7, "by": "app", "path": "nothing", "counter": 1, "a": SESSION, "b": SESSION,
                  "host": self.rows("/api/v1/hosts")["rows"][0]["name"],
                  "gpu": self.rows("/api/v1/gpus")["rows"][0]["uuid"],
                  "alert": self.server.as_user("POST", "/api/v1/alerts", {
                      "name": "cold", "kind": "metric", "subject": "host.cpu", "threshold": 0, "above": False,
                      "url": "https://127.0.0.2.nip.invalid/x"}).json()["id"]}
        written = self.server.as_user("PUT", "/api/v1/configs/described", {"options": "{}", "base": 0})
        self.assertLess(written.status, 300, written)
        values["config"] = "described"
        asked = 0
        for path, methods in document["paths"].items():
            get = methods.get("get")
            if not get or path.endswith(("/live", "/agent/stream", "/auth/open")):
                continue
            target, query = path, []
            for p in get.get("parameters", []):
                value = values.get(p["name"])
                if p["name"] == "metric":
                    value = "gpu_util" if "device" in path else "cpu"
                if p["name"] == "record":
                    value = "kernel"
                if p["name"] in ("from", "to") and p["schema"]["type"] == "string":
                    value = None
                if path in ("/api/v1/usage", "/api/v1/fleet", "/api/v1/rollups", "/api/v1/rollups/days") and p["name"] in ("from", "to"):
                    value = 1
                if p["in"] == "path":
                    target = target.replace("{%s}" % p["name"], str(value))
                elif p.get("required"):
                    self.assertIsNotNone(value, f"{path}: {p['name']}")
                    query.append(f"{p['name']}={value}")
            target += "?" + "&".join(query) if query else ""
            for_agents = path.startswith("/api/v1/agent/")  # they have a key
            answer = self.server.ask("GET", target, Authorization=self.key) if for_agents else self.server.as_user("GET", target)
            self.assertIn(answer.status, (200,), f"{target}: {answer}")
            content = get["responses"]["200"]["content"]
            for media, described in content.items():
                self.assertEqual(answer.fields["Content-Type"].split(";")[0], media.split(";")[0], target)
                if "schema" in described:
                    schema.check(described["schema"], answer.json(), target)
                    asked += 1
        self.assertGreaterEqual(asked, 40)

    def test_tags(self):
        for target in (AT + "/kernels", AT + "/summary", AT + "/report", "/api/v1/sessions", "/"):
            first = self.get(target)
            tag = first.fields["ETag"]
            self.assertTrue(tag, target)
            self.assertEqual(self.get(target, If_None_Match=tag).status, 304, target)
            self.assertEqual(self.get(target, If_None_Match='W/"0"').body, first.body, target)
            packed = self.get(target, Accept_Encoding="gzip")
            if packed.fields["Content-Encoding"] == "gzip":
                self.assertEqual(gzip.decompress(packed.body), first.body, target)

    def test_pages(self):
        answer = self.get("/")
        policy = answer.fields["Content-Security-Policy"]
        self.assertIn("script-src 'self'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(answer.fields["X-Frame-Options"], "DENY")
        for script in re.findall(r'src="(/assets/[^"]+\.js)"', answer.body.decode()):
            # A worker has the policy of its own file.
            policy = self.get(script).fields["Content-Security-Policy"]
            self.assertIn("connect-src 'self'", policy)
            self.assertNotIn("unsafe", policy)
        # An answer that is not a page cannot be framed either, and has no header fields that matter for pages alone.
        data = self.get("/api/v1/info/version").fields
        self.assertIn("frame-ancestors 'none'", data["Content-Security-Policy"])
        self.assertIsNone(data["X-Frame-Options"])
        self.assertEqual(self.get("/api/v2/x").status, 404)
        self.assertEqual(self.get("/passwd.txt").status, 404)
        self.assertEqual(self.get("/assets/none.js").status, 404)
        if b"/assets/" in answer.body:  # a page with a dot in its name is not a file
            self.assertEqual(self.get("/hosts/node.example.org").body, answer.body)

    def test_head_and_options(self):
        get, head = self.get("/api/v1/sessions"), self.server.ask("HEAD", "/api/v1/sessions", Authorization=self.key)
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.fields["Content-Length"], str(len(get.body)))
        options = self.server.ask("OPTIONS", AT)
        self.assertEqual(options.status, 204)
        self.assertEqual(options.fields["Allow"], "GET, HEAD, DELETE, OPTIONS")
        wrong = self.server.ask("PATCH", AT)
        self.assertEqual(wrong.status, 405)
        self.assertEqual(wrong.fields["Allow"], "GET, HEAD, DELETE, OPTIONS")

    # ---- bad input -------------------------------------------------------------------------------------

    def refused(self, answer, status, words=""):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.fields["Content-Type"], "application/problem+json", answer)
        problem = answer.json()
        self.assertEqual(problem["status"], status)
        self.assertIn(words, problem["detail"])
        return problem

    def test_parameters(self):
        for query, parameter in (("limit=0", "limit"), ("limit=99999999", "limit"), ("limit=1e9", "limit"),
                                 ("limit=1;DROP TABLE x", "limit"), ("order=up", "order"), ("x=1", "x"),
                                 ("limit=1&limit=2", "limit"), ("from=now", "from"),
                                 ("pattern=" + "a" * 300, "pattern")):
            answer = self.get(f"{AT}/kernels?{query.replace(' ', '%20')}")
            self.assertEqual(self.refused(answer, 400)["parameter"], parameter)
        self.refused(self.get(AT + "/tiles?level=0&lanes=1&from=0&to=9000000000000000000"), 400, "steps")
        self.refused(self.get(AT + "/tiles?level=0&lanes=1&from=0"), 400, "missing")
        self.refused(self.get(AT + "/device-series?device=0&metric=x&step=1000000"), 400, "gpu_util")
        self.refused(self.get(AT + "/host-series?metric=time&step=1000000"), 400, "known: cpu")
        self.refused(self.get("/api/v1/sessions?after=nonsense"), 400)

    def test_texts_stay_texts(self):
        for text in ("' OR 1=1 --", "\"; DROP TABLE sessions; --", "%", "_", "<script>alert(1)</script>", "\\",
                     "\u202e", "{x}", "$1", "a'b"):
            quoted = "".join("%%%02x" % b for b in text.encode())
            answer = self.get(f"{AT}/kernels?pattern={quoted}")
            self.assertEqual(answer.status, 200, answer)
            kernels = answer.json()
            for symbol, name in zip(kernels["mangled"], kernels["names"]):
                self.assertIn(text.lower(), f"{symbol}\n{name}".lower())
            self.assertEqual(self.get(f"/api/v1/sessions?text={quoted}").status, 200)
            self.assertEqual(self.get(f"/api/v1/sessions?app={quoted}").json()["rows"], [])
            self.assertEqual(self.get(f"{AT}/source?path={quoted}").json()["rows"], 0)
        self.assertEqual(self.get("/api/v1/session-count").json()["count"], 1)

    def test_names_as_people_read_them(self):
        names = self.get(f"{AT}/kernels?limit=100").json()
        name, symbol = next((n, s) for n, s in zip(names["names"], names["mangled"]) if "::" in n and "::" not in s)
        part = name[name.index("::") - 1:name.index("::") + 5]
        for route in ("kernels?limit=100&pattern=", "search?limit=100&pattern="):
            answer = self.get(f"{AT}/{route}{urllib.parse.quote(part)}").json()
            self.assertGreater(answer["rows"], 0, route)
            for found in answer["names"]:
                self.assertIn(part.lower(), found.lower())
        self.assertIn(symbol, self.get(f"{AT}/kernels?limit=100&pattern={urllib.parse.quote(part)}").json()["mangled"])

    def test_paths(self):
        for target in ("/api/v1/sessions/../keys", "/api/v1/sessions/%2e%2e/keys", "//", "/%00", "/api/v1/%ff",
                       "/api//v1", "/api/v1/sessions/a%2fb", "/api/v1/sessions/" + "a" * 65):
            self.refused(self.get(target), 400)
        self.refused(self.get("/" + "a" * 9000), 414)
        self.refused(self.get("/healthz", X_Long="a" * 20000), 431)

    def test_bodies(self):
        login = "/api/v1/auth/login"
        self.refused(self.server.ask("POST", login, b"{}", Content_Type="text/plain"), 415)
        self.refused(self.server.ask("POST", login, b"{", Content_Type="application/json"), 400)
        self.refused(self.server.ask("POST", login, {"email": 1, "password": "x"}), 400)
        self.refused(self.server.ask("POST", login, {"email": "a", "password": "x", "admin": True}), 400, "admin")
        self.refused(self.server.ask("POST", login, {"email": "a"}), 400, "missing")
        self.refused(self.server.ask("POST", login, b"x" * 2000000, Content_Type="application/json"), 413)
        self.refused(self.server.ask("POST", "/api/v1/events/stream", b"{}", Authorization=self.key,
                                     Content_Encoding="br"), 415)
        self.refused(self.server.ask("POST", "/api/v1/events/stream", b"no json\n", Authorization=self.key,
                                     X_GpuFlight_Session_Id="bad-body"), 400)
        self.refused(self.server.ask("POST", "/api/v1/events/stream", b"\x1f\x8bbroken", Authorization=self.key,
                                     Content_Encoding="gzip", X_GpuFlight_Session_Id="bad-gzip"), 400)
        bomb = gzip.compress(b" " * 200_000_000, 9)
        answer = self.server.ask("POST", "/api/v1/events/stream", bomb, Authorization=self.key,
                                 Content_Encoding="gzip", X_GpuFlight_Session_Id="bomb")
        self.assertIn(answer.status, (400, 413), answer)
        self.assertEqual(self.get("/readyz").status, 200)

    # ---- who may ---------------------------------------------------------------------------------------

    def test_nobody_gets_nothing(self):
        document = self.get("/api/v1/openapi.json").json()
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if operation["x-rights"] == "PUBLIC":
                    continue
                target = re.sub(r"\{\w+\}", SESSION, path)
                needed = [p for p in operation.get("parameters", []) if p.get("required") and p["in"] == "query"]
                target += "?" + "&".join(p["name"] + "=" + {"by": "app", "metric": "x", "record": "kernel",
                                                            "lanes": "1", "pattern": "a", "path": "a"}
                                         .get(p["name"], "1") for p in needed)
                fields = {"X_GpuFlight_Session_Id": SESSION} if path.startswith("/api/v1/events/") else {}
                target = target.replace(f"kernels/{SESSION}", "kernels/1")
                for secret in ({}, {"Authorization": "Bearer gpfl_" + "A" * 32}, {"Cookie": "gpufl_login=x"},
                               {"Authorization": "Basic YTpi"}):
                    answer = self.server.ask(method.upper(), target.rstrip("?"), **secret, **fields)
                    self.assertEqual(answer.status, 401, f"{method} {target} {answer}")

    def test_other_tenants_see_nothing(self):
        """A key and an owner of another workspace get nothing from any route with the session's id."""
        made = self.server.as_user("POST", "/api/v1/workspaces", {"name": "Others"})
        self.assertEqual(made.status, 200, made)
        other = made.json()["id"]
        key = self.server.make_key("ingest,read,admin", workspace=other)
        document = self.get("/api/v1/openapi.json").json()
        tried = 0
        for path, methods in document["paths"].items():
            if "{session}" not in path:
                continue
            for method, operation in methods.items():
                target = path.replace("{session}", SESSION).replace("{name}", "1").replace("{label}", "a").replace("{bookmark}", "1")
                needed = [p for p in operation.get("parameters", []) if p.get("required") and p["in"] == "query"]
                known = {"metric": "gpu_util", "record": "kernel", "pattern": "a", "path": "a", "level": "0"}
                target += "?" + "&".join(p["name"] + "=" + known.get(p["name"], "1") for p in needed)
                body = {"shares": {"expires": "9000000000000000000"}, "{label}": {"value": "x"},
                        "bookmarks": {"start": 1, "note": "x"}, "{bookmark}": {"note": "x"}}.get(
                    path.rsplit("/", 1)[1]) if method in ("post", "put") else None
                answer = self.server.ask(method.upper(), target.rstrip("?"), body, Authorization=key)
                tried += 1
                if path.endswith("/positions"):
                    self.assertEqual(answer.json()["channels"], [], answer)
                else:
                    self.assertEqual(answer.status, 404, f"{method} {target} {answer}")
                self.assertNotIn(b"train_loop", answer.body)
        self.assertGreater(tried, 25)
        for target in ("/api/v1/sessions", "/api/v1/findings", "/api/v1/hosts", "/api/v1/gpus", "/api/v1/keys",
                       "/api/v1/kernels/history", "/api/v1/session-names?by=app", "/api/v1/shares"):
            answer = self.server.ask("GET", target, Authorization=key)
            self.assertEqual(answer.status, 200, answer)
            self.assertNotIn(SESSION.encode(), answer.body)
            self.assertNotIn(b"train_loop", answer.body)
        for target in ("/api/v1/sessions?workspace=" + other, "/api/v1/members?workspace=" + other):
            self.assertNotEqual(self.get(target).status, 200, target)  # this key belongs to the first workspace
        self.assertEqual(self.get(AT).status, 200)  # the session is still there

    def test_scopes(self):
        ingest, read = self.server.make_key("ingest"), self.server.make_key("read")
        self.assertEqual(self.server.ask("GET", AT, Authorization=ingest).status, 403)
        self.assertEqual(self.server.ask("GET", AT, Authorization=read).status, 200)
        self.assertEqual(self.server.ask("POST", "/api/v1/events/stream", b"{}\n", Authorization=read).status, 403)
        self.assertEqual(self.server.ask("DELETE", AT, Authorization=read).status, 403)
        self.assertEqual(self.server.ask("GET", "/api/v1/keys", Authorization=read).status, 403)
        self.assertEqual(self.server.ask("GET", "/api/v1/users", Authorization=self.server.make_key("admin")).status, 403)

    def test_shares(self):
        made = self.server.as_user("POST", AT + "/shares", {"expires": "9000000000000000000"})
        self.assertEqual(made.status, 200, made)
        link = "Bearer " + made.json()["token"]
        self.assertEqual(self.server.ask("GET", AT + "/summary", Authorization=link).status, 200)
        self.assertEqual(self.server.ask("GET", AT + "/kernels", Authorization=link).status, 200)
        self.assertEqual(self.server.ask("DELETE", AT, Authorization=link).status, 403)
        self.assertEqual(self.server.ask("GET", "/api/v1/sessions", Authorization=link).status, 403)
        self.assertEqual(self.server.ask("GET", "/api/v1/sessions/other", Authorization=link).status, 404)
        self.assertEqual(self.server.as_user("DELETE", "/api/v1/shares/" + made.json()["id"]).status, 204)
        self.assertEqual(self.server.ask("GET", AT + "/summary", Authorization=link).status, 401)

    def test_share_of_what_was_just_sent(self):
        """What is acknowledged can be shared, whether it is in the list yet or not."""
        for i in range(10):
            session = f"just-sent-{i}"
            header = json.dumps({"type": "header", "format": 1, "session": session, "channel": "device", "part": 1,
                                 "offset": 0, "app": "a", "pid": 1, "host": "h", "start": 1, "clock_monotonic": 1,
                                 "clock_real": 1735689600000000000}).encode() + b"\n"
            sent = self.server.ask("POST", "/api/v1/events/stream", header, Authorization=self.key)
            self.assertEqual((sent.status, sent.json()["accepted"]), (200, 1), sent)
            made = self.server.as_user("POST", f"/api/v1/sessions/{session}/shares", {"expires": "9000000000000000000"})
            self.assertEqual(made.status, 200, made)
            link = "Bearer " + made.json()["token"]
            self.assertEqual(self.server.ask("GET", f"/api/v1/sessions/{session}", Authorization=link).status, 200)
            self.assertEqual(self.server.as_user("DELETE", f"/api/v1/sessions/{session}").status, 204)
        none = self.server.as_user("POST", "/api/v1/sessions/never-sent/shares", {"expires": "9000000000000000000"})
        self.assertEqual(none.status, 404, none)

    def test_described_cookie_is_the_real_one(self):
        scheme = self.get("/api/v1/openapi.json").json()["components"]["securitySchemes"]["login"]
        self.assertEqual((scheme["in"], scheme["name"]), ("cookie", self.server.cookie.split("=")[0]))

    def test_cookies_need_the_pages_token(self):
        without = self.server.ask("POST", "/api/v1/keys", {"name": "x", "scopes": "read"}, Cookie=self.server.cookie)
        self.refused(without, 403, "CSRF")
        elsewhere = self.server.as_user("POST", "/api/v1/keys", {"name": "x", "scopes": "read"},
                                        Origin="http://evil.example")
        self.refused(elsewhere, 403, "origin")
        self.assertEqual(self.server.as_user("GET", "/api/v1/keys").status, 200)
        for word in ("HttpOnly", "SameSite"):
            login = self.server.ask("POST", "/api/v1/auth/login",
                                    {"email": "ada@example.org", "password": "correct horse battery"})
            self.assertIn(word, login.fields["Set-Cookie"])

    def test_metrics(self):
        text = self.get("/metrics").body.decode()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|[a-z_]+(\{[^}]*\})? -?[0-9.e+]+)$')
        found = re.search(r'^gpufl_loader_kernels_total (\d+)$', text, re.M)
        self.assertGreaterEqual(int(found.group(1)), 10000)
        self.assertIn('gpufl_http_requests_total{route="events_stream",status="2xx"}', text)

    def test_log_has_no_secrets(self):
        self.server.ask("GET", "/api/v1/auth/open?token=verysecret")
        self.server.ask("POST", "/api/v1/auth/login", {"email": "a@b.c", "password": "verysecret"})
        log = self.server.errors()
        for secret in ("verysecret", self.key[7:], self.server.cookie.split("=")[1], self.server.token):
            self.assertNotIn(secret, log)
        requests = [line for line in self.server.lines() if line["event"] == "request"]
        self.assertTrue(all({"id", "method", "path", "status", "ms"} <= set(line) for line in requests))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
