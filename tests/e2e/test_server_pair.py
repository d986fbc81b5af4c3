"""Two servers on one PostgreSQL: data that both have, data that only one has, and work that is done once.

Usage: postgres.py test_server_pair.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import json
import os
import queue
import signal
import sys
import unittest

import postgres
from fleet_sender import Receiver, Sender
from patience import PATIENCE, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
AT = f"/api/v1/sessions/{SESSION}"
LEASE = 30  # s, for which one server evaluates the alerts


class Pair(unittest.TestCase):
    def setUp(self):
        options = ("--webhooks", "any", "--meta", postgres.new_database())
        self.one = Server(PROGRAM, *options)
        self.addCleanup(self.one.__exit__)
        self.one.set_up()
        self.two = Server(PROGRAM, *options)
        self.addCleanup(self.two.__exit__)
        self.two.cookie, self.two.csrf = self.one.cookie, self.one.csrf
        self.key = self.one.make_key("ingest,read,admin")

    def test_what_both_know(self):
        """Both servers have logins, keys, the list of sessions, hosts, reports, findings and the audit log, but not the rows."""
        self.assertEqual(self.two.as_user("GET", "/api/v1/auth/me").json()["name"], "ada@example.org")
        self.one.load(self.key, FOLDER)
        for target in ("/api/v1/sessions", AT, AT + "/report", AT + "/summary", AT + "/insights", AT + "/findings",
                       AT + "/flame", "/api/v1/hosts", "/api/v1/gpus", "/api/v1/findings",
                       "/api/v1/fleet?by=app&from=0&to=1000000"):
            with self.subTest(target=target):
                mine, other = (s.ask("GET", target, Authorization=self.key) for s in (self.one, self.two))
                self.assertEqual((mine.status, mine.body), (200, other.body), f"{mine} {other}")
        # Rows are with the server that received the session.
        mine, other = (s.ask("GET", AT + "/kernels", Authorization=self.key) for s in (self.one, self.two))
        self.assertEqual(mine.status, 200)
        self.assertGreater(mine.json()["rows"], 0)
        self.assertEqual(other.status, 421, other)
        self.assertEqual(self.two.ask("GET", AT + "/export.ndjson", Authorization=self.key).status, 421)
        # What one server revokes, the other one refuses at once.
        key = next(k for k in self.one.as_user("GET", "/api/v1/keys").json()["rows"])
        self.assertEqual(self.two.as_user("DELETE", "/api/v1/keys/" + key["id"]).status, 204)
        self.assertEqual(self.one.ask("GET", AT, Authorization=self.key).status, 401)

    def test_over_with_its_final_report(self):
        """A client that sees at the other server that a session has ended and is analysed finds its final report there."""
        def at_two(part=""):
            return self.two.ask("GET", AT + part, Authorization=self.key)

        self.one.send(self.key, FOLDER)
        until(lambda: at_two().status == 200 and at_two().json()["analyzed"], "no report of the live session")
        if at_two("/insights").json()["final"]:  # the log has its end: on a busy machine the server has ended it by now
            self.assertEqual(at_two().json()["state"], "ended")
        self.one.complete(self.key, SESSION)

        def over():
            row = at_two().json()
            return row["state"] == "ended" and row["analyzed"]

        until(over, "it is not over")
        self.assertIs(at_two("/insights").json()["final"], True)

    def test_quotas_of_both(self):
        """A limit that is set at one server holds at the other within a minute, and so does what one of them counted."""
        place = self.one.as_user("GET", "/api/v1/auth/me").json()["workspaces"][0]["workspace"]
        answer = self.one.as_user("PUT", "/api/v1/quota", {"of": "workspace", "id": place, "limits": "sessions=2"})
        self.assertEqual(answer.status, 204, answer)

        def used(server):
            rows = server.ask("GET", "/api/v1/quota", Authorization=self.key).json()["limits"]
            return {(row["of"], row["what"]): (row["used"], row["limit"]) for row in rows}

        def begin(server, number):
            return server.ask("POST", "/api/v1/events/stream", b"{}\n", Authorization=self.key,
                              X_GpuFlight_Session_Id=f"5d0e3f7a-9c41-4b2e-8a6d-{number:012x}")

        def refused(server, number):
            answer = begin(server, number)
            self.assertEqual(answer.status, 429, answer)
            self.assertIn("its 2 sessions of this day", answer.json()["detail"])
            self.assertGreater(int(answer.fields["Retry-After"]), 0)

        both = 60 + 2 * PATIENCE
        self.assertEqual(used(self.one), {("workspace", "sessions"): (0, 2)})
        until(lambda: used(self.two) == {("workspace", "sessions"): (0, 2)}, "the other server has no limit", both)
        self.assertEqual(begin(self.one, 1).status, 200)
        self.assertEqual(begin(self.two, 2).status, 200)
        for server in (self.one, self.two):
            until(lambda: used(server) == {("workspace", "sessions"): (2, 2)}, "it does not know what the other one counted", both)
            refused(server, 3)
            self.assertEqual(begin(server, 1).status, 200)  # what has begun goes on, here as well
        self.two.stop(signal.SIGKILL)
        self.two.start()
        self.assertEqual(used(self.two), {("workspace", "sessions"): (2, 2)})
        refused(self.two, 3)

    def test_deleting_frees_the_other_ones_disk(self):
        self.one.load(self.key, FOLDER)
        columns = os.path.join(self.one.data, "columns")

        def there():
            return any(SESSION in name for _, folders, files in os.walk(columns) for name in folders + files)

        self.assertTrue(there())
        self.assertEqual(self.two.as_user("DELETE", AT).status, 204)
        self.assertEqual(self.one.ask("GET", AT, Authorization=self.key).status, 404)
        until(lambda: not there(), "its columns are still on the disk", 60 + 2 * PATIENCE)

    def test_deleted_by_the_other_one(self):
        """What one server deletes is gone at the other at once: from lists, from answers that it has given before, tags
        included, and from the findings of the fleet's sums. What the session used stays in them."""
        fleet = "/api/v1/fleet?by=app&from=0&to=1000000"
        gone = ("", "/kernels", "/summary", "/insights", "/report", "/findings", "/flame", "/export.ndjson")
        self.one.load(self.key, FOLDER)

        def ask(target, **fields):
            return self.one.ask("GET", target, Authorization=self.key, **fields)

        def summed():
            rows = ask(fleet).json()["rows"]
            return rows[0] if rows and rows[0]["findings"] else None

        until(summed, "the fleet has no findings")
        before = summed()
        tags = {part: ask(AT + part).fields["ETag"] for part in gone if "ETag" in ask(AT + part).fields}
        self.assertIn("/kernels", tags)
        for part, tag in tags.items():
            self.assertEqual(ask(AT + part, If_None_Match=tag).status, 304, part)
        self.assertEqual([row["id"] for row in ask("/api/v1/sessions").json()["rows"]], [SESSION])
        self.assertNotEqual(ask("/api/v1/findings").json()["rows"], [])

        self.assertEqual(self.two.as_user("DELETE", AT).status, 204)
        for part in gone:
            self.assertEqual(ask(AT + part).status, 404, part)
        for part, tag in tags.items():
            self.assertEqual(ask(AT + part, If_None_Match=tag).status, 404, part)
        for target in ("/api/v1/sessions", "/api/v1/findings", "/api/v1/running"):
            self.assertEqual(ask(target).json()["rows"], [], target)
        after = ask(fleet).json()["rows"][0]
        self.assertEqual((after["findings"], after["session"], after["rule"], after["severity"]), (0, "", "", None))
        for name in ("name", "sessions", "gpus", "days", "wall", "kernels"):
            self.assertEqual(after[name], before[name], name)
        self.assertEqual(ask(AT + "/positions").status, 410)
        self.assertEqual(ask(fleet).body, self.two.ask("GET", fleet, Authorization=self.key).body)

    def test_a_live_one_deleted_by_the_other_one(self):
        """Data sent to the server that first received the session are refused, and do not bring the session back."""
        sender = Sender(self.one, self.key, "gone", "node-1", gpus=1)
        sender.sample({"cpu": 90}, {})

        def listed(server):
            return [row["id"] for row in server.ask("GET", "/api/v1/sessions", Authorization=self.key).json()["rows"]]

        until(lambda: listed(self.two) == ["gone"], "it is not in the list")
        self.assertEqual(self.two.as_user("DELETE", "/api/v1/sessions/gone").status, 204)
        answer = self.one.ask("POST", "/api/v1/events/stream", b'{"type":"host_metric","rows":1,"time":9,"cpu":1}\n',
                              Authorization=self.key, X_GpuFlight_Session_Id="gone", X_GpuFlight_Channel="system",
                              X_GpuFlight_Offset=str(sender.offset))
        self.assertEqual(answer.status, 410, answer)
        self.assertEqual(self.one.ask("GET", "/api/v1/sessions/gone/positions", Authorization=self.key).status, 410)
        for server in (self.one, self.two):
            self.assertEqual(listed(server), [])
            self.assertEqual(server.ask("GET", "/api/v1/running", Authorization=self.key).json()["rows"], [])

    def test_alerts_are_sent_once_and_go_on(self):
        with contextlib.closing(Receiver()) as receiver:
            rule = {"name": "hot", "kind": "metric", "subject": "host.cpu", "threshold": 50, "url": receiver.url}
            self.assertEqual(self.two.as_user("POST", "/api/v1/alerts", rule).status, 200)
            senders = [Sender(server, self.key, f"pair-{i}", f"node-{i}", gpus=1)
                       for i, server in enumerate((self.one, self.two))]
            for sender in senders:
                sender.sample({"cpu": 90}, {})
            got = [json.loads(receiver.got.get(timeout=2 * PATIENCE)[2]) for _ in senders]
            self.assertEqual(sorted(g["firing"]["subject"] for g in got), ["node-0", "node-1"])
            with self.assertRaises(queue.Empty):  # three rounds of each server's
                receiver.got.get(timeout=16)
            # One is killed: whichever has the lease, the other one evaluates alerts.
            self.one.process.send_signal(signal.SIGKILL)
            self.one.process.wait()
            senders[1].sample({"cpu": 10}, {})
            said = json.loads(receiver.got.get(timeout=LEASE + 2 * PATIENCE)[2])
            self.assertEqual((said["event"], said["firing"]["subject"]), ("resolved", "node-1"))
            leases = self.two.as_user("GET", "/api/v1/firings").json()["rows"]
            self.assertEqual(len(leases), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
