"""Alerts from the sample to the webhook: rules, states, posts with their retries, and the addresses that posts may reach.

Usage: test_server_alerts.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import hashlib
import hmac
import json
import os
import socket
import subprocess
import sys
import time
import unittest

from fleet_sender import Receiver, Sender
from patience import PATIENCE, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
PRIVATE = "10.9.8.7"
SECRET = "a secret of 32 characters, surely"


class Alerts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--webhooks", "any")
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.set_up()
        cls.key = cls.server.make_key("ingest,read,admin")

    def ask(self, method, target, body=None, status=200):
        answer = self.server.ask(method, "/api/v1/" + target, body, Authorization=self.key)
        self.assertEqual(answer.status, status, answer)
        return answer.json() if answer.body else None

    def rule(self, url="", **more):
        return self.ask("POST", "alerts", {"name": "hot", "kind": "metric", "subject": "gpu.temperature",
                                           "threshold": 85, "url": url, **more})

    def deliveries(self, rule):
        """The posts of a rule as the server's administrator sees them."""
        answer = self.server.as_user("GET", "/api/v1/deliveries?limit=1000")
        self.assertEqual(answer.status, 200, answer)
        return [d for d in answer.json()["rows"] if d["alert"] == rule["id"]]

    def test_from_a_sample_to_a_post(self):
        with contextlib.closing(Receiver()) as receiver, contextlib.closing(self.server.events(self.key)) as events:
            rule = self.rule(receiver.url + "/hook/x?token=abc", host="node-hot", secret=SECRET, hold=10**9)
            self.assertNotIn("secret", rule)
            sender = Sender(self.server, self.key, "hot-1", "node-hot", gpus=1)
            sender.sample({"cpu": 1}, {"temperature": 91})
            path, fields, body = receiver.got.get(timeout=2 * PATIENCE)
            self.assertEqual(path, "/hook/x?token=abc")
            said = json.loads(body)
            self.assertEqual((said["event"], said["alert"]["id"], said["firing"]["subject"], said["firing"]["value"]),
                             ("firing", rule["id"], "GPU-node-hot-0", 91))
            self.assertGreaterEqual(int(said["firing"]["fired"]) - int(said["firing"]["started"]), 10**9)
            stamp = fields["X-GpuFlight-Timestamp"]
            signature = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
            self.assertEqual(fields["X-GpuFlight-Signature"], "sha256=" + signature)
            self.assertLess(abs(int(stamp) - time.time()), PATIENCE)
            for event, data in events:  # each follower gets it
                if event == "alert":
                    break
            self.assertEqual(data, said)
            now = [f for f in self.ask("GET", "firings/open")["rows"] if f["alert"] == rule["id"]]
            self.assertEqual([(f["state"], f["name"]) for f in now], [("firing", "hot")])
            sender.sample({"cpu": 1}, {"temperature": 50})
            resolved = json.loads(receiver.got.get(timeout=2 * PATIENCE)[2])
            self.assertEqual((resolved["event"], resolved["firing"]["id"]), ("resolved", said["firing"]["id"]))
            until(lambda: [d["state"] for d in self.deliveries(rule)] == ["sent", "sent"], "two were sent")
            self.assertEqual({d["status"] for d in self.deliveries(rule)}, {200})
            fired = [f for f in self.ask("GET", "firings")["rows"] if f["alert"] == rule["id"]]
            self.assertEqual([f["state"] for f in fired], ["resolved"])
            self.assertTrue(receiver.got.empty())
            log = self.server.errors()
            for secret in (SECRET, "token=abc", "/hook/x"):
                self.assertNotIn(secret, log)
            self.assertIn(receiver.url, log)

    def test_a_metric_that_is_read_rarely(self):
        """The metric's last value holds in samples without it, until the value is too old."""
        sender, began = Sender(self.server, self.key, "rare-1", "node-rare", gpus=1), 10**9
        sender.sample({"cpu": 1, "swap_in": 7}, {"temperature": 40, "remap_failed": 1}, at=began)
        sender.sample({"cpu": 2}, {"temperature": 41}, at=began + 59 * 10**9)

        def state(of, **known):
            def ask():
                answer = self.server.ask("GET", "/api/v1/" + of, Authorization=self.key)
                got = answer.status == 200 and answer.json()["state"] or {}
                return got if all(got.get(k) == v for k, v in known.items()) else None
            return until(ask, f"{of} never has {known}")
        gpu = state("gpus/GPU-node-rare-0", temperature=41)
        self.assertEqual((gpu["temperature"], gpu["remap_failed"]), (41, 1))
        self.assertEqual(state("hosts/node-rare", cpu=2)["swap_in"], 7)
        rule = self.rule(subject="gpu.remap_failed", threshold=0, host="node-rare")

        def now():
            return [f["state"] for f in self.ask("GET", "firings/open")["rows"] if f["alert"] == rule["id"]]
        until(lambda: now() == ["firing"], "what the newest sample does not have is not watched")
        sender.sample({"cpu": 2}, {"temperature": 42}, at=began + 200 * 10**9)
        until(lambda: now() == [], "it holds for ever")
        self.assertNotIn("remap_failed", state("gpus/GPU-node-rare-0", temperature=42))

    def test_processes_parts_and_counts_of_a_monitor(self):
        """Rows of a monitor's session make firings that name the process or the part; one of an ended process resolves."""
        sender, began = Sender(self.server, self.key, "watch-1", "node-watch", gpus=2), 10**9
        row = {"rows": 1, "time": began}
        sender.sample({"cpu": 1}, {"temperature": 40}, {"temperature": 41}, at=began)
        sender.send({"type": "process_metric", **row, "rows": 3, "device": [1, 1, 2], "pid": [11, 12, 11],
                     "memory_used": [100, 900, 50], "sm_util": [5, None, 70]},
                    {"type": "instance_metric", **row, "rows": 2, "device": 2, "gpu_instance": [7, 9], "memory_used": [10, 20], "sm_active": [9000, None]},
                    {"type": "monitor", **row, "rounds": 3, "rows_lost": 4})

        def state(of, name, value):
            def ask():
                answer = self.server.ask("GET", "/api/v1/" + of, Authorization=self.key)
                return answer.status == 200 and (answer.json()["state"] or {}).get(name) == value
            return until(ask, f"{of}: {name} is never {value}")
        state("gpus/GPU-node-watch-0", "process", {"memory_used": [100, 11, 900, 12], "sm_util": [5, 11, 5, 11]})
        state("gpus/GPU-node-watch-1", "part", {"memory_used": [10, 7, 20, 9], "sm_active": [9000, 7, 9000, 7]})
        state("hosts/node-watch", "monitor", {"rounds": 3, "rows_lost": 4})
        rules = {subject: self.rule(subject=subject, threshold=threshold, above=above, host="node-watch")["id"] for subject, threshold, above in
                 (("process.memory_used", 500, True), ("process.sm_util", 10, False), ("part.sm_active", 8000, True), ("monitor.rows_lost", 0, True))}

        def firing():
            return {f["alert"]: (f["subject"], f["text"]) for f in self.ask("GET", "firings/open")["rows"] if f["alert"] in rules.values()}
        until(lambda: len(firing()) == 4, lambda: f"not all fire: {firing()}")
        self.assertEqual(firing()[rules["process.memory_used"]],
                         ("GPU-node-watch-0", "process.memory_used of process 12 on GPU 0 of node-watch is 900, above 500"))
        self.assertEqual(firing()[rules["part.sm_active"]][0], "GPU-node-watch-1")
        sender.send({"type": "gpu_process", **row, "time": began + 10**9, "device": 1, "pid": 12, "phase": 1},
                    {"type": "process_metric", **row, "time": began + 10**9, "device": 1, "pid": 11, "memory_used": 100, "sm_util": 50})
        until(lambda: set(firing()) == {rules["part.sm_active"], rules["monitor.rows_lost"]}, lambda: f"a process that ceased fires: {firing()}")
        sender.sample({"cpu": 1}, {"temperature": 40}, {"temperature": 41}, at=began + 200 * 10**9)
        until(lambda: not firing(), lambda: f"what nobody reports any more fires: {firing()}")

    def test_a_monitor_and_a_program_that_samples_by_itself(self):
        """What the monitor alone knows stays known when the program's samples come, so that no rule about it resolves
        and fires again with each of them."""
        second, row = 10**9, {"rows": 1, "device": 1}
        began = time.time_ns() - 20 * second
        monitor = Sender(self.server, self.key, "both-m", "node-both", gpus=1, app="gpufl-monitor", began=began)
        program = Sender(self.server, self.key, "both-p", "node-both", gpus=1, began=began)
        rules = [self.rule(subject=subject, threshold=threshold, host="node-both")["id"]
                 for subject, threshold in (("gpu.sm_active", 1), ("process.memory_used", 500), ("monitor.rows_lost", 0))]

        def monitor_sends(at, *rows):
            monitor.sample({"cpu": 1}, {"power": 100, "sm_active": 9000}, at=at)
            monitor.send({"type": "process_metric", "time": at, "pid": 11, "memory_used": 900, **row},
                         {"type": "monitor", "rows": 1, "time": at, "rounds": 3, "rows_lost": 4}, *rows)

        def gpu(**known):
            def ask():
                answer = self.server.ask("GET", "/api/v1/gpus/GPU-node-both-0", Authorization=self.key)
                state = answer.status == 200 and answer.json()["state"] or {}
                return state if all(state.get(k) == v for k, v in known.items()) else None
            return until(ask, f"the GPU never has {known}")

        def firings(path="firings/open"):
            return sorted(f["id"] for f in self.ask("GET", path)["rows"] if f["alert"] in rules)
        monitor_sends(second)
        first = until(lambda: len(firings()) == 3 and firings(), lambda: f"not all fire: {firings()}")
        for k in range(2, 8):  # the program's samples are newer than the monitor's, which come later
            program.sample({"cpu": 2}, {"power": 200 + k}, at=k * second)
            state = gpu(power=200 + k)
            self.assertEqual((state["session"], state["sm_active"], state["process"]["memory_used"][2]), ("both-p", 9000, 900), state)
            self.assertEqual(set(state["kept"]), {"sm_active", "process"}, state)
            self.assertEqual({session for _, session in state["kept"].values()}, {"both-m"})
            monitor_sends(k * second - second // 2)
            late = str(began + k * second - second // 2)
            until(lambda: {at for at, _ in gpu(power=200 + k)["kept"].values()} == {late}, "what came late is not kept")
        self.assertEqual(self.ask("GET", "hosts/node-both")["state"]["monitor"], {"rounds": 3, "rows_lost": 4})
        mark = self.rule(subject="gpu.power", threshold=150, host="node-both")["id"]
        until(lambda: [f for f in self.ask("GET", "firings/open")["rows"] if f["alert"] == mark], "no round came after these samples")
        self.assertEqual((firings(), firings("firings")), (first, first))  # none has ended, and none has begun again
        monitor_sends(9 * second, {"type": "gpu_process", "time": 9 * second, "pid": 11, "phase": 1, **row})
        gpu(session="both-m")
        program.sample({"cpu": 2}, {"power": 210}, at=10 * second)
        self.assertNotIn("process", gpu(power=210))
        until(lambda: len(firings()) == 2, lambda: f"a process that ceased fires: {firings()}")

    def test_what_fails_is_tried_again(self):
        with contextlib.closing(Receiver(503)) as receiver:
            rule = self.rule(receiver.url, subject="host.cpu", threshold=50, host="node-retry")
            Sender(self.server, self.key, "retry-1", "node-retry", gpus=1).sample({"cpu": 60}, {})
            first = receiver.got.get(timeout=2 * PATIENCE)
            row = until(lambda: [d for d in self.deliveries(rule) if d["status"]], "the first attempt is noted")[0]
            self.assertEqual((row["state"], row["status"], row["attempts"], row["error"]),
                             ("waiting", 503, 1, "it answered 503"))
            self.assertGreater(int(row["next"]), int(row["created"]))
            second = receiver.got.get(timeout=2 * PATIENCE)
            self.assertEqual(second[2], first[2])
            self.assertEqual(second[1]["X-GpuFlight-Delivery"], first[1]["X-GpuFlight-Delivery"])
            row = until(lambda: [d for d in self.deliveries(rule) if d["state"] == "sent"], "it is sent")[0]
            self.assertEqual((row["attempts"], row["error"]), (2, ""))
        self.ask("DELETE", f"alerts/{rule['id']}", status=204)

    def test_tests_and_what_is_given_up(self):
        with contextlib.closing(Receiver(200, 404, 302, 500)) as receiver:
            rule = self.rule(receiver.url + "/t", enabled=False)
            for status, state in ((200, "sent"), (404, "failed"), (302, "failed"), (500, "failed")):
                made = self.ask("POST", f"alerts/{rule['id']}/test")
                said = json.loads(receiver.got.get(timeout=PATIENCE)[2])
                self.assertEqual((said["event"], said["firing"]), ("test", None))
                row = until(lambda m=made: [d for d in self.deliveries(rule)
                                                 if d["id"] == m["id"] and d["state"] != "waiting"], "it is noted")[0]
                self.assertEqual((row["state"], row["status"]), (state, status))
            self.assertTrue(receiver.got.empty())  # no redirect was followed, and no test was sent twice
        made = self.ask("POST", f"alerts/{rule['id']}/test")  # nobody listens there any more
        row = until(lambda: [d for d in self.deliveries(rule)
                                  if d["id"] == made["id"] and d["state"] != "waiting"], "it is noted")[0]
        self.assertEqual((row["state"], row["status"]), ("failed", 0))
        silent = self.rule("", enabled=False)
        self.ask("POST", f"alerts/{silent['id']}/test", status=409)
        self.ask("POST", "alerts/nobody/test", status=404)

    def test_a_hook_that_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            rule = self.rule(f"http://127.0.0.1:{deaf.getsockname()[1]}/", enabled=False)
            made = self.ask("POST", f"alerts/{rule['id']}/test")
            row = until(lambda: [d for d in self.deliveries(rule)
                                      if d["id"] == made["id"] and d["state"] != "waiting"], "it is given up")[0]
            self.assertEqual((row["state"], row["status"]), ("failed", 0))

    def test_rules(self):
        rule = self.rule("http://127.0.0.1:9/very/secret?path=1", app="nobody", secret=SECRET)
        self.assertEqual(self.ask("GET", f"alerts/{rule['id']}"), rule)
        changed = self.ask("PUT", f"alerts/{rule['id']}", {"name": "warm", "kind": "metric", "subject": "host.cpu",
                                                          "threshold": 9000, "enabled": False})
        self.assertEqual((changed["name"], changed["subject"], changed["url"], changed["enabled"], changed["created"]),
                         ("warm", "host.cpu", "", False, rule["created"]))
        read = self.server.make_key("read")
        masked = self.rule("http://127.0.0.1:9/very/secret?path=1", app="nobody")
        seen = self.server.ask("GET", f"/api/v1/alerts/{masked['id']}", Authorization=read)
        self.assertEqual(seen.json()["url"], "http://127.0.0.1:9/…")
        self.assertNotIn(b"secret", self.server.ask("GET", "/api/v1/alerts", Authorization=read).body)
        self.assertEqual(self.server.ask("GET", "/api/v1/deliveries", Authorization=read).status, 403)
        for wrong in ({"subject": "gpu.nothing"}, {"kind": "other"}, {"threshold": "x"}, {"url": "file:///etc/passwd"},
                      {"url": "http://a:b@127.0.0.1/"}, {"url": "http://h/\r\nX: y"}, {"secret": "short"},
                      {"hold": -1}, {"kind": "insight", "subject": "nonsense"}):
            answer = self.server.ask("POST", "/api/v1/alerts", {
                "name": "x", "kind": "metric", "subject": "host.cpu", "threshold": 1, **wrong}, Authorization=self.key)
            self.assertEqual(answer.status, 400, f"{wrong}: {answer}")
        self.ask("DELETE", f"alerts/{rule['id']}", status=204)
        self.ask("DELETE", f"alerts/{rule['id']}", status=404)
        self.ask("PUT", f"alerts/{rule['id']}", {"name": "x", "kind": "metric", "subject": "host.cpu",
                                                "threshold": 1}, status=404)
        actions = [row["action"] for row in self.ask("GET", "audit?limit=50")["rows"]]
        for action in ("alert.create", "alert.change", "alert.delete"):
            self.assertIn(action, actions)


class Reach(unittest.TestCase):
    """Without the operator's word nobody reaches this machine: not by address, not by a name that leads there."""

    def test_this_machine(self):
        with contextlib.closing(Receiver()) as receiver, Server(PROGRAM) as server:
            server.set_up()
            port = receiver.server_address[1]
            rule = {"name": "x", "kind": "metric", "subject": "host.cpu", "threshold": 1, "enabled": False}
            for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1",
                         "2130706433", "0x7f.1"):
                answer = server.as_user("POST", "/api/v1/alerts", {**rule, "url": f"http://{host}:{port}/"})
                self.assertEqual(answer.status, 400, f"{host}: {answer}")
                self.assertIn("--webhooks", answer.json()["detail"])
            # Where a name leads is known when the connection is made.
            for host in ("localhost.localdomain", socket.gethostname()):
                made = server.as_user("POST", "/api/v1/alerts", {**rule, "url": f"http://{host}:{port}/"})
                self.assertEqual(made.status, 200, made)
                test = server.as_user("POST", f"/api/v1/alerts/{made.json()['id']}/test").json()["id"]
                deadline = time.monotonic() + 2 * PATIENCE
                while True:
                    row = [d for d in server.as_user("GET", "/api/v1/deliveries").json()["rows"] if d["id"] == test][0]
                    if row["state"] != "waiting":
                        break
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                self.assertEqual((row["state"], row["status"]), ("failed", 0), f"{host}: {row}")
            self.assertTrue(receiver.got.empty())

    def test_what_the_operator_names(self):
        with contextlib.closing(Receiver()) as receiver, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            ports = [receiver.server_address[1], closed.getsockname()[1]]
            allow = ",".join(f"127.0.0.1:{port}" for port in ports)
            with Server(PROGRAM, "--webhooks-allow", allow) as server:
                server.set_up()
                rule = {"name": "x", "kind": "metric", "subject": "host.cpu", "threshold": 1, "enabled": False}
                rows = []
                for port in ports:
                    made = server.as_user("POST", "/api/v1/alerts", {**rule, "url": f"http://127.0.0.1:{port}/"})
                    self.assertEqual(made.status, 200, made)
                    test = server.as_user("POST", f"/api/v1/alerts/{made.json()['id']}/test").json()["id"]
                    rows.append(until(lambda: [d for d in server.as_user("GET", "/api/v1/deliveries").json()["rows"]
                                               if d["id"] == test and d["state"] != "waiting"], "it is over")[0])
                other = server.as_user("POST", "/api/v1/alerts", {**rule, "url": "http://127.0.0.1:9/"})
                self.assertEqual(other.status, 400, other)
            self.assertEqual([row["state"] for row in rows], ["sent", "failed"])
            self.assertEqual(rows[1]["error"], "no answer came; the server's log says why")

    def test_private_networks_are_veiled(self):
        """A member sees one and the same for a port that answers, one that refuses, one that is closed, and an unknown name."""
        with contextlib.closing(Receiver()) as receiver, contextlib.closing(Receiver(404, 404)) as refusing, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            ports = [receiver.server_address[1], refusing.server_address[1], closed.getsockname()[1]]
            for options, named in ((("--webhooks", "any"), None), (("--webhooks", "any", "--webhooks-allow", f"127.0.0.1:{ports[1]}"), 1)):
                with Server(PROGRAM, *options) as server:
                    server.set_up()
                    key = server.make_key("ingest,read,admin")
                    rule = {"name": "x", "kind": "metric", "subject": "host.cpu", "threshold": 1, "enabled": False}
                    urls = [f"http://127.0.0.1:{port}/" for port in ports] + ["http://nobody.invalid/"]
                    ids = []
                    for url in urls:
                        made = server.as_user("POST", "/api/v1/alerts", {**rule, "url": url})
                        self.assertEqual(made.status, 200, made)
                        ids.append(server.as_user("POST", f"/api/v1/alerts/{made.json()['id']}/test").json()["id"])

                    def rows(*who, **fields):
                        answer = server.ask("GET", "/api/v1/deliveries", **fields) if fields else server.as_user("GET", "/api/v1/deliveries")
                        self.assertEqual(answer.status, 200, answer)
                        found = {d["id"]: (d["state"], d["status"], d["attempts"], bool(d["error"]), d["sent"] == d["created"]) for d in answer.json()["rows"]}
                        return [found[i] for i in ids]

                    veiled = ("sent", 0, 1, False, True)
                    if named is None:
                        self.assertEqual(rows(Authorization=key), [veiled] * 4)
                    until(lambda: all(row[0] != "waiting" for row in rows()), "all posts are over")
                    self.assertEqual([row[:2] for row in rows()], [("sent", 200), ("failed", 404), ("failed", 0), ("failed", 0)])
                    want = [veiled] * 4
                    if named is not None:
                        want[named] = ("failed", 404, 1, True, False)
                    self.assertEqual(rows(Authorization=key), want)

    def test_private_reach(self):
        """With `private` a post to a private address comes, and is veiled. The address is in a network of the test's own."""
        enter = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-Urn"]
        setup = f"ip link set lo up && ip addr add {PRIVATE}/32 dev lo"
        if not os.environ.get("GPUFL_OWN_NETWORK"):
            if subprocess.run([*enter, "sh", "-c", setup], check=False, capture_output=True).returncode:
                self.skipTest("no network of its own here")
            done = subprocess.run([*enter, "sh", "-c", setup + ' && exec "$@"', "sh", sys.executable, *sys.argv[:4], "Reach.test_private_reach"],
                                  env={**os.environ, "GPUFL_OWN_NETWORK": "1"}, capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("skipped", done.stderr)
            return
        with contextlib.closing(Receiver(404, address=PRIVATE)) as receiver, Server(PROGRAM, "--webhooks", "private") as server:
            server.set_up()
            key = server.make_key("ingest,read,admin")
            rule = {"name": "x", "kind": "metric", "subject": "host.cpu", "threshold": 1, "enabled": False}
            made = server.as_user("POST", "/api/v1/alerts", {**rule, "url": receiver.url})
            self.assertEqual(made.status, 200, made)
            server.as_user("POST", f"/api/v1/alerts/{made.json()['id']}/test")
            receiver.got.get(timeout=2 * PATIENCE)
            until(lambda: server.as_user("GET", "/api/v1/deliveries").json()["rows"][0]["state"] == "failed", "the post is over")
            row = server.ask("GET", "/api/v1/deliveries", Authorization=key).json()["rows"][0]
            self.assertEqual((row["state"], row["status"], row["attempts"], row["error"]), ("sent", 0, 1, ""))

    def test_off(self):
        with Server(PROGRAM, "--webhooks", "off") as server:
            server.set_up()
            rule = {"name": "x", "kind": "metric", "subject": "host.cpu", "threshold": 1}
            self.assertEqual(server.as_user("POST", "/api/v1/alerts", {**rule, "url": "https://example.org"}).status, 400)
            self.assertEqual(server.as_user("POST", "/api/v1/alerts", rule).status, 200)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
