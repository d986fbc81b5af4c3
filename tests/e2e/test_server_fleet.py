"""The state and the usage of hosts and GPUs that result from sent sessions.

Usage: test_server_fleet.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from fleet_sender import Sender
from patience import PATIENCE, SLOW, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
PEER = os.path.join(SOURCE, "tests", "data", "peer", "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34")
DAY = 86400 * 10**9


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.set_up()
        cls.key = cls.server.make_key()

    def get(self, target):
        answer = self.server.ask("GET", "/api/v1/" + target, Authorization=self.key)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def until(self, target, what):
        """Asks until the answer is right: the answer."""
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.server.ask("GET", "/api/v1/" + target, Authorization=self.key)
            if answer.status == 200 and what(answer.json()):
                return answer.json()
            self.assertLess(time.monotonic(), deadline, f"{target}: {answer}")
            time.sleep(0.01)

    # ---- now -----------------------------------------------------------------------------------

    def test_a_sample_is_seen_within_a_second(self):
        sender = Sender(self.server, self.key, "live-1", "node-live")
        took = []
        for load in range(1, 8):
            sender.sample({"cpu": load, "memory_used": 5, "memory_total": 64},
                          {"gpu_util": load, "power": 300000, "throttle": 4 | 32, "processes": 2}, {"gpu_util": 90})
            began = time.monotonic()
            self.until("hosts/node-live", lambda h, load=load: (h["state"] or {}).get("cpu") == load)
            self.until("gpus/GPU-node-live-0", lambda g, load=load: (g["state"] or {}).get("gpu_util") == load)
            took.append(time.monotonic() - began)
        self.assertLess(min(took), 1.0 * SLOW, took)  # most are, unless the machine is full
        host, gpu = self.get("hosts/node-live"), self.get("gpus/GPU-node-live-0")
        self.assertEqual((host["system"], host["agent"], host["memory"], host["cpus"], host["gpus"], host["sessions"]),
                         ("Linux 6.1 x86_64", "9.8.7", 64, None, 2, 1))
        self.assertLessEqual(abs(int(host["seen"]) - time.time_ns()), PATIENCE * 10**9)
        self.assertEqual((gpu["host"], gpu["number"], gpu["name"], gpu["vendor"], gpu["driver"], gpu["memory"],
                          gpu["session"], gpu["sessions"]),
                         ("node-live", 0, "H200", "nvidia", "570.1", 1000, "live-1", 1))
        self.assertEqual(gpu["state"]["throttle_reasons"], ["power_cap", "thermal_software"])
        self.assertEqual(gpu["state"]["power"], 300000)
        self.assertNotIn("temperature", gpu["state"])  # unknown, not 0
        running = self.get("running?host=node-live")["rows"]
        self.assertEqual([(r["session"], r["app"], r["gpu"]) for r in running],
                         [("live-1", "train", "GPU-node-live-0"), ("live-1", "train", "GPU-node-live-1")])
        # Values that the newest sample lacks stay as they were, since some are read rarely: for two minutes.
        now = time.time_ns() - sender.began
        sender.sample({"cpu": 49}, {"gpu_util": 49}, at=now)
        gpu = self.until("gpus/GPU-node-live-0", lambda g: g["state"].get("gpu_util") == 49)
        self.assertEqual(gpu["state"]["power"], 300000)
        sender.sample({"cpu": 50}, {"gpu_util": 50}, at=now + 200 * 10**9)
        gpu = self.until("gpus/GPU-node-live-0", lambda g: g["state"].get("gpu_util") == 50)
        self.assertNotIn("power", gpu["state"])
        # The session goes on after a restart of the server: samples name GPUs by numbers that were sent before.
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        sender.sample({"cpu": 60}, {"gpu_util": 60}, {"gpu_util": 61}, at=now + 201 * 10**9)
        self.until("gpus/GPU-node-live-1", lambda g: g["state"].get("gpu_util") == 61)
        self.assertEqual(self.get("hosts/node-live")["state"]["cpu"], 60)

    def test_events_of_gpus(self):
        """The events that a monitor recorded are listed newest first, with their texts."""
        sender = Sender(self.server, self.key, "events-1", "node-events", gpus=2, app="gpufl-monitor")
        sender.send({"type": "names", "rows": 2, "id": [20, 21], "text": ["xid", "lost"]},
                    {"type": "gpu_event", "rows": 2, "time": [5, 4], "device": [1, 2], "kind": [20, 21], "code": [31, None],
                     "count": [3, 1]})
        got = self.until("sessions/events-1/gpu-events", lambda a: a["rows"] == 2)
        kinds = [got["names"][k] for k in got["data"]["kind"]]
        self.assertEqual(kinds, ["lost", "xid"])
        self.assertEqual([got["data"][c] for c in ("device", "code", "count")], [[2, 1], [None, "31"], [1, 3]])
        newest = self.get("sessions/events-1/gpu-events?limit=1")
        self.assertEqual([newest["names"][k] for k in newest["data"]["kind"]], ["lost"])

    def test_samples_of_another_session(self):
        """One process of two samples the host and a GPU: the other one's series show these samples, as long as it
        relied on them, and its own process and the GPU that it samples itself. The host's state is the host's."""
        began, second = time.time_ns() - 60 * 10**9, 10**9
        first = Sender(self.server, self.key, "share-a", "node-share", began=began)
        second_one = Sender(self.server, self.key, "share-b", "node-share", gpus=1, began=began)
        for i in range(1, 9):
            first.sample({"cpu": i, "memory_used": 5, "memory_total": 64, "process_cpu": 1000 + i},
                         {"gpu_util": 90}, {"gpu_util": 10 * i}, at=i * second)
        # The number 9 of this session is the number 2 of the other one.
        second_one.send({"type": "names", "rows": 3, "id": [20, 21, 22], "text": ["share-a", "share-b", "GPU-node-share-1"]},
                        {"type": "device", "rows": 1, "id": 9, "index": 8, "name": 1, "vendor": 2, "driver": 3, "uuid": 22},
                        *({"type": "sampler", "rows": 1, "time": int(2.5 * second), "device": device, "taken_by": 20,
                           "interval": second} for device in (0, 9)),
                        {"type": "sampler", "rows": 1, "time": int(5.5 * second), "device": 9, "taken_by": 21})
        for i in range(3, 9):
            second_one.send({"type": "host_metric", "rows": 1, "time": i * second, "process_cpu": 2000 + i},
                            {"type": "device_metric", "rows": 1, "time": i * second, "device": 1, "gpu_util": i},
                            *([{"type": "device_metric", "rows": 1, "time": i * second, "device": 9,
                                "gpu_util": 1}] if i > 5 else []))

        def series(what, rows, **asked):
            query = "&".join(f"{name}={value}" for name, value in {**asked, "step": second}.items())
            answer = self.until(f"sessions/share-b/{what}-series?{query}", lambda a: a["rows"] == rows)["data"]
            return list(zip((at // second for at in answer["at"]), answer["mean"]))

        self.until("sessions/share-a/host-series?metric=cpu&step=1000000000", lambda a: a["rows"] == 8)
        self.assertEqual(series("device", 6, device=9, metric="gpu_util"),
                         [(3, 30), (4, 40), (5, 50), (6, 1), (7, 1), (8, 1)])
        self.assertEqual(series("device", 6, device=1, metric="gpu_util"), [(i, i) for i in range(3, 9)])
        self.assertEqual(series("host", 6, metric="cpu"), [(i, i) for i in range(3, 9)])
        self.assertEqual(series("host", 6, metric="process_cpu"), [(i, 2000 + i) for i in range(3, 9)])
        self.assertEqual(series("device", 2, device=9, metric="gpu_util", **{"from": 4 * second, "to": 6 * second}),
                         [(4, 40), (5, 50)])
        said = self.get("sessions/share-b/samplers")
        self.assertEqual([(at, device, said["names"][who]) for at, device, who in
                          zip(said["data"]["at"], said["data"]["device"], said["data"]["session"])],
                         [(int(2.5 * second), 0, "share-a"), (int(2.5 * second), 9, "share-a"),
                          (int(5.5 * second), 9, "share-b")])
        self.assertEqual(self.get("sessions/share-a/samplers")["rows"], 0)
        state = self.until("hosts/node-share", lambda h: (h["state"] or {}).get("cpu") == 8)["state"]
        self.assertEqual(state["memory_used"], 5)
        self.assertEqual(self.get("hosts/node-share")["state"].get("cpu"), 8)

    def test_followers_get_new_samples(self):
        with contextlib.closing(self.server.events(self.key)) as events:
            sender = Sender(self.server, self.key, "live-2", "node-followed", gpus=1)
            sender.sample({"cpu": 11}, {"gpu_util": 12})
            for event, data in events:
                hosts = [h for h in data["hosts"] if h["name"] == "node-followed"] if event == "fleet" else []
                if hosts and (hosts[0]["state"] or {}).get("cpu") == 11:
                    break
            gpus = [g for g in data["gpus"] if g["uuid"] == "GPU-node-followed-0"]
            self.assertEqual((gpus[0]["state"]["gpu_util"], gpus[0]["host"]), (12, "node-followed"))
            self.assertEqual(data["more"], [])

    def test_what_is_older_changes_nothing(self):
        """A log of last week is sent after today's, and only says when the host was first seen; a clock that is
        ahead counts as now."""
        today = Sender(self.server, self.key, "old-2", "node-old", gpus=1)
        today.sample({"cpu": 70}, {"gpu_util": 71}, at=3600 * 10**9)  # in an hour
        host = self.until("hosts/node-old", lambda h: (h["state"] or {}).get("cpu") == 70)
        self.assertLessEqual(int(host["seen"]), time.time_ns())
        week = Sender(self.server, self.key, "old-1", "node-old", gpus=1, app="earlier",
                      began=time.time_ns() - 7 * DAY)
        week.sample({"cpu": 1}, {"gpu_util": 2}, at=10**9)
        self.until("running?app=earlier", lambda r: r["rows"])  # it is loaded
        fresh = Sender(self.server, self.key, "old-3", "node-fresh", gpus=1)  # then all of it is, too
        fresh.sample({"cpu": 5}, {"gpu_util": 5})
        self.until("hosts/node-fresh", lambda h: h["state"])
        self.assertEqual(self.get("hosts/node-old")["state"]["cpu"], 70)
        self.assertEqual(self.get("gpus/GPU-node-old-0")["state"]["gpu_util"], 71)
        earliest = week.began + 10**9  # its header has no start: the time of its first row
        self.assertEqual(int(self.get("hosts/node-old")["created"]), earliest)
        self.assertEqual(int(self.get("gpus/GPU-node-old-0")["created"]), earliest)
        self.assertEqual(self.get("hosts/node-old")["seen"], host["seen"])

    def test_the_public_clients_rows(self):
        with contextlib.closing(self.server.events(self.key)) as events:
            session = self.server.send(self.key, PEER)
            for event, data in events:
                states = [g["state"] for g in data["gpus"] if g["host"] == "node7"] if event == "fleet" else []
                if states and states[0] and states[0].get("gpu_util") == 98:
                    break
        gpu = self.get("gpus/GPU-6b1f2c3d-0000-1111-2222-333344445555")
        self.assertEqual((gpu["host"], gpu["name"], gpu["session"]), ("node7", "NVIDIA H200", session))
        self.assertEqual(gpu["memory"], 143771 << 20)
        host = self.get("hosts/node7")
        self.assertEqual((host["state"]["cpu"], host["memory"]), (1310, 515000 << 20))
        self.assertEqual(host["state"]["time"], "1770000000060000000")
        self.assertEqual(int(host["seen"]) // 10**9, 1770000000)  # when it was, not when it came

    def test_pages_and_forgetting(self):
        for i in range(5):
            Sender(self.server, self.key, f"page-{i}", f"page-{i}", gpus=2).sample({"cpu": i}, {"gpu_util": i})
        self.until("hosts", lambda page: sum(h["name"].startswith("page-") for h in page["rows"]) == 5)
        self.until("gpus", lambda page: sum(g["host"].startswith("page-") for g in page["rows"]) == 10)
        for what, key, size in (("hosts", "name", 2), ("gpus", "uuid", 3)):
            whole, pages, after = [r[key] for r in self.get(what)["rows"]], [], ""
            while after is not None:
                page = self.get(f"{what}?limit={size}{after}")
                pages += [r[key] for r in page["rows"]]
                self.assertLessEqual(len(page["rows"]), size)
                after = "&after=" + page["next"] if page["next"] else None
            self.assertEqual(pages, whole)
        self.assertEqual(len(self.get("gpus?host=page-1")["rows"]), 2)
        self.assertEqual(self.server.as_user("DELETE", "/api/v1/hosts/page-1").status, 204)
        self.assertEqual(self.server.as_user("DELETE", "/api/v1/hosts/page-1").status, 404)
        self.assertEqual(self.get("gpus?host=page-1")["rows"], [])
        self.assertEqual(self.server.as_user("GET", "/api/v1/audit").json()["rows"][0]["action"], "host.delete")

    # ---- over days -----------------------------------------------------------------------------

    def test_days_are_those_of_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GPUFL, "sim", "-k", "3000", "--devices", "2", "-n", "days", "--sample", "1", "-o", folder],
                           check=True, stdout=subprocess.DEVNULL)
            session = os.path.join(folder, os.listdir(folder)[0])
            report = json.loads(subprocess.run([GPUFL, "report", "--json", session], check=True,
                                               capture_output=True).stdout)
            self.server.load(self.key, session)
        sums = self.get("fleet?by=app&from=0&to=1000000")["rows"]
        app = next(r for r in sums if r["name"] == "days")
        used = [d for d in report["devices"] if d["kernels"]]
        self.assertEqual((app["sessions"], app["gpus"], app["days"]), (1, len(used), 1))
        self.assertEqual(app["kernels"], report["kernels"]["count"])
        wall = report["session"]["duration_ns"] * len(used)
        self.assertEqual(app["wall"], wall)
        self.assertAlmostEqual(app["hours"], wall / 3.6e12)
        worst = max(report["insights"], key=lambda i: {"low": 0, "medium": 1, "high": 2}[i["severity"].lower()],
                    default=None)
        self.assertEqual(app["findings"], len(report["insights"]))
        if worst:
            self.assertEqual(app["session"], os.path.basename(session))
        day = int(self.get(f"sessions/{os.path.basename(session)}")["started"]) // DAY
        self.assertEqual([r["name"] for r in self.get(f"fleet?by=app&from={day}&to={day + 1}")["rows"]], ["days"])

        def sampled():
            """A final report is made again if metrics are loaded after it."""
            rows = {r["name"]: r for r in self.get(f"fleet?by=gpu&from={day}&to={day + 1}")["rows"]}
            return rows if all(rows[d["uuid"]]["utilization"] is not None for d in used) else None

        gpus = until(sampled, "the metrics are not there")
        for device in used:
            row = gpus[device["uuid"]]
            self.assertEqual(row["kernels"], device["kernels"])
            self.assertAlmostEqual(row["utilization"] * 100, device["metrics"]["gpu_util"]["mean"], places=3)
            self.assertTrue(0 < row["busy"] <= 1, row)
        self.assertEqual(len(self.get(f"usage?by=gpu&from={day}&to={day + 1}&limit=1")["rows"]), 1)
        self.assertIsNotNone(self.get(f"usage?by=gpu&from={day}&to={day + 1}&limit=1")["next"])
        whole = self.get(f"usage?by=day&from={day}&to={day + 1}")["rows"]
        parts = self.get(f"usage?by=gpu&from={day}&to={day + 1}")["rows"]
        self.assertEqual([(r["name"], r["day"], r["sessions"], r["wall"]) for r in whole], [("", day, 1, sum(r["wall"] for r in parts))])
        days, row = f"from={day}&to={day + 1}", self.get(f"sessions/{os.path.basename(session)}")
        for asked in ({"app": row["app"]}, {"host": row["host"]}, {"app": row["app"], "host": row["host"]}):
            self.assertEqual(self.get(f"usage?by=gpu&{days}&{urllib.parse.urlencode(asked)}")["rows"], parts)
        self.assertEqual(self.get(f"usage?by=gpu&{days}&app=another")["rows"], [])
        self.assertEqual(self.server.ask("GET", f"/api/v1/usage?by=day&{days}&app=another", Authorization=self.key).status, 400)
        self.check_sums(os.path.basename(session), day, sum(d["kernels"] for d in used))

    def check_sums(self, session, day, kernels):
        """All launches are in the sums, and count once, even after the session was deleted."""
        days = f"from={day}&to={day + 1}"
        sums = self.get(f"rollups?{days}")["rows"]
        self.assertEqual(sum(r["calls"] for r in sums), kernels)
        shown = self.get(f"sessions/{session}/kernels?limit=1000")
        plain = dict(zip(shown["mangled"], shown["names"]))
        named = [r for r in sums if r["name"]]  # without the row for all others
        self.assertGreater(len(named), 10)
        self.assertEqual([r["plain"] for r in named], [plain[r["name"]] for r in named])
        self.assertEqual(len({r["short_name"] for r in named}), len(named))
        self.assertTrue(all(0 < len(r["short_name"]) <= 120 for r in named), named)
        scope = self.get(f"rollups?kind=scope&{days}")["rows"]
        self.assertEqual([(r["plain"], r["short_name"]) for r in scope], [(r["name"],) * 2 for r in scope])
        self.assertEqual(self.server.as_user("DELETE", f"/api/v1/sessions/{session}").status, 204)
        self.assertEqual(self.get(f"rollups?{days}")["rows"], sums)
        one = self.get(f"rollups/days?{days}&by=host&name={sums[0]['name']}")["rows"]
        self.assertEqual([(r["day"], r["calls"], r["total"]) for r in one], [(day, sums[0]["calls"], sums[0]["total"])])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
