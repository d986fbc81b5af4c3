#!/usr/bin/env python3
"""`gpufl-agent` after the acknowledgement: sessions are copied to S3-compatible storage, removed from the host, and restored.

    test_archive.py GPUFL GPUFL_AGENT
"""
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import ingest_server
import s3_run
from agent_run import Agent, Log
from patience import PATIENCE, until

GPUFL, AGENT = (pathlib.Path(p).absolute() for p in sys.argv[1:3])
PEER = s3_run.ROOT / "tests/data/peer/5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
QUICK = ("--wait-least", "10ms", "--wait-most", "50ms", "--delay", "20ms", "--timeout", "5s", "--no-names")


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


class Case(unittest.TestCase):
    number = 0

    @classmethod
    def setUpClass(cls):
        cls.store = s3_run.Store()
        cls.gate = s3_run.Proxy(cls.store.port)

    @classmethod
    def tearDownClass(cls):
        cls.gate.close()
        cls.store.close()

    def setUp(self):
        Case.number += 1
        self.prefix = f"a/case-{Case.number}"
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-archive-"))
        self.logs, self.state, self.into = self.dir / "logs", self.dir / "state", self.dir / "into"
        self.logs.mkdir()
        self.server = ingest_server.Server()
        self.place = f"s3://{s3_run.BUCKET}/{self.prefix}"
        self.key = self.dir / "key"
        self.key.write_text("[default]\naws_access_key_id = S3RVER\naws_secret_access_key = S3RVER\n")
        self.key.chmod(0o600)

    def tearDown(self):
        self.server.close()
        shutil.rmtree(self.dir)

    def proxy(self, **how):
        proxy = s3_run.Proxy(self.store.port, **how)
        self.addCleanup(proxy.close)
        return proxy

    def agent(self, *options, url=None, **more):
        return Agent(AGENT, self.state, self.server.url, [self.logs], *QUICK, "--archive", self.place,
                     "--archive-endpoint", url or self.gate.url, "--archive-key-file", self.key, *options, **more)

    def session(self, name, lines=200, rotate=4000, **more):
        log = Log(self.logs, name, rotate=rotate, **more)
        for n in range(lines):
            log.kernel(n)
        log.end()
        return log.folder

    def until_archived(self, agent, sessions):
        until(lambda: agent.status()["archive"]["archived"] >= sessions,
              lambda: f"{agent.status()} {agent.said()[-2000:]}")

    def until_gone(self, agent, *folders):
        until(lambda: not any(f.exists() for f in folders), lambda: f"{agent.status()} {agent.said()[-2000:]}")
        until(lambda: agent.status()["archive"]["removed"] >= len(folders), agent.said)

    def restore(self, *args, url=None, code=0, **more):
        ran = subprocess.run([AGENT, "restore", "--archive", self.place, "--into", self.into, *args],
                             capture_output=True, text=True, timeout=4 * PATIENCE, check=False,
                             env=s3_run.environment(url or self.gate.url), **more)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def manifests(self):
        return self.store.manifests(self.prefix)

    def object_of(self, session, file):
        """Returns where the storage keeps a file of a session."""
        manifest = json.loads(self.store.files()[f"{self.prefix}/{session}/manifest.json"].read_text())
        row = next(f for f in manifest["files"] if f["name"] == file)
        return self.store.files()[f"{self.prefix}/{session}/{row['object']}"]


class Signatures(unittest.TestCase):
    def test_the_tests_know_the_published_example(self):
        empty = hashlib.sha256(b"").hexdigest()
        headers = {"host": "examplebucket.s3.amazonaws.com", "range": "bytes=0-9", "x-amz-content-sha256": empty,
                   "x-amz-date": "20130524T000000Z"}
        self.assertEqual(s3_run.sign("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524T000000Z",
                                     "20130524/us-east-1/s3/aws4_request", "GET", "/test.txt", sorted(headers), headers,
                                     empty), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")


class Archives(Case):
    def test_a_session_goes_there_and_comes_back(self):
        folders = {"one": self.session("one"), "two": self.session("two", lines=3)}
        Log.pack(folders["one"] / "device.1.log")
        (folders["one"] / "notes.txt").write_text("of somebody else")
        shutil.copytree(PEER, self.logs / PEER.name)
        folders[PEER.name] = self.logs / PEER.name
        before = {name: contents(f) for name, f in folders.items()}
        times = {name: {p.name: p.stat().st_mtime_ns for p in f.iterdir()} for name, f in folders.items()}
        with self.agent() as agent:
            self.until_archived(agent, 3)
            status = agent.status()["archive"]
            command = pathlib.Path(f"/proc/{agent.process.pid}/cmdline").read_bytes()
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
            said = agent.said()
        self.assertEqual({name: contents(f) for name, f in folders.items()}, before)  # nothing is removed
        self.assertEqual((status["removed"], status["to_archive"], status["hold"]), (0, 0, "none"))
        manifests = self.manifests()
        self.assertEqual(set(manifests), set(folders))
        del before["one"]["notes.txt"]
        for name, files in before.items():
            self.assertEqual({f["name"]: (f["bytes"], f["sha256"], f["modified"]) for f in manifests[name]["files"]},
                             {n: (len(t), hashlib.sha256(t).hexdigest(), times[name][n]) for n, t in files.items()})
        self.assertEqual(manifests["one"]["host"], os.uname().nodename)
        for text in (command.decode(), said, *(p.read_text() for p in self.state.glob("*.notes"))):
            self.assertNotIn("S3RVER", text)
        ran = self.restore("--since", time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400)))
        self.assertIn("restored 3 sessions", ran.stdout)
        self.assertEqual({name: contents(self.into / name) for name in folders}, before)
        self.assertEqual({p.name: p.stat().st_mtime_ns for p in (self.into / "two").iterdir()}, times["two"])

    @unittest.skipIf(os.environ.get("GPUFL_SANITIZE"), "a sanitizer's memory is another")
    def test_memory_does_not_grow_with_the_session(self):
        most = 24 << 20
        log = Log(self.logs, "large")
        log.files["device"].write((os.urandom(256).hex().encode() + b"\n") * 50_000)
        log.end()
        self.assertGreater((log.folder / "device.log").stat().st_size, most)

        def bound():
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        before = contents(log.folder)
        with self.agent() as agent:
            self.until_archived(agent, 1)
            status = pathlib.Path(f"/proc/{agent.process.pid}/status").read_text()
            self.assertLess(1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1]), most)
        self.restore("large", preexec_fn=bound)
        self.assertEqual(contents(self.into / "large"), before)

    def test_the_next_agent_archives_nothing_again(self):
        self.session("once")
        for _ in range(2):
            with self.agent() as agent:
                until(lambda: agent.status()["archive"]["sessions"] == 1
                      and agent.status()["archive"]["to_archive"] == 0, agent.said)
                sent = agent.status()["archive"]["archived_objects"]
                self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.assertEqual(sent, 0)

    def test_a_session_that_goes_on_is_archived_again_without_what_is_there(self):
        folder = self.session("more")
        with self.agent() as agent:
            self.until_archived(agent, 1)
            first = agent.status()["archive"]["archived_objects"]
            number = max(int(p.name.split(".")[1]) for p in folder.glob("device.*.log")) + 1
            offset = sum(p.stat().st_size for p in folder.glob("device*.log"))
            live = folder / "device.log"
            live.rename(folder / f"device.{number}.log")
            head = json.loads((folder / f"device.{number}.log").read_text().splitlines()[0])
            live.write_text(json.dumps({**head, "part": number + 1, "offset": offset}) + "\n")
            self.until_archived(agent, 2)
            self.assertEqual(agent.status()["archive"]["archived_objects"], first + 2)
        self.assertEqual({f["name"] for f in self.manifests()["more"]["files"]}, set(contents(folder)))

    def test_over_https_with_an_authority_of_its_own(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.dir / "k.pem",
                        "-out", self.dir / "c.pem"], check=True, capture_output=True)
        folder = self.session("tls")
        store = s3_run.Store((self.dir / "k.pem", self.dir / "c.pem"))
        self.addCleanup(store.close)
        with self.agent(url=store.url) as agent:
            until(lambda: agent.status()["archive"]["hold"] == "alarm", agent.said)
            self.assertIn("not trusted", agent.status()["archive"]["why"])
        with self.agent("--archive-ca-file", self.dir / "c.pem", url=store.url) as agent:
            self.until_archived(agent, 1)
        self.assertEqual({f["name"] for f in store.manifests(self.prefix)["tls"]["files"]}, set(contents(folder)))

    def test_a_wrong_key_alarms_and_is_read_again(self):
        self.session("key")
        self.key.write_text("aws_access_key_id = S3RVER\naws_secret_access_key = not-the-one\n")
        with self.agent("--listen", "127.0.0.1:0") as agent:
            port = agent.process.stdout.readline().strip().rsplit(":", 1)[1]
            until(lambda: agent.status()["archive"]["hold"] == "alarm", agent.said)
            self.assertIn("403", agent.status()["archive"]["why"])
            health = subprocess.run(["curl", "-s", "-w", "%{http_code}", f"http://127.0.0.1:{port}/healthz"],
                                    capture_output=True, text=True, check=False).stdout
            self.assertTrue(health.endswith("503"), health)
            self.assertRegex(agent.ask("status")[1], r"\narchive: alarm: .*403.*; sessions that wait for it: 1\n$")
            self.assertNotIn("not-the-one", agent.said() + health)
            self.key.write_text("aws_access_key_id = S3RVER\naws_secret_access_key = S3RVER\n")
            self.until_archived(agent, 1)
            self.assertEqual(agent.status()["archive"]["hold"], "none")

    def test_a_session_of_another_host_is_not_overwritten(self):
        self.session("same", lines=5)
        with self.agent() as agent:
            self.until_archived(agent, 1)
        there = self.store.objects()
        shutil.rmtree(self.logs / "same")
        shutil.rmtree(self.state)
        self.server.channels.clear()
        folder = self.session("same", lines=50, host="elsewhere")
        with self.agent("--remove-after", "1ms") as agent:
            until(lambda: agent.status()["archive"]["archive_refused"] == 1, agent.said)
            agent.until_said("another host")
        self.assertTrue(folder.exists())
        self.assertEqual(self.store.objects(), there)

    def test_whoever_is_no_storage_archives_nothing(self):
        """A page that asks for a login answers 200 to everything, another web server 404."""
        folder = self.session("kept")
        other = ingest_server.Server()
        self.addCleanup(other.close)
        for portal, said in ((True, "answers 200, but not as S3 storage does"), (False, "answers 404")):
            other.portal = portal
            with self.agent("--remove-after", "1ms", url=other.url) as agent:
                until(lambda: agent.status()["archive"]["hold"] == "alarm", agent.said)
                self.assertIn(said, agent.status()["archive"]["why"])
                self.assertEqual([agent.status()["archive"][name] for name in ("archived", "removed")], [0, 0])
            ran = self.check_archive(other.url)
            self.assertEqual((ran.returncode, ran.stdout.count("archive s3://")), (5, 0), ran)
            self.assertIn("but not as S3 storage does: is the endpoint right", ran.stderr)
        other.portal = True
        ran = self.restore("--since", "2020-01-01", url=other.url, code=1)
        self.assertIn("answers 200, but not as S3 storage does", ran.stderr)
        self.assertTrue(folder.exists())

    def check_archive(self, url):
        agent = self.agent("--check", url=url)
        return subprocess.run([*agent.command, *map(str, agent.options)], capture_output=True, text=True,
                              timeout=4 * PATIENCE, check=False, env=s3_run.environment(url))

    def test_check_says_whether_the_archive_answers(self):
        self.state.mkdir()
        for secret, code in (("S3RVER", 0), ("wrong", 5)):
            self.key.write_text(f"aws_access_key_id = S3RVER\naws_secret_access_key = {secret}\n")
            ran = self.check_archive(self.gate.url)
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
            self.assertEqual("archive s3://" in ran.stdout, code == 0)


class Removes(Case):
    def test_by_age_after_both_have_it(self):
        folder = self.session("old")
        before = contents(folder)
        with self.agent("--remove-after", "1ms") as agent:
            self.until_gone(agent, folder)
            until(lambda: agent.status()["sessions"] == 0, agent.said)
        self.assertEqual(list(self.logs.iterdir()), [])
        self.restore("old")
        self.assertEqual(contents(self.into / "old"), before)

    def test_nothing_before_the_archive_has_it(self):
        folder = self.session("stays")
        before = contents(folder)
        proxy = self.proxy()
        proxy.always = "503"
        with self.agent("--remove-after", "1ms", url=proxy.url) as agent:
            until(lambda: agent.status()["archive"]["archive_failures"] >= 3, agent.said)
            self.assertEqual(agent.status()["done"], 1)
            self.assertEqual(contents(folder), before)
            proxy.always = None
            self.until_gone(agent, folder)
        self.restore("stays")
        self.assertEqual(contents(self.into / "stays"), before)

    def test_nothing_that_the_server_has_lost(self):
        folder = self.session("lost")
        proxy = self.proxy()
        proxy.always = "503"
        with self.agent("--remove-after", "1ms", url=proxy.url) as agent:
            agent.until_done(1)
            with self.server.lock:
                self.server.channels["lost", "device"][-300:] = b""
            proxy.always = None
            until(lambda: agent.status()["archive"]["removal_refused"] == 1, agent.said)
            agent.until_said("of channel device")
            self.assertTrue(folder.exists())

    def test_nothing_that_the_archive_has_lost(self):
        folder = self.session("again")
        with self.agent() as agent:
            self.until_archived(agent, 1)
        manifest = self.store.files()[f"{self.prefix}/again/manifest.json"]
        manifest.write_bytes(manifest.read_bytes().replace(b'"bytes":', b'"bytes":1', 1))
        with self.agent("--remove-after", "1ms") as agent:
            self.until_gone(agent, folder)
            agent.until_said("once more")
        self.assertIn("again", self.manifests())

    def test_by_size_the_oldest_first(self):
        """Each of the three sessions is the newest once, so the order in which they are archived does not decide."""
        for turn in range(3):
            self.by_size_the_oldest_first(turn)

    def by_size_the_oldest_first(self, turn):
        folders = [self.session(f"turn{turn}-{i}", lines=40) for i in range(3)]
        for i, folder in enumerate(folders):
            for path in folder.iterdir():
                os.utime(path, (1e9 + (i + turn) % 3, 1e9 + (i + turn) % 3))
        newest = folders[2 - turn]
        size = sum(len(t) for t in contents(newest).values())
        proxy = self.proxy()
        proxy.always = "503"
        with self.agent("--remove-above", str(size + 10), url=proxy.url) as agent:
            until(lambda: agent.status()["archive"]["to_archive"] == 3, agent.said)
            proxy.always = None
            self.until_gone(agent, *(f for f in folders if f != newest))
        self.assertTrue(newest.exists())
        shutil.rmtree(newest)

    def test_what_is_of_others_stays(self):
        folder = self.session("mixed")
        (folder / "notes.txt").write_text("of somebody else")
        with self.agent("--remove-after", "1ms") as agent:
            until(lambda: agent.status()["archive"]["removed"] == 1, agent.said)
            until(lambda: folder.exists() and contents(folder) == {"notes.txt": b"of somebody else"}, agent.said)

    def test_without_an_archive(self):
        folder, running = self.session("plain"), Log(self.logs, "runs")
        with Agent(AGENT, self.state, self.server.url, [self.logs], *QUICK, "--remove-after", "1ms") as agent:
            self.until_gone(agent, folder)
        self.assertTrue(running.folder.exists())
        self.assertEqual(self.store.manifests(self.prefix), {})

    def test_a_removal_that_was_cut_off_is_ended(self):
        folder = self.session("half")
        with self.agent() as agent:
            self.until_archived(agent, 1)
        hidden = self.logs / ".gpufl-removed.half"
        folder.rename(hidden)
        (hidden / "system.log").unlink()
        with open(self.state / "archive.notes", "a", encoding="utf-8") as notes:
            notes.write(f"removing half {hidden}\nremov")
        with self.agent():
            pass
        self.assertEqual(list(self.logs.iterdir()), [])


class Restores(Case):
    def test_damage_has_a_sentence_each_and_the_rest_comes(self):
        damages = {"flip": lambda p: p.write_bytes(b"X" + p.read_bytes()[1:]),
                   "short": lambda p: p.write_bytes(p.read_bytes()[:-1]),
                   "long": lambda p: p.write_bytes(p.read_bytes() + b"\n"),
                   "none": lambda p: p.unlink()}
        for name in (*damages, "whole", "torn"):
            self.session(name, lines=20)
        with self.agent() as agent:
            self.until_archived(agent, len(damages) + 2)
        for name, damage in damages.items():
            damage(self.object_of(name, "device.log"))
        torn = self.store.files()[f"{self.prefix}/torn/manifest.json"]
        torn.write_bytes(torn.read_bytes()[:-40])
        ran = self.restore("--since", "2026-01-01" if time.gmtime().tm_year > 2025 else "2000-01-01", code=1)
        lines = [line for line in ran.stderr.splitlines() if line.startswith("gpufl-agent: session ")]
        self.assertEqual(len(lines), len(damages) + 1, ran.stderr)
        for name, word in (("flip", "checksum"), ("short", "shorter"), ("long", "longer"), ("none", "not there"),
                           ("torn", "manifest is damaged")):
            self.assertTrue(any(f"session {name} " in line and word in line for line in lines), (name, ran.stderr))
        self.assertEqual([p.name for p in self.into.iterdir()], ["whole"])

    def test_what_is_not_there_or_there_already(self):
        self.session("here", lines=5)
        with self.agent() as agent:
            self.until_archived(agent, 1)
        self.assertIn("404", self.restore("missing", code=1).stderr)
        self.restore("here")
        self.assertIn("there already", self.restore("here", code=1).stderr)
        for args in (("--since", "yesterday"), (), ("x/../y",)):
            self.assertIn("Try `gpufl-agent --help`", self.restore(*args, code=2).stderr)

    def test_since_a_day(self):
        for name, day in (("old", "2001-01-01"), ("new", "2001-01-03")):
            for path in self.session(name, lines=5).iterdir():
                at = time.mktime(time.strptime(day + " 12", "%Y-%m-%d %H"))
                os.utime(path, (at, at))
        with self.agent() as agent:
            self.until_archived(agent, 2)
        self.restore("--since", "2001-01-02")
        self.assertEqual([p.name for p in self.into.iterdir()], ["new"])

    def test_from_a_list_of_several_pages(self):
        self.session("last", lines=5)
        with self.agent() as agent:
            self.until_archived(agent, 1)
        others = self.object_of("last", "device.log").parents[1] / "first"  # a page has 1000 objects
        others.mkdir()
        for n in range(1001):
            (others / f"{n:04}._S3rver_object").write_bytes(b"")
        proxy = self.proxy()
        self.restore("--since", "2000-01-01", url=proxy.url)
        self.assertEqual([p.name for p in self.into.iterdir()], ["last"])
        self.assertEqual(sum("continuation-token=" in path for _, path in proxy.seen), 1)


class Reads(Case):
    """`gpufl` on sessions of an archive, without the agent's options: the environment says where, as for AWS's
    tools."""

    def setUp(self):
        super().setUp()
        subprocess.run([GPUFL, "sim", "-k", "3000", "-o", self.logs], check=True, stdout=subprocess.DEVNULL,
                       env={**s3_run.environment(""), "GPUFL_LOG_ROTATE_BYTES": "65536"})
        self.folder = next(self.logs.iterdir())
        with self.agent() as agent:
            self.until_archived(agent, 1)
        self.tmp = self.dir / "tmp"
        self.tmp.mkdir()
        self.url = f"{self.place}/{self.folder.name}"

    def gpufl(self, *args, code=0, url=None):
        ran = subprocess.run([GPUFL, *args], capture_output=True, text=True, timeout=4 * PATIENCE, check=False,
                             env={**s3_run.environment(url or self.gate.url), "TMPDIR": str(self.tmp)})
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        self.assertEqual(list(self.tmp.iterdir()), [])
        return ran

    def placeless(self, text):
        """Returns what a command says, without the folder in which the session lay."""
        return re.sub(f"{self.logs}/|{self.tmp}/gpufl-s3-[^/]*/[0-9]*/", "", text)

    def test_commands_read_it_as_they_read_the_folder(self):
        here = self.gpufl("report", "--json", self.folder).stdout
        self.assertEqual(self.placeless(self.gpufl("report", "--json", self.url + "/").stdout), self.placeless(here))
        text = self.gpufl("report", self.url).stdout
        self.assertNotIn(str(self.tmp), text)
        self.assertEqual(self.placeless(self.gpufl("compare", "--json", self.url, self.url).stdout),
                         self.placeless(self.gpufl("compare", "--json", self.folder, self.folder).stdout))
        out = self.dir / "out"
        self.gpufl("export", "--format", "gpuflight", "-o", out, self.url)
        self.assertTrue(list(out.rglob("*.log*")))

    def test_what_cannot_be_fetched_has_one_sentence(self):
        part = self.object_of(self.folder.name, "system.log")
        part.write_bytes(part.read_bytes()[:-5])
        for url, words in ((self.url, "system.log is damaged"), (self.place + "/missing", "answers 404"),
                           ("s3://x", "names no session")):
            ran = self.gpufl("report", url, code=1)
            self.assertIn(words, ran.stderr)
            self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)

    def test_it_ends_clean_when_it_is_terminated(self):
        proxy = self.proxy(faults=["503", "hang"])
        program = subprocess.Popen([GPUFL, "report", self.url], stderr=subprocess.PIPE, text=True,
                                   env={**s3_run.environment(proxy.url), "TMPDIR": str(self.tmp)})
        self.assertTrue(proxy.hanging.wait(PATIENCE))
        self.assertEqual(len(list(self.tmp.iterdir())), 1)
        program.terminate()
        self.assertIn("stopped", program.communicate(timeout=4 * PATIENCE)[1])
        self.assertEqual((program.returncode, list(self.tmp.iterdir())), (1, []))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
