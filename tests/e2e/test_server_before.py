"""Data folders that older builds of the server made (tests/data/stores): they are migrated, give the answers of their own
build, continue at their position, and pass `check`.

Usage: test_server_before.py gpufl-server gpufl SOURCE_DIR
       test_server_before.py gpufl-server gpufl SOURCE_DIR --make NAME     makes tests/data/stores/NAME with that build"""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

from fleet_sender import Sender
from patience import PATIENCE, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
STORES = os.path.join(SOURCE, "tests", "data", "stores")
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
PEER = os.path.join(SOURCE, "tests", "data", "peer", "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34")
LIVE, BEGAN, SAMPLES = "still-live", 1790000000 * 10**9, 5
USER = {"email": "ada@example.org", "password": "correct horse battery"}
PARTS = ("counts", "kernels?limit=1000", "positions")  # of a session


def facts_of(server, key):
    """Returns what a client sees of the sessions: rows by record, kernels, positions, and the list's numbers."""
    rows = server.ask("GET", "/api/v1/sessions?limit=100", Authorization=key).json()["rows"]
    facts = {row["id"]: {"row": {k: row[k] for k in ("app", "host", "pid", "state", "kernels", "records", "started")}} for row in rows}
    for name, fact in facts.items():
        for part in PARTS:
            answer = server.ask("GET", f"/api/v1/sessions/{name}/{part}", Authorization=key)
            assert answer.status == 200, answer
            fact[part] = answer.json()
        counts, kernels = fact["counts"]["data"], fact["kernels?limit=1000"]
        fact["counts"] = dict(zip(counts["record"], counts["rows"]))
        fact["kernels?limit=1000"] = sorted(zip((kernels["mangled"][i] for i in kernels["data"]["name"]), kernels["data"]["calls"],
                                                kernels["data"]["total"]))
        fact["positions"] = sorted((c["channel"], c["offset"]) for c in fact["positions"]["channels"])
    return json.loads(json.dumps(facts))


def simulate(folder, kernels):
    subprocess.run([GPUFL, "sim", "-k", str(kernels), "--scopes", "--seed", "5", "-o", folder], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, os.listdir(folder)[0])


def make(name):
    """A recorded session, a small one, one of the public client's, and one that is live; the server has ended."""
    with tempfile.TemporaryDirectory() as folder, Server(PROGRAM, data=os.path.join(folder, "data")) as server:
        server.set_up()
        key = server.make_key("ingest,read,admin")
        for sent in (FOLDER, simulate(os.path.join(folder, "sim"), 500), PEER):
            server.load(key, sent)
        live = Sender(server, key, LIVE, "node-7", gpus=1, began=BEGAN)
        for i in range(SAMPLES):
            live.sample({"cpu": 10 + i}, {"gpu_util": 50 + i}, at=i * 10**9)
        until(lambda: facts_of(server, key).get(LIVE, {}).get("counts", {}).get("host_metric") == SAMPLES, "the live session")
        facts = {"key": key, "offset": live.offset, "sessions": facts_of(server, key)}
        assert server.stop() == 0, server.errors()
        with tarfile.open(os.path.join(STORES, name + ".tar.xz"), "w:xz") as out:
            out.add(server.data, "data", filter=lambda one: None if one.name.endswith("/lock") else one)
        with open(os.path.join(STORES, name + ".json"), "w", encoding="utf-8") as out:
            json.dump(facts, out, indent=1, sort_keys=True)
            out.write("\n")


class Before(unittest.TestCase):
    maxDiff = None

    def command(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)

    def goes_on(self, name, data, facts):
        """The store works as before, migrated."""
        with Server(PROGRAM, data=data) as server:
            now = facts_of(server, facts["key"])
            self.assertIn(now[LIVE]["row"]["state"], ("live", "aborted"))  # it has sent nothing since
            now[LIVE]["row"]["state"] = "live"
            self.assertEqual(now, facts["sessions"])
            # Tables that were added later are empty in such sessions.
            for session in facts["sessions"]:
                later = server.ask("GET", f"/api/v1/sessions/{session}/marks", Authorization=facts["key"])
                self.assertEqual((later.status, later.json()["rows"]), (200, 0), later)
                found = server.ask("GET", f"/api/v1/sessions/{session}/search?pattern=mark&kind=12", Authorization=facts["key"])
                self.assertEqual((found.status, found.json()["rows"]), (200, 0), found)
            login = server.ask("POST", "/api/v1/auth/login", USER)
            self.assertEqual(login.status, 200, login)
            # Every session has its report by today's rules, without being sent again.
            for session, fact in facts["sessions"].items():
                if fact["row"]["state"] != "live":
                    def final(at=f"/api/v1/sessions/{session}/insights"):
                        answer = server.ask("GET", at, Authorization=facts["key"])
                        return answer.status == 200 and answer.json()["final"]
                    until(final, f"{session} has no final report")
            # The live session goes on at its offset; lines that come again count once; new sessions are accepted.
            live = Sender.__new__(Sender)
            live.server, live.key, live.session, live.host, live.offset, live.began = server, facts["key"], LIVE, "node-7", facts["offset"], BEGAN
            live.sample({"cpu": 99}, {"gpu_util": 99}, at=SAMPLES * 10**9)
            until(lambda: facts_of(server, facts["key"])[LIVE]["counts"]["host_metric"] == SAMPLES + 1, "the live session does not go on")
            server.load(facts["key"], FOLDER)
            with tempfile.TemporaryDirectory() as folder:
                new = server.load(facts["key"], simulate(folder, 200))
            now = facts_of(server, facts["key"])
            self.assertEqual(now[new]["row"]["kernels"], 200)
            again = os.path.basename(FOLDER)
            self.assertEqual(now[again]["counts"], facts["sessions"][again]["counts"])
            self.assertEqual(server.stop(), 0, server.errors())

    def test_stores(self):
        names = sorted(name[:-7] for name in os.listdir(STORES) if name.endswith(".tar.xz"))
        self.assertGreaterEqual(len(names), 2)
        for name in names:
            with self.subTest(store=name), tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(STORES, name + ".json"), encoding="utf-8") as file:
                    facts = json.load(file)
                with tarfile.open(os.path.join(STORES, name + ".tar.xz")) as archive:
                    archive.extractall(folder)
                data = os.path.join(folder, "data")
                kept = shutil.copytree(data, os.path.join(folder, "kept"))
                migrated = self.command("migrate", "--data", data)
                self.assertEqual(migrated.returncode, 0, migrated)
                checked = self.command("check", "--data", data)
                self.assertEqual(checked.returncode, 0, checked)
                self.goes_on(name, data, facts)
                checked = self.command("check", "--data", data)
                self.assertEqual(checked.returncode, 0, checked)
                self.goes_on(name, kept, facts)  # the server's own start migrates, too


if __name__ == "__main__":
    if sys.argv[4:5] == ["--make"]:
        make(sys.argv[5])
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
