"""gpufl-server as its operator sees it: restores that are killed, files that are lost or damaged.

Usage: test_server_operated.py gpufl-server gpufl SOURCE_DIR"""
import errno
import gzip
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import unittest

import postgres
from patience import PATIENCE, until
from programs import written
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
AT = f"/api/v1/sessions/{SESSION}"


def command(*words, **options):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def files_of(data):
    return [os.path.join(at, name) for at, _, files in os.walk(os.path.join(data, "columns")) for name in files
            if name.startswith(SESSION)]


@unittest.skipIf(postgres.URL, "PostgreSQL has backups of its own")
class Restored(unittest.TestCase):
    def test_a_killed_restore_is_no_data_folder(self):
        with Server(PROGRAM) as server, tempfile.TemporaryDirectory() as folder:
            server.set_up()
            server.load(server.make_key(), FOLDER)
            made = server.as_user("POST", "/api/v1/backups")
            backup = os.path.join(server.data, "backups", made.json()["name"])
            target = os.path.join(folder, "again")
            small = 64 << 10  # the first larger file ends the restore
            killed = command("restore", backup, "--data", target,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (small, small)))
            self.assertEqual(killed.returncode, -signal.SIGXFSZ, killed)
            for words in (["check"], ["migrate"], ["serve", "--listen", "127.0.0.1:0"]):
                out = command(*words, "--data", target)
                self.assertEqual(out.returncode, 1, out)
                self.assertIn("a restore was interrupted", out.stderr)
            os.rename(os.path.join(target, "restore.part"), os.path.join(target, "moved"))
            os.mkdir(os.path.join(target, "restore.part"))  # as if killed while the entries got their names
            os.mkdir(os.path.join(target, "columns"))
            self.assertEqual(command("restore", backup, "--data", target).returncode, 0)
            out = command("check", "--data", target)
            self.assertEqual(out.returncode, 0, out)
            self.assertRegex(out.stdout, r"^1 sessions, 25\d+ rows, 0 damaged\n$")
            self.assertEqual(sorted(os.listdir(target)), sorted(["lock", "moved", *os.listdir(backup)]))
            self.assertIn("not empty", command("restore", backup, "--data", target).stderr)


class Lost(unittest.TestCase):
    def setUp(self):
        self.server = Server(PROGRAM)
        self.addCleanup(self.server.__exit__)
        self.server.set_up()
        self.key = self.server.make_key()
        self.server.load(self.key, FOLDER)
        self.server.stop()

    def check(self, *more):
        return command("check", "--data", self.server.data, *self.server.options, *more)

    def ask(self):
        self.server.start()
        return self.server.ask("GET", AT + "/kernels", Authorization=self.key)

    def test_a_lost_file(self):
        for path in files_of(self.server.data):
            os.unlink(path)
        out, answer = self.check(), self.ask()
        if postgres.URL:  # another server may have the file
            self.assertEqual(out.returncode, 0, out)
            self.assertIn("1 sessions have no file here", out.stdout)
            self.assertEqual(answer.status, 421, answer)
            return
        self.assertEqual(out.returncode, 1, out)
        self.assertIn(f"session {SESSION} of workspace", out.stdout)
        self.assertIn("its rows are lost", out.stdout)
        self.assertIn("1 sessions, 0 rows, 1 damaged\n", out.stdout)
        self.assertEqual(answer.status, 500, answer)
        self.assertIn("lost", answer.json()["detail"])

    def test_a_damaged_file(self):
        with open(files_of(self.server.data)[0], "r+b") as file:
            file.write(b"\0" * 8192)
        self.assertEqual(self.check().returncode, 1)
        answer = self.ask()
        self.assertEqual(answer.status, 500, answer)
        self.assertIn("session is damaged", answer.json()["detail"])
        self.assertNotIn("DuckDB", answer.json()["detail"])

    @unittest.skipIf(postgres.URL, "the rows of the small tables are changed")
    def test_rows_that_are_missing(self):
        tables = sqlite3.connect(os.path.join(self.server.data, "meta.db"))
        with tables:
            tables.execute("UPDATE sessions SET records = records + 7")
        tables.close()
        out = self.check()
        self.assertEqual(out.returncode, 1, out)
        self.assertRegex(out.stdout, r"(\d+) of (\d+) rows are there: the others are lost")

    @unittest.skipIf(postgres.URL, "the rows of the small tables are changed")
    def test_a_session_that_no_table_lists(self):
        tables = sqlite3.connect(os.path.join(self.server.data, "meta.db"))
        tables.execute("PRAGMA foreign_keys = ON")
        with tables:
            tables.execute("DELETE FROM sessions")
        tables.close()
        out = self.check()
        self.assertEqual(out.returncode, 0, out)
        self.assertIn("1 sessions are not in the small tables", out.stdout)

    def test_too_little_memory_is_no_damage(self):
        out = self.check("--memory", "300k")
        self.assertEqual(out.returncode, 1, out)
        self.assertNotIn(" 1 damaged", out.stdout)
        self.assertIn("could not be checked", out.stdout + out.stderr)


class Small(unittest.TestCase):
    """Sessions that share a file."""

    def setUp(self):
        self.server = Server(PROGRAM)
        self.addCleanup(self.server.__exit__)
        self.server.set_up()
        self.key = self.server.make_key()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.sessions = folder.name, []
        for _ in range(3):
            done = subprocess.run([GPUFL, "sim", "--kernels", "300", "--rate", "max", "--output", folder.name],
                                  capture_output=True, text=True, check=True, timeout=PATIENCE)
            self.sessions.append(self.server.load(self.key, json.loads(done.stdout)["directory"]))

    def packs(self, data):
        return [os.path.join(at, name) for at, _, files in os.walk(os.path.join(data, "columns")) for name in files
                if name.endswith(".pack")]

    def ask(self, session):
        return self.server.ask("GET", f"/api/v1/sessions/{session}/kernels", Authorization=self.key)

    def check(self, data):
        return command("check", "--data", data, *self.server.options)

    @unittest.skipIf(postgres.URL, "PostgreSQL has backups of its own")
    def test_backup_restore_check(self):
        self.assertEqual(len(self.packs(self.server.data)), 1)
        made = self.server.as_user("POST", "/api/v1/backups")
        self.assertEqual(made.status, 200, made)
        target = os.path.join(self.folder, "again")
        backup = os.path.join(self.server.data, "backups", made.json()["name"])
        self.assertEqual(command("restore", backup, "--data", target).returncode, 0)
        out = self.check(target)
        self.assertEqual(out.returncode, 0, out)
        self.assertRegex(out.stdout, r"^3 sessions, \d+ rows, 0 damaged\n$")
        kernels = self.ask(self.sessions[0]).json()["data"]
        with Server(PROGRAM, data=target) as restored:
            answer = restored.ask("GET", f"/api/v1/sessions/{self.sessions[0]}/kernels", Authorization=self.key)
            self.assertEqual(answer.json()["data"], kernels)

    def test_damage_is_one_session_s(self):
        self.server.stop()
        with open(self.packs(self.server.data)[0], "r+b") as file:  # not the last one, which a crash could have left
            file.seek(512)
            file.write(b"\0" * 64)
        out = self.check(self.server.data)
        self.assertEqual(out.returncode, 1, out)
        self.assertIn("1 damaged", out.stdout)
        self.server.start()
        answers = {session: self.ask(session) for session in self.sessions}
        self.assertEqual(sorted(a.status for a in answers.values()), [200, 200, 500])
        bad = next(s for s, a in answers.items() if a.status == 500)
        self.assertIn("session is damaged", answers[bad].json()["detail"])
        self.assertIn(f"session {bad} of workspace", out.stdout)

    def test_a_lost_record(self):
        """Nobody knows whose record it was: the store has a flaw, and the server starts."""
        self.server.stop()
        path = self.packs(self.server.data)[0]
        with open(path, "r+b") as file:
            data = file.read()
            file.seek(data.index(b"GFUP", 16 + 96))  # the second record
            file.write(b"?")
        out = self.check(self.server.data)
        self.assertEqual(out.returncode, 1, out)
        self.assertRegex(out.stdout, r"\d+ bytes from \d+ on are damaged: a session of this pack may lack rows")
        self.server.start()
        self.assertIn(200, [self.ask(session).status for session in self.sessions])

    def test_an_unreadable_pack(self):
        self.server.stop()
        path = self.packs(self.server.data)[0]
        os.rename(path, path + ".kept")
        os.symlink("nowhere", path)
        out = self.check(self.server.data)
        self.assertEqual(out.returncode, 1, out)
        self.assertIn("is left out, and its sessions are missing", out.stdout)
        self.server.start()
        self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
        self.server.stop()
        os.rename(path + ".kept", path)
        self.server.start()
        self.assertEqual([self.ask(session).status for session in self.sessions], [200, 200, 200])

    def test_deleted(self):
        for session in self.sessions:
            self.assertEqual(self.server.as_user("DELETE", f"/api/v1/sessions/{session}").status, 204)
            self.assertEqual(self.ask(session).status, 404)
        until(lambda: not self.packs(self.server.data), "their columns are still on the disk")


def fill_disk(path):
    """Writes until nothing is free, also while others write to the disk."""
    with open(path, "wb", buffering=0) as ballast:
        for size in (1 << 20, 4096):
            try:
                while True:
                    ballast.write(bytes(size))
            except OSError as e:
                if e.errno != errno.ENOSPC:
                    raise


class Full(unittest.TestCase):
    """The data folder is a file system of its own, which nobody else uses."""

    def small_disk(self, size):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        data, program = os.path.join(folder.name, "data"), os.path.join(folder.name, "server")
        os.mkdir(data)
        for spaces in ("-m", "-Urm"):  # in a user namespace, root is a stranger to PostgreSQL's socket
            if not subprocess.run(["unshare", spaces, "mount", "-t", "tmpfs", "none", data], check=False,
                                  stderr=subprocess.DEVNULL).returncode:
                break
        else:
            self.skipTest("no mount namespace here")
        written(program, f"#!/bin/sh\nexec unshare {spaces} sh -c 'mount -t tmpfs -o size={size}m none {data} && "
                         f"exec {os.path.abspath(PROGRAM)} \"$@\"' sh \"$@\"\n")
        return program, data

    def test_it_says_so(self):
        program, data = self.small_disk(400)
        with Server(program, data=data) as server:
            server.set_up()
            key = server.make_key()
            server.load(key, FOLDER)
            inside = f"/proc/{server.process.pid}/root{data}"
            self.assertEqual(server.ask("GET", "/readyz").status, 200)
            fill_disk(os.path.join(inside, "ballast"))
            ready = server.ask("GET", "/readyz")
            self.assertEqual(ready.status, 503, ready)
            self.assertRegex(ready.json()["detail"], r"disk of the data folder is full: 0 MiB are free, 320 needed")
            self.assertLess(ready.json()["disk_free_bytes"], 1 << 20)
            self.assertEqual([ready.json()[name] for name in ("waiting_frames", "backlog_sessions", "backlog_bytes", "aside_sessions")], [0] * 4)
            answers = [server.ask("GET", AT + "/kernels", Authorization=key),
                       server.as_user("GET", "/api/v1/auth/me")]
            self.assertEqual([a.status for a in answers], [200, 200], answers)
            if postgres.URL:  # another disk
                return
            login = {"email": "ada@example.org", "password": "correct horse battery"}
            for _ in range(2000):  # the tables' log has pages that are used again
                answer = server.ask("POST", "/api/v1/auth/login", login)
                if answer.status != 200:
                    break
            self.assertEqual(answer.status, 503, answer)
            self.assertIn("The server's disk is full", answer.json()["detail"])
            os.unlink(os.path.join(inside, "ballast"))
            self.assertEqual(server.ask("GET", "/readyz").status, 200)

    def test_what_a_start_needs(self):
        program, data = self.small_disk(300)
        out = subprocess.run([program, "--data", data, "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                             timeout=PATIENCE, check=False)
        self.assertEqual(out.returncode, 1, out)
        self.assertRegex(out.stderr, r"the journal needs 320 MiB free, of which it leaves 256 to others; \d+ are")


class Watched(unittest.TestCase):
    def test_metrics_pass_the_lint(self):
        """/metrics keeps the rules of `promtool check metrics`, which runs as well if it is installed."""
        with Server(PROGRAM) as server:
            server.set_up()
            server.load(server.make_key(), FOLDER)
            text = server.ask("GET", "/metrics").body.decode()
        types, helps, done = {}, set(), set()
        family = None
        for line in text.splitlines():
            words = line.split(" ", 3)
            if line.startswith("# HELP "):
                self.assertNotIn(words[2], helps, line)
                helps.add(words[2])
            elif line.startswith("# TYPE "):
                self.assertNotIn(words[2], types, line)
                types[words[2]] = words[3]
            else:
                name = re.match(r"[a-z_]+", line).group()
                base = re.sub("_(bucket|sum|count)$", "", name) if name not in types else name
                self.assertIn(base, types, line)
                self.assertIn(base, helps, line)
                if base != family:  # the samples of a metric are not separated
                    self.assertNotIn(base, done, line)
                    done.add(base)
                    family = base
        self.assertEqual(set(types), helps)
        for name, kind in types.items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertNotRegex(name, "_(ns|us|ms|milliseconds|minutes|hours|kb|mb|mib|kib|gib|percent)(_|$)")
            self.assertNotRegex(name, "(counter|gauge|histogram)")
        if shutil.which("promtool"):
            lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            self.assertEqual((lint.returncode, lint.stdout + lint.stderr), (0, ""))


class Reloaded(unittest.TestCase):
    def test_a_hangup_ends_nothing(self):
        with Server(PROGRAM) as server:
            server.process.send_signal(signal.SIGHUP)
            until(lambda: "SIGHUP: there is no certificate" in server.errors(), "the log says nothing")
            self.assertEqual(server.ask("GET", "/healthz").status, 200)
            self.assertEqual(server.stop(), 0)

    def certificate(self, folder, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-subj", f"/CN={name}", "-days", "2", "-keyout", os.path.join(folder, "new.key"),
                        "-out", os.path.join(folder, "new.pem")], check=True, capture_output=True)
        for end in ("key", "pem"):
            os.rename(os.path.join(folder, f"new.{end}"), os.path.join(folder, f"tls.{end}"))

    def shown(self, server):
        text = ssl.get_server_certificate(("localhost", server.port), timeout=PATIENCE)
        return subprocess.run(["openssl", "x509", "-noout", "-subject"], input=text, capture_output=True, text=True,
                              check=True).stdout.strip()[-3:]

    @unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificates, and is not here")
    def test_certificates(self):
        with tempfile.TemporaryDirectory() as folder:
            self.certificate(folder, "one")
            cert, key = os.path.join(folder, "tls.pem"), os.path.join(folder, "tls.key")
            with Server(PROGRAM, "--tls-cert", cert, "--tls-key", key) as server:
                self.assertEqual(self.shown(server), "one")
                self.certificate(folder, "two")
                server.process.send_signal(signal.SIGHUP)
                until(lambda: self.shown(server) == "two", server.errors)
                self.certificate(folder, "six")  # without a signal
                until(lambda: self.shown(server) == "six", server.errors)
                with open(key, "w", encoding="utf-8") as file:
                    file.write("no key\n")
                until(lambda: "the certificate stays as it was" in server.errors(), server.errors)
                self.assertEqual(self.shown(server), "six")
                self.assertEqual(server.stop(), 0)


class Quota(unittest.TestCase):
    def used(self, server, key):
        answer = server.ask("GET", "/api/v1/quota", Authorization=key)
        self.assertEqual(answer.status, 200, answer)
        return {(row["of"], row["what"]): (row["used"], row["limit"]) for row in answer.json()["limits"]}

    def send(self, server, key, host, session=SESSION, **fields):
        """Sends a part whose header names that host; the bodies of all hosts have about the same size."""
        with gzip.open(os.path.join(FOLDER, "scope.1.log.gz"), "rb") as part:
            text = part.read().replace(b'"host":"h200"', b'"host":"%s"' % host.encode(), 1).replace(SESSION.encode(), session.encode())
        return server.ask("POST", "/api/v1/events/stream", gzip.compress(text, mtime=0), Authorization=key, Content_Encoding="gzip",
                          X_GpuFlight_Session_Id=session, **fields)

    def assert_over(self, answer, words):
        self.assertEqual(answer.status, 429, answer)
        self.assertIn(words, answer.json()["detail"])
        self.assertTrue(0 < int(answer.fields["Retry-After"]) <= 86400)

    def test_a_day(self):
        most = 2 * os.path.getsize(os.path.join(FOLDER, "scope.1.log.gz"))
        with Server(PROGRAM, "--workspace-quota", "sessions=1,hosts=1", "--key-quota", f"bytes={most}") as server:
            server.set_up()
            key, other = server.make_key(), server.make_key()
            self.assertEqual(self.send(server, key, "node-a").status, 200)
            used = self.used(server, key)
            size = used.pop(("key", "bytes"))[0]
            self.assertTrue(most / 4 < size < most, size)
            self.assertEqual(used, {("workspace", "sessions"): (1, 1), ("workspace", "hosts"): (1, 1)})
            new = server.ask("POST", "/api/v1/events/stream", b"{}\n", Authorization=key,
                             X_GpuFlight_Session_Id="5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34")
            self.assert_over(new, "its 1 sessions of this day")
            self.assert_over(server.ask("POST", "/api/v1/events/stream", b"{}\n", Authorization=key),
                             "goes on with X-GpuFlight-Session-Id")
            while size < most:  # what has begun goes on
                self.assertEqual(self.send(server, key, "node-a").status, 200)
                size = self.used(server, key)["key", "bytes"][0]
            self.assert_over(self.send(server, key, "node-a"), f"key has sent its {most} bytes")
            self.assertEqual(self.send(server, other, "node-a").status, 200)  # the limit belongs to the key

    def test_after_a_restart(self):
        """What was acknowledged counts after a kill and after an orderly stop; the next bodies add to it."""
        with Server(PROGRAM, "--workspace-quota", "sessions=1,hosts=1,bytes=1G", "--key-quota", "bytes=1G") as server:
            server.set_up()
            key, bodies = server.make_key(), 0
            new = "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
                self.assertEqual(self.send(server, key, "node-a").status, 200)
                before, bodies = self.used(server, key), bodies + 1
                size = before["key", "bytes"][0]
                self.assertEqual(size % bodies, 0)
                server.stop(number)
                server.start()
                self.assertEqual(self.used(server, key), before)
                self.assertEqual(before["workspace", "sessions"], (1, 1))
                self.assertEqual(before["workspace", "bytes"][0], size)
                self.assert_over(self.send(server, key, "node-a", new), "its 1 sessions of this day")
                self.assert_over(self.send(server, key, "node-b"), "its 1 hosts of this day")

    def test_hosts(self):
        """A session's host is that of its header, whatever the sender names; a body of one host too many leaves nothing."""
        other = "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
        line = b'{"type":"kernel_event","session_id":"%s"}\n'
        with Server(PROGRAM, "--workspace-quota", "hosts=2") as server:
            server.set_up()
            key = server.make_key()
            self.assertEqual(self.send(server, key, "node-a").status, 200)
            self.assertEqual(self.used(server, key), {("workspace", "hosts"): (1, 2)})
            self.assertEqual(self.send(server, key, "node-a", X_GpuFlight_Hostname="node-z").status, 200)
            self.assertEqual(self.used(server, key), {("workspace", "hosts"): (1, 2)})
            named = server.ask("POST", "/api/v1/events/stream", line % b"w1", Authorization=key, X_GpuFlight_Hostname="node-b")
            self.assertEqual(named.status, 200, named)  # a body without a header
            self.assertEqual(self.used(server, key), {("workspace", "hosts"): (2, 2)})
            for fields in ({}, {"X_GpuFlight_Hostname": "node-a"}):
                self.assert_over(self.send(server, key, "node-c", other, **fields), "its 2 hosts of this day")
            named = server.ask("POST", "/api/v1/events/stream", line % b"w2", Authorization=key, X_GpuFlight_Hostname="node-c")
            self.assert_over(named, "its 2 hosts of this day")
            channels = server.ask("GET", f"/api/v1/sessions/{other}/positions", Authorization=key)
            self.assertEqual({row["offset"] for row in channels.json()["channels"]}, {0}, channels)
            self.assertEqual(self.send(server, key, "node-b", other).status, 200)

    def set_limits(self, server, of, name, limits):
        return server.as_user("PUT", "/api/v1/quota", {"of": of, "id": name, "limits": limits})

    def test_set_while_it_runs(self):
        """Limits of one workspace or key hold at once, with another server's start, and until they are taken back."""
        with Server(PROGRAM, "--workspace-quota", "sessions=5") as server:
            server.set_up()
            key = server.make_key()
            place = server.as_user("GET", "/api/v1/auth/me").json()["workspaces"][0]["workspace"]
            self.assertEqual(self.send(server, key, "node-a").status, 200)
            self.assertEqual(self.set_limits(server, "workspace", place, "bodies=1").status, 204)
            self.assertEqual(self.used(server, key).keys(), {("workspace", "bodies")})
            bad = self.set_limits(server, "workspace", place, "bodies=x")
            self.assertEqual(bad.status, 400, bad)
            self.assertIn("bodies=N", bad.json()["detail"])
            self.assertEqual(server.ask("PUT", "/api/v1/quota", {"of": "workspace", "id": place, "limits": ""},
                                        Authorization=key).status, 403)
            self.assertEqual(self.set_limits(server, "workspace", place, "rate=1").status, 204)
            self.assertEqual(server.stop(), 0)
            server.start()
            self.assertEqual(self.send(server, key, "node-a").status, 200)  # one body is accepted whole
            self.assert_over(self.send(server, key, "node-a"), "workspace sends more than its 1 bytes a second")
            self.assertEqual(self.set_limits(server, "workspace", place, "").status, 204)
            self.assertEqual(self.used(server, key).keys(), {("workspace", "sessions")})
            self.assertEqual(self.send(server, key, "node-a").status, 200)

    def test_none(self):
        with Server(PROGRAM) as server:
            server.set_up()
            self.assertEqual(self.used(server, server.make_key()), {})
        for bad in ("sessions", "sessions=x", "kernels=1", "hosts=-1", "bytes=", "sessions=1;hosts=2"):
            out = command("--key-quota", bad, "--listen", "127.0.0.1:0")
            self.assertEqual(out.returncode, 2, out)
            self.assertIn("--key-quota", out.stderr)


class Absolute(unittest.TestCase):
    def first_line(self, server, request):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
            client.sendall(request.encode())
            return client.makefile("rb").readline().split()[1]

    def test_targets_with_a_host(self):
        with Server(PROGRAM) as server:
            own = f"127.0.0.1:{server.port}"
            for target, host, status in ((f"http://{own}/healthz", own, b"200"), (f"HTTP://{own}/healthz", own, b"200"),
                                         (f"http://{own}/api/v1/sessions?limit=0", own, b"400"),
                                         (f"http://{own}/api/v1/nothing", own, b"404"), (f"http://{own}", own, b"200"),
                                         ("http://other.example.org/healthz", own, b"400"),
                                         (f"http://u@{own}/healthz", own, b"400"), ("http:///healthz", own, b"400"),
                                         ("ftp://x/healthz", own, b"400")):
                got = self.first_line(server, f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
                self.assertEqual(got, status, target)


class Guessed(unittest.TestCase):
    RIGHT = {"email": "ada@example.org", "password": "correct horse battery"}

    def login(self, server, password=None, **fields):
        said = dict(self.RIGHT, **({"password": password} if password else {}))
        return server.ask("POST", "/api/v1/auth/login", said, **fields)

    def test_addresses_through_a_proxy(self):
        with Server(PROGRAM, "--trusted-proxy", "10.0.0.0/8,127.0.0.1") as server:
            server.set_up()
            for i in range(10):
                wrong = self.login(server, "wrong", X_Forwarded_For=f"203.0.113.{i}, 192.0.2.1, 10.0.0.7")
                self.assertEqual(wrong.status, 401, wrong)
            locked = self.login(server, X_Forwarded_For="203.0.113.99, 192.0.2.1")
            self.assertEqual(locked.status, 429, locked)
            self.assertEqual(self.login(server, X_Forwarded_For="192.0.2.2").status, 200)
            self.assertEqual(self.login(server, Forwarded="for=192.0.2.3").status, 200)
            server.stop()
            said = [line["from"] for line in server.lines() if line.get("route") == "login"]
            self.assertEqual(said[-3:], ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
        out = command("--trusted-proxy", "proxy.example.org", "--listen", "127.0.0.1:0")
        self.assertEqual(out.returncode, 2, out)

    def test_who_is_no_proxy_is_not_believed(self):
        with Server(PROGRAM) as server:
            server.set_up()
            for i in range(10):
                self.login(server, "wrong", X_Forwarded_For=f"192.0.2.{i}")
            self.assertEqual(self.login(server, X_Forwarded_For="192.0.2.99").status, 429)

    def test_a_browser_that_is_known_gets_in(self):
        with Server(PROGRAM) as server:
            server.set_up()
            cookies = self.login(server).fields.get_all("Set-Cookie")
            device = next(c for c in cookies if c.startswith("gpufl_device="))
            self.assertRegex(device, "; HttpOnly; SameSite=Strict; Max-Age=31536000$")
            while self.login(server, "wrong").status == 401:
                pass
            self.assertEqual(self.login(server).status, 429)
            self.assertEqual(self.login(server, Cookie=device.split(";")[0]).status, 200)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
