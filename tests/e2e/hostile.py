#!/usr/bin/env python3
"""Bad input over HTTP: a clear 4xx, nothing lost, bounded memory, and the server goes on.

    hostile.py GPUFL GPUFL_SERVER
"""
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import zlib

import live_server
from live_server import bearer, key, simulate, upload

GPUFL, SERVER = (str(pathlib.Path(p).absolute()) for p in sys.argv[1:3])
MIB = 1 << 20
# The server's memory may grow by this at most, whatever is sent; AddressSanitizer alone holds back 256 MiB.
GROWTH_MAX = (768 if os.environ.get("GPUFL_SANITIZE") else 192) * MIB
STREAM = "/api/v1/events/stream"
NASTY = ["'; DROP TABLE sessions; --", "' OR '1'='1", "\" OR 1=1 --", "%' ESCAPE '", "$$;SELECT 1;$$", "{kernel}",
         "$from", "[x? y]", "../../../etc/passwd", "..\\..\\windows", "<script>alert(1)</script>", "%00", "%s%n%n",
         "\u202e\u0000"[:1] + "x", "a" * 4096, "\U0001f4a5", "\\", "*", "?", "//", "-1", "1e999", "NaN", "null",
         "ATTACH 'x' AS y", "read_csv('/etc/passwd')", "; COPY (SELECT 1) TO '/dev/stderr'"]
NUMBERS = ["-1", "0", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "1e9", "0x10", "1.5", " 1",
           "+1", "", "999999999999999999999999"]


def header(session, channel="device", **more):
    return {"type": "header", "format": 1, "session": session, "channel": channel, "part": 1, "offset": 0, "app": "h",
            "pid": 1, "host": "h", "start": 1000, "clock_monotonic": 1000, "clock_real": 1735689600000000000, **more}


def zstd(raw, byte=b"", times=0):
    """A frame with raw as it is, and then so many blocks that stand for 128 KiB of one byte each."""
    blocks = [(len(raw) << 3).to_bytes(3, "little") + raw]  # raw: at most 128 KiB
    blocks += [(1 << 1 | (128 << 10) << 3).to_bytes(3, "little") + byte] * times
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(17 - 10) << 3]) + b"".join(blocks) + b"\x01\x00\x00"


def lines(*rows):
    return b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in rows)


def is_open(link):
    """True if the server has not closed the connection."""
    link.setblocking(False)
    try:
        return bool(link.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-hostile-"))
        cls.server = live_server.Server(SERVER, cls.dir / "server", "--max-connections-per-address", "64")
        cls.owner = live_server.set_up(cls.server)
        cls.admin = bearer(key(cls.server, cls.owner, "admin"))
        cls.sender = key(cls.server, cls.owner, "ingest")
        cls.kept = simulate(GPUFL, cls.dir / "logs", 500, "kept")
        upload(GPUFL, cls.server, cls.sender, cls.kept)
        cls.server.until(lambda: cls.ask("GET", f"/api/v1/sessions/{cls.kept.name}/report").status == 200)
        cls.count = 0
        cls.before = cls.facts()
        cls.memory = cls.server.memory()

    @classmethod
    def tearDownClass(cls):
        cls.server.end(cls.dir)

    @classmethod
    def ask(cls, method, target, body=None, headers=None, **more):
        return cls.server.ask(method, target, body, {**cls.admin, **(headers or {})}, **more)

    @classmethod
    def facts(cls):
        path = f"/api/v1/sessions/{cls.kept.name}"
        facts = [cls.ask("GET", p).json() for p in (path, path + "/report", path + "/counts", path + "/positions")]
        for settles in ("analyzed", "bytes", "busy", "received"):  # the row of the list is filled in after the report
            facts[0].pop(settles)
        facts[1].pop("made", None)
        return facts

    def setUp(self):
        Hostile.count += 1
        self.id = f"hostile-{self.count}"

    def tearDown(self):
        """After each test the server is alive and no larger, and its data are as before."""
        self.assertEqual(self.facts(), self.before)
        self.assertLess(self.server.memory(), self.memory + GROWTH_MAX)

    def send(self, body, encoding=None, session=None, **headers):
        fields = {"X-GpuFlight-Session-Id": session or self.id, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if encoding:
            fields["Content-Encoding"] = encoding
        return self.ask("POST", STREAM, body, fields)

    def problem(self, answer, *statuses):
        self.assertIn(answer.status, statuses or range(400, 500), answer)
        if answer.status >= 400:
            self.assertEqual(answer.headers["Content-Type"], "application/problem+json", answer)
            self.assertEqual(answer.json()["status"], answer.status)
            self.assertTrue(answer.json()["detail"])

    def raw(self, data, wait=True):
        """Sends bytes as they are: what comes back until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=live_server.DEADLINE_S) as link:
            try:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server closed before all was sent
            got = b""
            try:
                while wait and (piece := link.recv(65536)):
                    got += piece
            except ConnectionResetError:
                pass
            return got

    def statuses(self, got):
        return [int(piece[1:4]) for piece in got.split(b"HTTP/1.1")[1:]] if got else []

    # ---- what is sent as sessions --------------------------------------------------------------

    def test_lines_that_are_none(self):
        """Each line that is not valid is left out with its reason; the valid lines around it are kept."""
        good = {"type": "clock", "rows": 1, "monotonic": 1000, "real": 1, "uncertainty": 0}
        bad = [b"not json\n", b"{\n", b'{"type":"kernel","rows":1\n', b'{"type":"kernel","rows":"many"}\n',
               b'{"type":"kernel","rows":-1}\n', b'{"type":"kernel","rows":99999999999,"start":[1]}\n',
               b'{"type":"kernel","rows":2,"start":[1]}\n', b'{"type":"kernel","rows":1,"start":["x"]}\n',
               b'{"type":"kernel","rows":1,"start":{"a":1}}\n', b"\x00\x01\x02\xff\n", b"[" * 5000 + b"\n",
               b'{"type":"kernel","rows":1,"start":[1e400]}\n', b'"text"\n', b"null\n"]
        for row in bad:
            answer = self.send(lines(header(self.id + "-" + str(bad.index(row)), "system"), good, row, good),
                               session=self.id + "-" + str(bad.index(row)))
            with self.subTest(row=row[:40]):
                self.assertEqual(answer.status, 200, answer)
                said = answer.json()
                self.assertEqual((said["accepted"] + said["rejected"]), 4, said)
                self.assertGreaterEqual(said["accepted"], 3, said)
                if said["rejected"]:
                    self.assertEqual(said["errors"][0]["line"], 3)

    def test_columns_in_another_order_and_missing(self):
        kernel = next(json.loads(x) for x in (self.kept / "device.log").read_text().splitlines()
                      if '"type":"kernel"' in x)
        turned = dict(reversed(list(kernel.items())))
        fewer = {k: v for k, v in kernel.items() if k not in ("stream", "grid_x", "registers")}
        answer = self.send(lines(header(self.id), turned, fewer, {**kernel, "a_new_column": [1] * kernel["rows"]}))
        self.assertEqual((answer.status, answer.json()["rejected"]), (200, 0), answer)
        self.server.until(lambda: self.rows_of(self.id, "kernel") == 3 * kernel["rows"], "all three lines")

    def rows_of(self, session, record):
        """Rows of a record that are there; 0: not yet."""
        answer = self.ask("GET", f"/api/v1/sessions/{session}/counts")
        data = answer.json()["data"] if answer.status == 200 else {"record": [], "rows": []}
        return dict(zip(data["record"], map(int, data["rows"]))).get(record, 0)

    def test_nothing_sound_in_it(self):
        for nothing in (b"", b"\n\n\n"):
            answer = self.send(nothing)
            self.problem(answer, 200, 400)
            self.assertEqual(answer.json().get("accepted", 0), 0)
        self.problem(self.send(b"garbage\ngarbage\n"))
        self.problem(self.send(b"\x1f\x8b\x08garbage", "gzip"))
        self.problem(self.send(b"(\xb5/\xfdgarbage", "zstd"))
        self.problem(self.send(gzip.compress(lines(header(self.id)))[:-6], "gzip"), 200, 400)
        self.problem(self.send(b"x", "br"), 415)

    def test_a_long_line_is_not_held(self):
        """A line of 100 MB is left out while it arrives; packed, it is left out or refused."""
        body = lines(header(self.id)) + b'{"type":"kernel","x":"' + b"x" * (100 * MIB) + b'"}\n' + lines(
            {"type": "clock", "rows": 1, "monotonic": 1000, "real": 1, "uncertainty": 0})
        answer = self.send(body)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual((answer.json()["accepted"], answer.json()["rejected"]), (2, 1), answer)
        self.assertEqual(answer.json()["errors"][0]["line"], 2)
        body = body.replace(self.id.encode(), self.id.encode() + b"-packed", 1)
        self.problem(self.send(gzip.compress(body, 1), "gzip", session=self.id + "-packed"), 200, 413)

    def test_bombs(self):
        blank = b'{"type":"clock","rows":1,"monotonic":1000,"real":1,"uncertainty":0}\n' + b" " * (1 << 16) + b"\n"
        packed = zlib.compressobj(9, zlib.DEFLATED, 31)
        flat = packed.compress(blank) + b"".join(packed.compress(b"\n" * MIB) for _ in range(512)) + packed.flush()
        member = gzip.compress(b"\n" * (8 * MIB), 9)
        bombs = {"one member": ("gzip", flat), "many members": ("gzip", gzip.compress(blank) + member * 64),
                 "repeated bytes": ("zstd", zstd(blank, b"\n", 8192)), "blanks": ("zstd", zstd(blank, b" ", 8192)),
                 "a line": ("gzip", gzip.compress(blank[:-1] + b"x" * (256 * MIB), 6))}
        for i, (name, (encoding, bomb)) in enumerate(bombs.items()):
            with self.subTest(bomb=name, size=len(bomb)):
                self.assertLess(len(bomb), 2 * MIB)
                self.problem(self.send(bomb, encoding, session=f"{self.id}-{i}"), 413)

    def test_windows_larger_than_memory(self):
        """A frame that claims to need more memory for its window than the server has is refused."""
        body = lines(header(self.id))
        self.assertEqual(self.send(zstd(body), "zstd").status, 200)  # so each frame below is sound except for one byte
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for log in (27, 30, 31, 41):
                frame = bytearray(zstd(body, b"\n", 4096))
                frame[5] = (log - 10) << 3
                sent = pool.map(lambda i, f=bytes(frame), n=log: self.send(f, "zstd", session=f"{self.id}-{n}-{i}"),
                                range(16))
                for answer in sent:
                    self.problem(answer, 400, 413, 429, 503)

    def test_names_and_clocks_out_of_this_world(self):
        names = ["<img src=x onerror=alert(1)>", "a\u0000b", "\"'`;--", "n" * 4096, "\ud83d\udca5 \u202e", "\x1b[31m"]
        for i, name in enumerate(names):
            session = f"{self.id}-{i}"
            answer = self.send(lines(
                header(session, "system", app=name, host=name, start=1 << 62, clock_real=9 * 10**18),
                {"type": "names", "rows": 1, "id": [7], "text": [name]},
                {"type": "clock", "rows": 1, "monotonic": (1 << 63) - 1, "real": (1 << 63) - 1, "uncertainty": 0},
                {"type": "kernel", "rows": 1, "name": [7], "start": [(1 << 63) - 1], "duration": [(1 << 63) - 1]}),
                session=session)
            with self.subTest(name=name[:20]):
                self.problem(answer, 200, 400)
                if answer.status == 200:
                    row = self.server.until(lambda s=session: self.seen(s), session)
                    self.assertLessEqual(len(row["app"].encode()), 4096)
        self.problem(self.ask("GET", "/api/v1/sessions"), 200)

    def test_texts_with_statements_in_them(self):
        """Every text of a session comes back as it was sent, whatever a database could make of it."""
        texts = [t for t in NASTY if len(t) < 200] + ["\u4e2d\u6587", "a\tb", "a\\nb", "{}", "[]", "0", "%"]
        name = {t: 10 + i for i, t in enumerate(texts)}
        for i, text in enumerate(texts):
            session, n = f"{self.id}-{i}", len(texts)
            answer = self.send(lines(
                header(session, app=text, host=text, run=text, command=text, engine=text, version=text, system=text),
                {"type": "names", "rows": n, "id": list(name.values()), "text": texts},
                {"type": "config", "rows": n, "id": list(name.values()), "name": list(name.values()), "device": 1},
                {"type": "kernel", "rows": n, "config": list(name.values()), "start": [1000] * n, "duration": [5] * n,
                 "correlation": [1] * n, "device": 1},
                {"type": "scope", "rows": n, "name": list(name.values()), "start": [1000] * n, "duration": [5] * n,
                 "instance": [1] * n}), session=session)
            self.assertEqual((answer.status, answer.json()["rejected"]), (200, 0), answer)
            if i % 8:
                continue
            self.server.until(lambda s=session: self.rows_of(s, "kernel") == n, session)
            row = self.server.until(lambda s=session: self.seen(s), session)
            self.assertEqual(row["app"], text.replace("\t", " "))
            for word in texts:
                found = self.ask("GET", f"/api/v1/sessions/{session}/kernels?pattern=" +
                                 urllib.parse.quote(word, safe=""))
                self.problem(found, 400 if "\t" in word else 200)  # no control characters in addresses
            kernels = self.ask("GET", f"/api/v1/sessions/{session}/kernels?limit=1000").json()
            self.assertEqual(kernels["rows"], n)
            self.assertEqual(sorted(kernels["mangled"][i] for i in kernels["data"]["name"]), sorted(texts))
            for part in ("report", "scopes", "insights", "flame"):
                self.problem(self.ask("GET", f"/api/v1/sessions/{session}/{part}"), 200, 404)
            for record in ("kernel", "scope"):
                self.problem(self.ask("GET", f"/api/v1/sessions/{session}/export/{record}.parquet"), 200, 404)

    def test_hosts_with_names_too_long(self):
        for i, (size, status) in enumerate(((255, 200), (256, 400), (4096, 400), (1 << 20, 400))):
            for again in range(2):  # both answers say the same
                answer = self.send(lines(header(f"{self.id}-{i}", "system", host="h" * size),
                                         {"type": "clock", "rows": 1, "monotonic": 1000 + again, "real": 1, "uncertainty": 0}),
                                   session=f"{self.id}-{i}")
                self.problem(answer, status)
                if status == 400:
                    self.assertIn("'host'", answer.json()["detail"])

    def test_ids_that_collide(self):
        """Two programs, two workspaces and two bodies have one id or one offset: none gets the other's data."""
        first = lines(header(self.id, "system"), {"type": "clock", "rows": 1, "monotonic": 1000, "real": 1,
                                                  "uncertainty": 0})
        self.assertEqual(self.send(first, X_GpuFlight_Channel="system", X_GpuFlight_Offset="0").status, 200)
        for change in ({"pid": 2}, {"host": "another"}):
            self.problem(self.send(lines({**header(self.id, "scope"), **change})), 409)
        again = self.send(first, X_GpuFlight_Channel="system", X_GpuFlight_Offset="0")
        self.assertEqual((again.status, again.json()["repeated"]), (200, True), again)
        longer = first[:-2] + b" " * 50 + b"}\n"  # another text over the same bytes
        self.problem(self.send(longer, X_GpuFlight_Channel="system", X_GpuFlight_Offset="0"), 409)
        self.problem(self.send(first, X_GpuFlight_Channel="system", X_GpuFlight_Offset="100000"), 409)
        made = self.server.ask("POST", "/api/v1/workspaces", {"name": "other"}, self.owner)
        self.assertEqual(made.status, 200, made)
        other = bearer(key(self.server, self.owner, "ingest,read", "?workspace=" + made.json()["id"]))
        mine = self.server.ask("POST", STREAM, lines(header(self.id, "system", pid=9, app="other")), other)
        self.assertEqual(mine.status, 200, mine)
        target = f"/api/v1/sessions/{self.id}"
        self.server.until(lambda: self.server.ask("GET", target, None, other).status == 200)
        self.assertEqual(self.server.ask("GET", target, None, other).json()["app"], "other")
        self.server.until(lambda: self.seen(self.id))
        self.assertEqual(self.seen(self.id)["app"], "h")

    def seen(self, session):
        answer = self.ask("GET", f"/api/v1/sessions/{session}")
        return answer.json() if answer.status == 200 else None

    def test_ids_of_sessions(self):
        for bad in ("../../x", "a/b", "a b", "é", "a%2fb", ".", "..", "'"):
            with self.subTest(id=bad):
                self.problem(self.send(lines(header(self.id)), session=bad.encode().decode("latin-1")))
                self.problem(self.send(lines(header(bad)), session=self.id))
                answer = self.ask("POST", STREAM, lines(header(bad)))
                self.problem(answer)
        for bad in ("../../x", "a/b", "x" * 24, "\u00e9".encode().decode("latin-1")):
            with self.subTest(channel=bad):
                self.problem(self.send(lines(header(self.id, bad)), X_GpuFlight_Channel=bad))
        for bad in ("-1", "x", "1e3", "9223372036854775808"):
            self.problem(self.send(lines(header(self.id)), X_GpuFlight_Channel="device", X_GpuFlight_Offset=bad), 400)
        self.assertEqual(list(self.dir.glob("x*")) + list((self.dir / "server").glob("x*")), [])

    # ---- what is asked -------------------------------------------------------------------------

    def test_every_parameter_of_every_question(self):
        document = json.loads(subprocess.run([SERVER, "openapi"], check=True, capture_output=True).stdout)
        sane = {"level": "0", "lanes": "0", "from": "0", "to": "1000000000", "device": "0", "step": "1000000000",
                "metric": "gpu_util", "pattern": "a", "by": "host", "path": "x", "record": "kernel", "token": "x", "a": self.kept.name,
                "b": self.kept.name}
        asked = []
        for path, methods in document["paths"].items():
            about = methods.get("get")
            if not about or about["operationId"] in ("live", "agent_stream"):
                continue
            places = [p for p in about.get("parameters", []) if p["in"] != "header"]
            inside = {"session": self.kept.name, "name": "1"}
            needed = {p["name"]: sane.get(p["name"], "x") for p in places if p.get("required") and p["in"] == "query"}
            for p in places:
                for value in NASTY + (NUMBERS if p["in"] == "query" else []):
                    query, segments = dict(needed), dict(inside)
                    (segments if p["in"] == "path" else query)[p["name"]] = value
                    target = path
                    for name, text in segments.items():
                        target = target.replace("{" + name + "}", urllib.parse.quote(text, safe=""))
                    asked.append(target + ("?" + urllib.parse.urlencode(query) if query else ""))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for target, answer in zip(asked, pool.map(lambda t: self.ask("GET", t), asked)):
                with self.subTest(target=target[:200]):
                    self.assertLess(answer.status, 500, answer)
                    self.assertNotIn(b"root:x:0", answer.body)
                    if answer.status >= 400:
                        self.problem(answer)
        self.assertGreater(len(asked), 1000)

    def test_paths(self):
        for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/..%2fetc%2fpasswd", "/assets/../../../etc/passwd",
                     "//etc/passwd", "/%00", "/api/v1/sessions/%00", "/api/v1/sessions/..%2f..", "/" + "a" * 7000,
                     "/api/v1/sessions/%zz", "/%", "/api//v1//sessions", "/api/v1/sessions/%2e%2e/report", "/\x7f"):
            with self.subTest(path=path[:50]):
                got = self.raw(f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode("latin-1"))
                self.assertNotIn(b"root:x:0", got)
                for status in self.statuses(got):
                    self.assertTrue(status < 500, got[:300])
        self.problem(self.ask("GET", "/api/v1/sessions?limit=1&limit=2"), 400)
        self.problem(self.ask("GET", "/api/v1/sessions?after=" + "A" * 1000), 400)

    def test_json_bodies(self):
        for body in (b"", b"{", b"[]", b"null", b"1", b'"x"', b'{"name":1,"scopes":"read"}', b'{"name":{},"scopes":[]}',
                     b'{"name":"a","name":"b","scopes":"read"}', b'{"name":"a\\u0000b","scopes":"read"}',
                     b'{"name":"a","scopes":"everything"}', b'{"name":"a","scopes":"read","extra":1}',
                     b'{"name":"a","scopes":"read","expires":"-1"}', b'{"name":"a","scopes":"read","expires":1e400}',
                     b"\xff\xfe", b"[" * 100000, b'{"name":"' + b"n" * 5000 + b'","scopes":"read"}'):
            with self.subTest(body=body[:40]):
                self.problem(self.ask("POST", "/api/v1/keys", body, {"Content-Type": "application/json"}))
        self.problem(self.ask("POST", "/api/v1/keys", b'{"name":"a","scopes":"read"}', {"Content-Type": "text/plain"}),
                     415)
        got = self.raw(f"POST /api/v1/keys HTTP/1.1\r\nHost: h\r\nAuthorization: {self.admin['Authorization']}\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {3 * MIB}\r\n\r\n".encode()
                       + b" " * (3 * MIB))
        self.assertEqual(self.statuses(got), [413], got[:300])
        for name in NASTY[:12]:
            answer = self.ask("POST", "/api/v1/keys", {"name": name, "scopes": "read"})
            self.problem(answer, 200, 400)
            login = self.server.ask("POST", "/api/v1/auth/login", {"email": name, "password": name})
            self.problem(login, 400, 401, 429)
        self.problem(self.ask("GET", "/api/v1/keys"), 200)
        self.problem(self.ask("GET", "/api/v1/audit"), 200)

    def test_every_member_of_every_body(self):
        """Each member of each posted body gets the values that parameters of questions get."""
        document = json.loads(subprocess.run([SERVER, "openapi"], check=True, capture_output=True).stdout)
        sane = {"email": "x@example.org", "password": "long enough it is", "token": "A" * 43, "scopes": "read",
                "expires": "9000000000000000000", "sql": "SELECT 1", "name": "n", "old": "long enough it was"}
        asked = 0
        self.assertEqual(self.send(lines(header(self.id))).status, 200)
        for path, methods in document["paths"].items():
            for method, about in methods.items():
                content = about.get("requestBody", {}).get("content", {}).get("application/json")
                if not content or about["operationId"] == "workspace_make":  # each a workspace that stays
                    continue
                schema = content["schema"]
                needed = {n: sane.get(n, schema["properties"][n].get("enum", [0])[0]) for n in schema.get("required", [])}
                target = re.sub(r"{\w+}", "x", path.replace("{session}", self.id))
                for name in schema["properties"]:
                    for value in NASTY + [int(n) for n in ("-1", "9223372036854775807", "9223372036854775808")] + [
                            1.5, 1e308, True, None, [], {}, [[]], "x" * 70000]:
                        answer = self.ask(method.upper(), target, {**needed, name: value})
                        asked += 1
                        with self.subTest(target=target, name=name, value=str(value)[:60]):
                            self.problem(answer, *range(200, 500), 501)
                            self.assertNotIn(b"root:x:0", answer.body)
        self.assertGreater(asked, 500)
        self.ask("PUT", "/api/v1/retention", {"sessions": 0, "bytes": 0, "metrics": 0})

    # ---- what is said to the socket ---------------------------------------------------------------

    def test_requests_that_are_none(self):
        auth = f"Authorization: {self.admin['Authorization']}\r\n"
        post = f"POST {STREAM} HTTP/1.1\r\nHost: h\r\n{auth}X-GpuFlight-Session-Id: {self.id}\r\n"
        cases = {
            "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + b"\x00" * 100,
            "no request line": b"\r\n\r\n\r\n", "a line": b"GET\r\n\r\n", "no version": b"GET /\r\n\r\n",
            "unknown method": b"BREW / HTTP/1.1\r\nHost: h\r\n\r\n",
            "long header": b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 200000 + b"\r\n\r\n",
            "many headers": b"GET /healthz HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
            "bad length": (post + "Content-Length: -5\r\n\r\n").encode(),
            "huge length": (post + "Content-Length: 99999999999999999999\r\n\r\nx").encode(),
            "too large": (post + f"Content-Length: {1 << 40}\r\n\r\nx").encode(),
            "two lengths": (post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhellox").encode(),
            "bad chunk": (post + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n").encode(),
            "negative chunk": (post + "Transfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n").encode(),
            "huge chunk": (post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello").encode(),
            "cut chunk": (post + "Transfer-Encoding: chunked\r\n\r\n10\r\nhello").encode(),
            "no host": f"GET /api/v1/sessions HTTP/1.1\r\n{auth}\r\n".encode(),
            "two hosts": f"GET /api/v1/sessions HTTP/1.1\r\nHost: h\r\nHost: g\r\n{auth}\r\n".encode(),
            "two keys": f"GET /api/v1/sessions HTTP/1.1\r\nHost: h\r\n{auth}{auth}\r\n".encode(),
            "two sessions": (post + "X-GpuFlight-Session-Id: another\r\nContent-Length: 2\r\n\r\n{}").encode(),
            "length and chunks": (post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "0\r\n\r\n").encode(),
            "a blank in a name": (post + "Content-Length : 2\r\n\r\n{}").encode(),
            "half a body": (post + "Content-Length: 1000\r\n\r\n{").encode(),
            "half a header": (post + "X-Half").encode(),
            "1500 parameters": f"GET /api/v1/sessions?{'a=1&' * 1500} HTTP/1.1\r\nHost: h\r\n{auth}\r\n".encode(),
            "5000 parameters": f"GET /api/v1/sessions?{'a=1&' * 5000} HTTP/1.1\r\nHost: h\r\n{auth}\r\n".encode(),
        }
        ours = {"no host": 400, "two hosts": 400, "two keys": 400, "two sessions": 400, "length and chunks": 400,
                "a blank in a name": 400, "two lengths": 400, "1500 parameters": 400, "5000 parameters": 414,
                "odd transfer": 501, "too large": 413}
        cases["odd transfer"] = (post + "Transfer-Encoding: gzip\r\n\r\nx").encode()
        for name, data in cases.items():
            with self.subTest(case=name):
                began = time.monotonic()
                got = self.raw(data)
                self.assertLess(time.monotonic() - began, live_server.DEADLINE_S)
                if name in ours:
                    self.assertEqual(self.statuses(got), [ours[name]], got[:400])
                    self.assertIn(b"application/problem+json", got)
                for status in self.statuses(got):
                    self.assertTrue(status < 500 or status in (501, 505), got[:400])
                if name not in ("no request line",):
                    self.assertNotIn(200, self.statuses(got), got[:400])
        body = lines(header(self.id, "system"))
        chunked = "".join(f"{1:x};ext=1\r\n{chr(c)}\r\n" for c in body) + "0\r\nTrailer: x\r\n\r\n"
        got = self.raw((post + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked).encode())
        self.assertEqual(self.statuses(got), [200], got)

    def test_slow_and_many(self):
        """Slow connections use up the limit of their own address, and keep no other address out."""
        slow = []
        try:
            for i in range(100):
                link = socket.create_connection(("127.0.0.1", self.server.port), timeout=live_server.DEADLINE_S)
                slow.append(link)
                try:
                    link.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-" if i % 2 else
                                 f"POST {STREAM} HTTP/1.1\r\nHost: h\r\n"
                                 f"Authorization: {self.admin['Authorization']}\r\n"
                                 f"X-GpuFlight-Session-Id: {self.id}\r\nContent-Length: 1000\r\n\r\n{{".encode())
                except OSError:
                    pass  # beyond the limit: closed at once
            # From another address of the loopback net there is room: slow bodies hold no worker.
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=live_server.DEADLINE_S,
                                          source_address=("127.0.0.2", 0)) as link:
                link.sendall(f"GET /api/v1/sessions HTTP/1.1\r\nHost: h\r\n"
                             f"Authorization: {self.admin['Authorization']}\r\n"
                             "Connection: close\r\n\r\n".encode())
                got = b""
                while piece := link.recv(65536):
                    got += piece
                self.assertEqual(self.statuses(got), [200], got[:300])
            self.assertTrue(any(is_open(link) for link in slow), "none kept the server busy any more")
        finally:
            for link in slow:
                link.close()
        self.server.until(lambda: self.open_again(), "connections are given back")

    def open_again(self):
        try:
            return self.ask("GET", "/api/v1/sessions").status == 200
        except (OSError, live_server.http.client.HTTPException):
            return False


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
