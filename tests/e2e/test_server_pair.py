"""Two servers side by side on one PostgreSQL: what both know, what only one does, and what is done once.

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
LEASE = 30  # s, that the evaluation of alerts is one server's


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
        """Logins, keys, the list of sessions, hosts, reports, findings, the audit log: all but rows."""
        self.assertEqual(self.two.as_user("GET", "/api/v1/auth/me").json()["name"], "ada@example.org")
        self.one.load(self.key, FOLDER)
        for target in ("/api/v1/sessions", AT, AT + "/report", AT + "/summary", AT + "/insights", AT + "/findings",
                       AT + "/flame", "/api/v1/hosts", "/api/v1/gpus", "/api/v1/findings",
                       "/api/v1/fleet?by=app&from=0&to=1000000"):
            with self.subTest(target=target):
                mine, other = (s.ask("GET", target, Authorization=self.key) for s in (self.one, self.two))
                self.assertEqual((mine.status, mine.body), (200, other.body), f"{mine} {other}")
        # Rows stand with the server that took the session in.
        mine, other = (s.ask("GET", AT + "/kernels", Authorization=self.key) for s in (self.one, self.two))
        self.assertEqual(mine.status, 200)
        self.assertGreater(mine.json()["rows"], 0)
        self.assertEqual(other.status, 421, other)
        self.assertEqual(self.two.ask("GET", AT + "/export.ndjson", Authorization=self.key).status, 421)
        # What one revokes the other refuses at once.
        key = next(k for k in self.one.as_user("GET", "/api/v1/keys").json()["rows"])
        self.assertEqual(self.two.as_user("DELETE", "/api/v1/keys/" + key["id"]).status, 204)
        self.assertEqual(self.one.ask("GET", AT, Authorization=self.key).status, 401)

    def test_over_with_its_final_report(self):
        """Whoever sees at the other server that a session is over, and analysed, finds its final report there."""
        def at_two(part=""):
            return self.two.ask("GET", AT + part, Authorization=self.key)

        self.one.send(self.key, FOLDER)
        until(lambda: at_two().status == 200 and at_two().json()["analyzed"], "no report of the live session")
        self.assertIs(at_two("/insights").json()["final"], False)
        self.one.complete(self.key, SESSION)

        def over():
            row = at_two().json()
            return row["state"] == "ended" and row["analyzed"]

        until(over, "it is not over")
        self.assertIs(at_two("/insights").json()["final"], True)

    def test_quotas_of_both(self):
        """A limit that is set at one server holds at the other within a minute; each counts what came to itself."""
        place = self.one.as_user("GET", "/api/v1/auth/me").json()["workspaces"][0]["workspace"]
        answer = self.one.as_user("PUT", "/api/v1/quota", {"of": "workspace", "id": place, "limits": "sessions=1"})
        self.assertEqual(answer.status, 204, answer)

        def used(server):
            rows = server.ask("GET", "/api/v1/quota", Authorization=self.key).json()["limits"]
            return {(row["of"], row["what"]): (row["used"], row["limit"]) for row in rows}

        def begin(server, number):
            return server.ask("POST", "/api/v1/events/stream", b"{}\n", Authorization=self.key,
                              X_GpuFlight_Session_Id=f"5d0e3f7a-9c41-4b2e-8a6d-{number:012x}")

        self.assertEqual(used(self.one), {("workspace", "sessions"): (0, 1)})
        until(lambda: used(self.two) == {("workspace", "sessions"): (0, 1)}, "the other server has no limit", 60 + 2 * PATIENCE)
        for number, server in enumerate((self.one, self.two)):
            self.assertEqual(begin(server, 2 * number).status, 200)
            refused = begin(server, 2 * number + 1)
            self.assertEqual(refused.status, 429, refused)
            self.assertIn("its 1 sessions of this day", refused.json()["detail"])
            self.assertGreater(int(refused.fields["Retry-After"]), 0)
            self.assertEqual(used(server), {("workspace", "sessions"): (1, 1)})

    def test_deleting_frees_the_other_ones_disk(self):
        self.one.load(self.key, FOLDER)
        columns = os.path.join(self.one.data, "columns")

        def there():
            return any(SESSION in name for _, folders, files in os.walk(columns) for name in folders + files)

        self.assertTrue(there())
        self.assertEqual(self.two.as_user("DELETE", AT).status, 204)
        self.assertEqual(self.one.ask("GET", AT, Authorization=self.key).status, 404)
        until(lambda: not there(), "its columns are still on the disk", 60 + 2 * PATIENCE)

    def test_alerts_are_told_once_and_go_on(self):
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
            # One is killed: whichever has the lease, the other one goes on.
            self.one.process.send_signal(signal.SIGKILL)
            self.one.process.wait()
            senders[1].sample({"cpu": 10}, {})
            said = json.loads(receiver.got.get(timeout=LEASE + 2 * PATIENCE)[2])
            self.assertEqual((said["event"], said["firing"]["subject"]), ("resolved", "node-1"))
            leases = self.two.as_user("GET", "/api/v1/firings").json()["rows"]
            self.assertEqual(len(leases), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
