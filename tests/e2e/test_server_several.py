"""gpufl-server over several requests and sessions: a folder sent in pieces, history, comparison.

Usage: test_server_several.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from patience import PATIENCE
from served import Server, report_of

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
AT = f"/api/v1/sessions/{SESSION}"


def simulate(folder, seed, slower=()):
    """A simulated session; kernels with one of these numbers of configurations take 1.3 times as long."""
    subprocess.run([GPUFL, "sim", "-k", "4000", "--scopes", "--seed", str(seed), "--output", folder],
                   capture_output=True, check=True)
    session, = os.listdir(folder)
    path = os.path.join(folder, session, "device.log")
    lines = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            if row["type"] == "kernel":
                configs = row["config"] if isinstance(row["config"], list) else [row["config"]] * row["rows"]
                row["duration"] = [d * 13 // 10 if c in slower else d for d, c in zip(row["duration"], configs)]
                line = json.dumps(row, separators=(",", ":")) + "\n"
            lines.append(line)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)
    return os.path.join(folder, session)


def session_of_waits(server, key, start):
    """Sends a session of engine Sync, which records no kernels: how long GPUs were busy is not known."""
    session = "00000000-0000-4000-8000-999999999999"
    lines = [{"type": "header", "format": 1, "session": session, "part": 1, "offset": 0, "app": "waits", "pid": 1, "host": "host0",
              "engine": "Sync", "backend": "sim", "start": 1000, "clock_monotonic": 1000, "clock_real": start,
              "clock_uncertainty": 0, "channel": "system"},
             {"type": "ledger", "rows": 1, "time": 500000, "final": 1, "launches": 5},
             {"type": "end", "rows": 1, "time": 501000, "reason": 0}]
    body = "".join(json.dumps(x) + "\n" for x in lines)
    answer = server.ask("POST", "/api/v1/events/stream", body.encode(), Authorization=key, X_GpuFlight_Session_Id=session)
    assert answer.status == 200 and answer.json()["rejected"] == 0, answer
    server.complete(key, session)
    return session


def tiny_session(server, key, number, start, host, gpu, duration, count=20):
    """Sends a session of one kernel and one scope, which take so long, and its end."""
    session = f"00000000-0000-4000-8000-{number:012d}"
    head = {"type": "header", "format": 1, "session": session, "part": 1, "offset": 0, "app": "nightly", "pid": 1, "host": host,
            "engine": "Trace", "backend": "sim", "start": 1000, "clock_monotonic": 1000, "clock_real": start,
            "clock_uncertainty": 0}
    names = {"type": "names", "rows": 3, "id": [1, 2, 3], "text": ["_Z4gemmPf", gpu, "step"]}
    device = {"type": "device", "rows": 1, "id": 1, "index": 0, "uuid": 2}
    rows = {"device": [names, device, {"type": "stream", "rows": 1, "id": 1, "device": 1},
                       {"type": "config", "rows": 2, "id": [1, 2], "name": 1, "device": 1, "grid_x": [64, 8], "grid_y": 1,
                        "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1},
                       {"type": "kernel", "rows": count, "start": [2000] + [2 * duration] * (count - 1),
                        "duration": [duration] * count, "config": [1] * (count - 1) + [2], "stream": 1}],
            "scope": [names, {"type": "scope", "rows": count, "start": [2000] + [2 * duration] * (count - 1),
                              "duration": [duration + 100] * count, "instance": [1] * count, "parent": 0, "name": 3,
                              "thread": 1, "depth": 0}],
            "system": [names, {"type": "end", "rows": 1, "time": 2000 + 2 * duration * count, "reason": 0}]}
    for channel, lines in rows.items():
        body = "".join(json.dumps(x) + "\n" for x in [{**head, "channel": channel}, *lines])
        answer = server.ask("POST", "/api/v1/events/stream", body.encode(), Authorization=key, X_GpuFlight_Session_Id=session)
        assert answer.status == 200 and answer.json()["rejected"] == 0, answer
    server.complete(key, session)
    return session


class Browser(unittest.TestCase):
    """A folder sent as the dashboard does it: asks for the position, sends pieces with their offset, and the end; with the login's
    cookie and the page's token."""

    def setUp(self):
        self.server = Server(PROGRAM)
        self.addCleanup(self.server.__exit__)
        self.server.set_up()
        self.channels = {}
        for name in sorted(os.listdir(FOLDER)):
            with gzip.open(os.path.join(FOLDER, name)) as part:
                self.channels[name.split(".")[0]] = part.read()

    def positions(self):
        answer = self.server.as_user("GET", AT + "/positions")
        return {c["channel"]: c["offset"] for c in answer.json()["channels"]}

    def piece(self, channel, begin, end, **fields):
        return self.server.as_user("POST", "/api/v1/events/stream", self.channels[channel][begin:end],
                                   X_GpuFlight_Session_Id=SESSION, X_GpuFlight_Channel=channel,
                                   X_GpuFlight_Offset=str(begin), Content_Type="application/x-ndjson", **fields)

    def send(self, channel, size, stop=None):
        """Sends pieces of so many bytes, wherever lines end, from the server's position on."""
        at = self.positions().get(channel, 0)
        while at < len(self.channels[channel]) and stop != 0:
            answer = self.piece(channel, at, at + size)
            said = answer.json()
            if answer.status == 400 and said["errors"][0]["reason"] == "the body ends within it":
                size *= 2  # it has no whole line
                continue
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual((said["session"], said["channel"]), (SESSION, channel), said)
            # A piece ends within a line, which is not accepted yet.
            self.assertEqual({e["reason"] for e in said["errors"]} - {"the body ends within it"}, set())
            self.assertGreater(said["offset"], at)
            at = said["offset"]
            stop = stop and stop - 1
        return at

    def test_pieces(self):
        self.assertEqual(self.positions(), {})
        at = self.send("device", 5000, stop=3)  # then the tab is closed
        self.assertTrue(0 < at < len(self.channels["device"]))
        self.assertEqual(self.positions(), {"device": at})
        # A piece that was sent already changes nothing; for a piece too far on the answer says where to go on.
        answer = self.piece("device", 0, at)
        self.assertEqual((answer.status, answer.json()["offset"]), (200, at))
        gap = self.piece("device", at + 100, len(self.channels["device"]))
        self.assertEqual((gap.status, gap.json()["expected_offset"]), (409, at))
        # The server is killed and started again: what was acknowledged is there.
        self.server.process.kill()
        self.server.wait()
        self.server.start()
        self.assertEqual(self.positions(), {"device": at})
        for channel in self.channels:
            self.assertEqual(self.send(channel, 40000), len(self.channels[channel]))
        self.assertEqual(self.server.as_user("POST", "/api/v1/events/session-complete", X_GpuFlight_Session_Id=SESSION).status, 200)
        end, report = time.monotonic() + PATIENCE, {}
        while time.monotonic() < end and not report.get("final"):
            report = self.server.as_user("GET", AT + "/summary").json()
        counts = self.server.as_user("GET", AT + "/counts").json()["data"]
        want = report_of(GPUFL, FOLDER)
        self.assertEqual(dict(zip(counts["record"], counts["rows"]))["kernel"], want["kernels"]["count"])
        self.assertEqual(report["kernels"]["total_ns"], want["kernels"]["total_ns"])

    def test_what_is_refused(self):
        cookie = self.server.cookie
        target, body = "/api/v1/events/stream", self.channels["device"][:5000]
        fields = {"X_GpuFlight_Session_Id": SESSION, "X_GpuFlight_Channel": "device", "X_GpuFlight_Offset": "0"}
        self.assertEqual(self.server.ask("POST", target, body, Cookie=cookie, **fields).status, 403)  # no token
        self.assertEqual(self.server.ask("POST", target, body, Cookie=cookie, X_CSRF_Token="x" * 43, **fields).status, 403)
        self.assertEqual(self.server.as_user("POST", target, body, Origin="https://evil.example.org", **fields).status, 403)
        self.assertEqual(self.server.ask("POST", target, body, **fields).status, 401)
        token = self.server.as_user("POST", "/api/v1/invitations", {"role": "viewer"}).json()["token"]
        guest = self.server.ask("POST", "/api/v1/auth/accept", {"token": token, "email": "g@example.org", "name": "G",
                                                                "password": "another long one"})
        seen = {"Cookie": guest.fields["Set-Cookie"].split(";")[0], "X_CSRF_Token": guest.json()["csrf"]}
        self.assertEqual(self.server.ask("POST", target, body, **seen, **fields).status, 403)
        for name, value, status in (("X_GpuFlight_Offset", "-1", 400), ("X_GpuFlight_Session_Id", "../../x", 400),
                                    ("X_GpuFlight_Channel", "../device", 400), ("X_GpuFlight_Offset", "7", 409)):
            answer = self.server.as_user("POST", target, body, **{**fields, name: value})
            self.assertEqual(answer.status, status, (name, value, answer))
        self.assertEqual(set(self.positions().values()) - {0}, set())


class History(unittest.TestCase):
    """Forty nights on three hosts: from the 25th on a release is slower, and one night something slowed a host down."""

    DAY = 86400 * 10**9
    FIRST = 20000 * DAY + 7 * 3600 * 10**9

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.set_up()
        cls.key = cls.server.make_key()
        cls.ids = []
        with contextlib.closing(cls.server.events(cls.key)) as events:
            for i in range(40):
                duration = 10000 + (i * 37 % 11) * 10 + (1200 if i >= 25 else 0) + (9000 if i == 12 else 0)
                cls.ids.append(tiny_session(cls.server, cls.key, i, cls.FIRST + i * cls.DAY, f"host{i % 3}", f"GPU-{i % 3}", duration))
            cls.unknown = session_of_waits(cls.server, cls.key, cls.FIRST)
            final = set()
            for event, data in events:
                if event == "report" and data["final"]:
                    final.add(data["session"])
                if len(final) == 41:
                    break

    def ask(self, status=200, **query):
        answer = self.server.ask("GET", "/api/v1/history?" + urllib.parse.urlencode(query), Authorization=self.key)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def check(self, found, extra=0):
        self.assertEqual(found["session_count"], 40)
        self.assertEqual([s["session"] for s in found["sessions"]], self.ids)
        self.assertEqual([s["session"] for s in found["sessions"] if s["outlier"]], [self.ids[12]])
        step, = found["steps"]
        self.assertEqual((step["session"], step["other_machines"]), (self.ids[25], False))
        self.assertAlmostEqual(step["ratio"], (11250 + extra) / (10050 + extra), delta=0.005)
        self.assertLess(step["p"], 0.001)
        self.assertEqual(found["level_ns"], step["after_ns"])
        self.assertEqual(sorted(h["name"] for h in found["hosts"]), ["host0", "host1", "host2"])
        self.assertFalse(any(h["outlying"] for h in found["hosts"] + found["gpus"]))
        self.assertEqual([d["day"] for d in found["days"]], list(range(20000, 20040)))
        self.assertEqual([d["outliers"] for d in found["days"]][12], 1)

    def test_kernel(self):
        found = self.ask(name="_Z4gemmPf")
        self.check(found)
        self.assertEqual(found["name"], "gemm(float*)")
        self.assertEqual([(s["shape"], s["sessions"], s["calls"]) for s in found["shapes"]],
                         [("64x1x1/128x1x1", 40, 760), ("8x1x1/128x1x1", 40, 40)])
        self.assertEqual({(s["calls"], s["p99_ns"], s["share"]) for s in found["sessions"]}, {(20, None, 1)})
        shaped = self.ask(name="_Z4gemmPf", shape="64x1x1/128x1x1", app="nightly")
        self.check(shaped)
        first = shaped["sessions"][0]
        self.assertEqual((first["calls"], first["mean_ns"], first["p50_ns"], first["share"]), (19, 10000, 10000, 0.95))
        self.assertEqual(first["started"], str(self.FIRST))
        self.assertEqual((first["host"], first["gpu"]), ("host0", "GPU-0"))
        self.assertEqual(len(self.ask(name="_Z4gemmPf", host="host1")["sessions"]), 13)
        self.assertEqual(len(self.ask(name="_Z4gemmPf", **{"from": self.FIRST + 30 * self.DAY})["sessions"]), 10)
        few = self.ask(name="_Z4gemmPf", sessions=5)
        listed = [s["session"] for s in few["sessions"]]
        self.assertEqual(listed, sorted(listed, key=self.ids.index))
        self.assertLessEqual({self.ids[12], self.ids[25]}, set(listed))  # the outlier; the first session after the step
        self.assertIn(len(listed), (5, 6))
        self.assertEqual((few["session_count"], few["outlier_count"], few["sessions_left_out"]), (40, 1, 40 - len(listed)))
        self.assertEqual({**few, "sessions": 0, "sessions_left_out": 0}, {**found, "sessions": 0})
        self.assertEqual([s["session"] for s in self.ask(name="_Z4gemmPf", sessions=0)["sessions"]], [self.ids[25]])
        nothing = self.ask(name="_Z4gemm")
        self.assertEqual((nothing["sessions"], nothing["level_ns"], nothing["steps"]), ([], None, []))
        self.ask(400)
        self.ask(400, name="x", kind="nothing")

    def test_scope_and_application(self):
        self.check(self.ask(kind="scope", name="step"), 100)
        app = self.ask(kind="app", name="nightly")
        self.assertEqual(app["session_count"], 40)
        self.assertEqual([s["session"] for s in app["steps"]], [self.ids[25]])
        self.assertEqual(app["sessions"][0]["total_ns"], 1000 + 2 * 10000 * 20)
        self.assertAlmostEqual(app["sessions"][0]["share"], 20 * 10000 / 401000, 5)
        waits = self.ask(kind="app", name="waits")
        point, = waits["sessions"]
        self.assertEqual((point["session"], point["total_ns"], point["share"]), (self.unknown, 500000, None))
        self.assertEqual([(d["day"], d["share"]) for d in waits["days"]], [(20000, None)])
        rows = self.server.ask("GET", "/api/v1/kernels/history?kind=scope&limit=3", Authorization=self.key).json()
        self.assertEqual((rows["rows"], rows["names"]), (3, ["step"]))



class Compared(unittest.TestCase):
    """Two sets of runs, of which the second has one kernel that is slower."""

    def test_a_planted_slowdown(self):
        with Server(PROGRAM) as server, tempfile.TemporaryDirectory() as folder:
            server.set_up()
            key = server.make_key()
            sides = {}
            for side, seeds, slower in (("a", (1, 2, 3), ()), ("b", (4, 5, 6), (1,))):
                sides[side] = []
                for seed in seeds:
                    where = os.path.join(folder, side, str(seed))
                    os.makedirs(where)
                    path = simulate(where, seed, slower)
                    sides[side].append(server.load(key, path))

            def compare(**query):
                answer = server.ask("GET", "/api/v1/compare?" + urllib.parse.urlencode(query), Authorization=key)
                self.assertEqual(answer.status, 200, answer)
                return answer.json()

            both = {s: ",".join(ids) for s, ids in sides.items()}
            answer = compare(**both)
            verdicts = {k["symbol"]: k["verdict"] for k in answer["kernels"]}
            slow = [k for k in answer["kernels"] if k["verdict"] == "slower"]
            self.assertEqual(len(slow), 1, verdicts)
            self.assertNotIn("faster", verdicts.values())
            self.assertEqual((slow[0]["test"], slow[0]["shapes_differ"]), ("welch", False))
            self.assertAlmostEqual(slow[0]["ratio"], 1.3, delta=0.06)
            self.assertTrue(slow[0]["ratio_low"] < 1.3 < slow[0]["ratio_high"], slow)
            self.assertEqual([s["session"] for s in answer["a"]], sides["a"])
            totals = {t["what"]: t for t in answer["totals"]}
            self.assertEqual(totals["kernels"]["a"], 4000)
            # One against one compares calls. A session compared with itself has no differences.
            single = compare(a=sides["a"][0], b=sides["b"][0])
            found = next(k for k in single["kernels"] if k["symbol"] == slow[0]["symbol"])
            self.assertEqual((found["test"], found["verdict"]), ("mann_whitney", "slower"))
            self.assertGreater(found["longer"], 0.9)
            same = compare(a=sides["a"][0], b=sides["a"][0])
            self.assertEqual({k["verdict"] for k in same["kernels"]} - {"same", "unclear"}, set())
            self.assertEqual(same["differences"], [])
            self.assertEqual(len(compare(**both, top=1)["kernels"]), 1)
            self.assertEqual([k for k in compare(**both, least=0.5)["kernels"] if k["verdict"] == "slower"], [])
            # The command gives the same answer.
            out = subprocess.run([GPUFL, "compare", "--json", os.path.join(folder, "a"), os.path.join(folder, "b")],
                                 capture_output=True, check=True)
            printed = json.loads(out.stdout)
            self.assertEqual(printed["sentences"], answer["sentences"])
            self.assertRegex(printed["sentences"][0], r"^B: .* kernel time")
            self.assertEqual({k["symbol"]: (k["verdict"], k["ratio"], k["p"]) for k in printed["kernels"]},
                             {k["symbol"]: (k["verdict"], k["ratio"], k["p"]) for k in answer["kernels"]})
            self.assertEqual({s["path"]: s["verdict"] for s in printed["scopes"]},
                             {s["path"]: s["verdict"] for s in answer["scopes"]})
            text = subprocess.run([GPUFL, "compare", os.path.join(folder, "a"), os.path.join(folder, "b")],
                                  capture_output=True, check=True, text=True).stdout
            self.assertTrue(text.startswith(printed["sentences"][0] + "\n"), text)
            self.assertRegex(text, r"(?m)^  \d+ same, 1 slower\n.*\n  slower +\+\d")
            for bad, status in ((dict(a="", b=both["b"]), 400), (dict(a="x", b="y"), 404), (dict(a="../x", b="y"), 400),
                                (dict(a=",".join([sides["a"][0]] * 65), b=both["b"]), 400)):
                answer = server.ask("GET", "/api/v1/compare?" + urllib.parse.urlencode(bad), Authorization=key)
                self.assertEqual(answer.status, status, answer)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
