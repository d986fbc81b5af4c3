"""Tests what users read when a store fails: our sentences, never the engine's words or paths of the server.

Every question about a session is asked, with every fault below, of a session with a file of its own and of one in a
shared file; so are exports, a comparison, SQL, a body that is sent to the session, and its deletion.

Usage: test_server_words.py gpufl-server gpufl SOURCE_DIR"""
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from patience import PATIENCE, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
LARGE = os.path.basename(FOLDER)
FORBIDDEN = re.compile(rb"duck|clickhouse|sqlite|\.pack|/columns|checksum|Exception|INTERNAL|block pointer|"
                       rb"(IO|Catalog|Binder|Parser|Serialization|Out of Memory|Invalid Input|Fatal|Transaction\w*|Not implemented) Error", re.I)
VALUES = {"name": 1, "level": 0, "from": 0, "to": 10**9, "lanes": "1", "pattern": "a", "device": 0, "threads": "0", "step": 10**7,
          "path": "nothing", "counter": 1, "metric": "gpu_util", "record": "kernel"}


def overwritten(path):
    with open(path, "r+b") as file:
        file.write(b"\0" * 8192)


def in_the_middle(path):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        for at in range(size // 8, size, 4096):
            file.seek(at)
            file.write(b"\xa5" * min(64, size - at))


def cut(path):
    os.truncate(path, os.path.getsize(path) // 2)


def a_folder(path):
    os.unlink(path)
    os.mkdir(path)


# The rows say what happens to the files of columns, and whether questions about the sessions must fail then.
FAULTS = {"overwritten": (overwritten, True), "in_the_middle": (in_the_middle, True), "cut": (cut, True), "a_folder": (a_folder, True),
          "lost": (os.unlink, True), "little_memory": (None, False)}


class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpufl-words-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.whole = os.path.join(cls.folder, "whole")
        with Server(PROGRAM, data=cls.whole) as server:
            server.set_up()
            cls.key = server.make_key("ingest,read,admin")
            server.load(cls.key, FOLDER)
            done = subprocess.run([GPUFL, "sim", "--kernels", "300", "--rate", "max", "--output", cls.folder], capture_output=True, text=True, check=True,
                                  timeout=PATIENCE)
            cls.small = server.load(cls.key, json.loads(done.stdout)["directory"])
            cls.described = server.ask("GET", "/api/v1/openapi.json").json()["paths"]
            until(lambda: server.ask("GET", f"/api/v1/sessions/{cls.small}/report", Authorization=cls.key).status == 200, "no report")
            assert server.stop() == 0

    def targets(self, session):
        for path, methods in self.described.items():
            if "{session}" not in path or "get" not in methods or "{bookmark}" in path:
                continue
            query = {}
            for p in methods["get"].get("parameters", []):
                if p["in"] == "path" and p["name"] != "session":
                    path = path.replace("{%s}" % p["name"], str(VALUES[p["name"]]))
                elif p.get("required") and p["in"] == "query":
                    query[p["name"]] = VALUES[p["name"]]
            yield path.replace("{session}", session) + ("?" + urllib.parse.urlencode(query) if query else "")

    def requests(self):
        sessions = (LARGE, self.small)
        for session in sessions:
            for target in self.targets(session):
                yield "GET", target, None, {}
        yield "GET", f"/api/v1/compare?a={LARGE}&b={self.small}", None, {}
        for session in sessions:
            yield "POST", "/api/v1/sql", {"sql": "SELECT count(*) FROM kernel", "sessions": session}, {}
            line = b'{"type":"kernel","rows":1,"start":[1],"duration":[1],"correlation":[1]}\n'
            yield "POST", "/api/v1/events/stream", line, {"X_GpuFlight_Session_Id": session, "X_GpuFlight_Channel": "device", "X_GpuFlight_Offset": "1"}
            yield "DELETE", f"/api/v1/sessions/{session}", None, {}

    def check(self, name):
        fault, fails = FAULTS[name]
        data = os.path.join(self.folder, name)
        shutil.copytree(self.whole, data)
        files = [os.path.join(at, f) for at, _, found in os.walk(os.path.join(data, "columns")) for f in found if f.endswith((".duckdb", ".pack"))]
        self.assertEqual({os.path.splitext(f)[1] for f in files}, {".duckdb", ".pack"})
        for path in files if fault else ():
            fault(path)
        asked = failed = 0
        with Server(PROGRAM, *(() if fault else ("--memory", "8M")), data=data) as server:
            for method, target, body, fields in self.requests():
                try:
                    answer = server.ask(method, target, body, Authorization=self.key, **fields)
                except http.client.HTTPException:  # an export that fails on the way is cut off: it cannot be taken for a whole one
                    failed += 1
                    continue
                asked += 1
                failed += answer.status >= 400
                if answer.status < 400:
                    continue
                self.assertEqual(answer.fields["Content-Type"], "application/problem+json", f"{method} {target}")
                said = {key: value for key, value in answer.json().items() if key not in ("title", "request", "session")}
                found = FORBIDDEN.search(json.dumps(said).encode()) or data in json.dumps(said)
                self.assertFalse(found, f"{name}: {method} {target}: {answer}")
                self.assertGreater(len(said["detail"]), 10, f"{method} {target}: {answer}")
        self.assertGreater(asked, 100)
        if fails:
            self.assertGreater(failed, 50, f"{failed} of {asked}")
        print(f"{name}: {failed} of {asked} answers are failures", flush=True)

    def test_a_link_is_described(self):
        """The API and the page say to the maker of a link that the link opens the source files, and it does."""
        words = "the text of (the )?source files that were kept with it"
        self.assertRegex(self.described["/api/v1/sessions/{session}/shares"]["post"]["summary"], words)
        with open(os.path.join(SOURCE, "web", "src", "text", "sessions.ts")) as file:
            self.assertRegex(re.search(r"shareText: \"(.*)\"", file.read()).group(1), words)
        with Server(PROGRAM, data=self.whole) as server:
            made = server.ask("POST", f"/api/v1/sessions/{LARGE}/shares", {"expires": "9000000000000000000"}, Authorization=self.key)
            self.assertEqual(made.status, 200, made)
            link = "Bearer " + made.json()["token"]
            files = server.ask("GET", f"/api/v1/sessions/{LARGE}/sources", Authorization=link)
            self.assertEqual(files.status, 200, files)
            self.assertGreater(files.json()["rows"], 0, files)
            path = urllib.parse.quote(files.json()["data"]["path"][0], safe="")
            text = server.ask("GET", f"/api/v1/sessions/{LARGE}/source?path={path}", Authorization=link)
            self.assertEqual(text.status, 200, text)
            self.assertGreater(text.json()["rows"], 0)

    def test_faults(self):
        for name in FAULTS:
            with self.subTest(name):
                self.check(name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
