"""gpufl-server as a process: first run, local mode, the end, the data that remains, and clients that misbehave.

Usage: test_server_life.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import postgres
from patience import PATIENCE, SLOW, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
AT = f"/api/v1/sessions/{SESSION}"


class FirstRun(unittest.TestCase):
    def test_from_nothing_to_a_login(self):
        with Server(PROGRAM) as server:
            self.assertIn("/setup#token=", server.link)
            wrong = {"token": "A" * 43, "email": "a@example.org", "name": "A", "password": "long enough it is"}
            self.assertEqual(server.ask("POST", "/api/v1/auth/setup", wrong).status, 401)
            server.set_up()
            again = dict(wrong, token=server.token)
            self.assertIn(server.ask("POST", "/api/v1/auth/setup", again).status, (401, 403))
            me = server.as_user("GET", "/api/v1/auth/me").json()
            self.assertEqual((me["name"], me["role"], me["admin"]), ("ada@example.org", "owner", True))
            self.assertEqual(server.as_user("POST", "/api/v1/auth/logout").status, 204)
            self.assertEqual(server.as_user("GET", "/api/v1/auth/me").status, 401)
            login = {"email": "ada@example.org", "password": "correct horse battery"}
            server.keep(server.ask("POST", "/api/v1/auth/login", login))
            self.assertEqual(server.as_user("GET", "/api/v1/auth/me").status, 200)

    def test_guessing_is_stopped(self):
        with Server(PROGRAM) as server:
            server.set_up()
            login = {"email": "ada@example.org", "password": "wrong"}
            statuses = [server.ask("POST", "/api/v1/auth/login", login).status for _ in range(15)]
            self.assertEqual(statuses[0], 401)
            self.assertEqual(statuses[-1], 429)
            last = server.ask("POST", "/api/v1/auth/login", login)
            self.assertGreater(int(last.fields["Retry-After"]), 0)

    @unittest.skipIf(postgres.URL, "writers of SQLite wait for each other")
    def test_slow_tables_are_not_too_many_tries(self):
        with Server(PROGRAM) as server:
            server.set_up()
            other = sqlite3.connect(os.path.join(server.data, "meta.db"), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            login = {"email": "ada@example.org", "password": "correct horse battery"}
            answer = server.ask("POST", "/api/v1/auth/login", login)
            self.assertEqual(answer.status, 503, answer)
            self.assertGreater(int(answer.fields["Retry-After"]), 0)
            other.execute("ROLLBACK")
            other.close()
            self.assertEqual(server.ask("POST", "/api/v1/auth/login", login).status, 200)

    def test_invitation_and_reset(self):
        with Server(PROGRAM) as server:
            server.set_up()
            token = server.as_user("POST", "/api/v1/invitations", {"role": "viewer"}).json()["token"]
            guest = {"token": token, "email": "guest@example.org", "name": "Guest", "password": "another long one"}
            answer = server.ask("POST", "/api/v1/auth/accept", guest)
            self.assertEqual(answer.status, 200, answer)
            cookie = answer.fields["Set-Cookie"].split(";")[0]
            me = server.ask("GET", "/api/v1/auth/me", Cookie=cookie).json()
            self.assertEqual(me["role"], "viewer")
            self.assertEqual(server.ask("GET", "/api/v1/keys", Cookie=cookie).status, 403)
            self.assertNotEqual(server.ask("POST", "/api/v1/auth/accept", guest).status, 200)
            member = f"/api/v1/members/{me['id']}"
            self.assertEqual(server.as_user("PUT", member, {"role": "member"}).status, 204)
            self.assertEqual(server.ask("GET", "/api/v1/auth/me", Cookie=cookie).json()["role"], "member")
            link = server.as_user("POST", f"/api/v1/users/{me['id']}/reset-link").json()["token"]
            reset = server.ask("POST", "/api/v1/auth/reset", {"token": link, "password": "yet another one"})
            self.assertEqual(reset.status, 200, reset)
            self.assertEqual(server.ask("GET", "/api/v1/auth/me", Cookie=cookie).status, 401)
            self.assertEqual(server.as_user("DELETE", member).status, 204)
            own = server.as_user("GET", "/api/v1/auth/me").json()["id"]
            self.assertEqual(server.as_user("DELETE", f"/api/v1/members/{own}").status, 409)  # the last owner


class Local(unittest.TestCase):
    def test_one_user_one_token(self):
        with Server(PROGRAM, "--local") as server:
            path = server.link[server.link.index("/api"):]
            self.assertEqual(server.ask("GET", "/api/v1/sessions").status, 401)
            opened = server.ask("GET", path)
            self.assertEqual((opened.status, opened.fields["Location"]), (303, "/"))
            cookie = opened.fields["Set-Cookie"].split(";")[0]
            self.assertEqual(server.ask("GET", "/api/v1/sessions", Cookie=cookie).status, 200)
            self.assertEqual(server.ask("GET", path).status, 401)  # once

    def test_other_hosts_and_origins(self):
        with Server(PROGRAM, "--local") as server:
            for host in ("evil.example", "127.0.0.1", f"127.0.0.1:{server.port + 1}", f"evil.example:{server.port}",
                         f"127.0.0.1.evil.example:{server.port}"):
                for path in ("/", "/healthz", "/api/v1/info/version"):
                    self.assertEqual(server.ask("GET", path, Host=host).status, 403, host)
            for name in ("127.0.0.1", "localhost", "[::1]"):
                self.assertEqual(server.ask("GET", "/healthz", Host=f"{name}:{server.port}").status, 200)
            self.assertEqual(server.ask("GET", "/healthz", Origin="http://evil.example").status, 403)
            self.assertEqual(server.ask("GET", "/healthz", Origin="null").status, 403)
            own = f"http://127.0.0.1:{server.port}"
            self.assertEqual(server.ask("GET", "/healthz", Origin=own).status, 200)

    def test_loopback_only(self):
        with tempfile.TemporaryDirectory(prefix="gpufl-server-") as folder:
            out = subprocess.run([PROGRAM, "--local", "--listen", "0.0.0.0:0"], capture_output=True, text=True,
                                 timeout=PATIENCE, cwd=folder)
        self.assertEqual(out.returncode, 2)
        self.assertIn("loopback", out.stderr)


def wait_for_work(server, requests):
    """Waits until so many requests are active in the server, in addition to the one that asks."""
    deadline = time.monotonic() + PATIENCE
    while True:
        text = server.ask("GET", "/metrics").body.decode()
        if int(re.search(r"^gpufl_http_requests_active (\d+)$", text, re.M).group(1)) > requests:
            return
        assert time.monotonic() < deadline, "the server has not taken the request"


class Ends(unittest.TestCase):
    def test_a_request_in_work_finishes(self):
        with Server(PROGRAM) as server:
            server.set_up()
            key = server.make_key()
            with open(os.path.join(FOLDER, "device.1.log.gz"), "rb") as part:
                body = part.read()
            connection = server.connect()
            connection.putrequest("POST", "/api/v1/events/stream")
            for name, value in (("Authorization", key), ("Content-Encoding", "gzip"),
                                ("X-GpuFlight-Session-Id", SESSION), ("Content-Length", str(len(body)))):
                connection.putheader(name, value)
            connection.endheaders(body[:1000])
            wait_for_work(server, 1)
            with contextlib.closing(server.events(key)) as events:
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(list(events), [])  # live streams end at once
            connection.send(body[1000:])
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.getheader("Connection"), "close")
            answer.read()
            connection.close()
            self.assertEqual(server.wait(), 0)
            with self.assertRaises(OSError):
                server.connect().connect()
            server.start()  # and what was accepted is there
            key = "Bearer " + key[7:]
            channels = server.ask("GET", AT + "/positions", Authorization=key).json()["channels"]
            self.assertEqual([c["channel"] for c in channels], ["device"])

    @staticmethod
    def drip(connection, enough):
        """A body that never ends, so that its request stays active."""
        try:
            while not enough.wait(0.05):
                connection.send(b" ")
        except OSError:
            pass

    def test_a_second_signal_cuts_off(self):
        with Server(PROGRAM) as server:
            server.set_up()
            connection = server.connect()
            connection.putrequest("POST", "/api/v1/auth/login")
            connection.putheader("Content-Length", "1000")
            connection.endheaders(b"{")
            wait_for_work(server, 1)
            dripping = threading.Event()
            thread = threading.Thread(target=self.drip, args=(connection, dripping))
            thread.start()
            server.process.send_signal(signal.SIGTERM)
            while not any(line["event"] == "end" for line in server.lines()):
                self.assertIsNone(server.process.poll())
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 1)
            dripping.set()
            thread.join()
            connection.close()
            self.closed(server)

    def closed(self, server):
        """Checks that the next start has nothing to recover."""
        self.assertIn("cut off", server.errors())
        self.assertFalse(os.path.exists(os.path.join(server.data, "meta.db-wal")))
        for folder, _, files in os.walk(os.path.join(server.data, "columns")):
            self.assertEqual([f for f in files if f.endswith(".wal")], [], folder)

    def test_cut_off_at_the_deadline(self):
        with Server(PROGRAM, "--drain", "200ms") as server:
            server.set_up()
            key = server.make_key()
            server.send(key, FOLDER)
            connection = server.connect()
            connection.putrequest("POST", "/api/v1/events/stream")
            for name, value in (("Authorization", key), ("X-GpuFlight-Session-Id", "cut"), ("Content-Length", "1000")):
                connection.putheader(name, value)
            connection.endheaders(b"{")
            wait_for_work(server, 1)
            dripping = threading.Event()
            thread = threading.Thread(target=self.drip, args=(connection, dripping))
            thread.start()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 1)
            dripping.set()
            thread.join()
            connection.close()
            self.closed(server)
            server.start()
            self.assertEqual(server.stop(), 0)

    def test_idle_connections_do_not_hold_it_up(self):
        with Server(PROGRAM, "--drain", "10m") as server:
            idle = [server.connect() for _ in range(20)]
            for connection in idle:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
            began = time.monotonic()
            self.assertEqual(server.stop(signal.SIGINT), 0)
            self.assertLess(time.monotonic() - began, 8 * 60)
            for connection in idle:
                connection.close()


class Stays(unittest.TestCase):
    def test_restart_and_delete(self):
        with Server(PROGRAM) as server:
            server.set_up()
            key = server.make_key()
            server.load(key, FOLDER)
            kernels = server.ask("GET", AT + "/kernels", Authorization=key).body
            self.assertEqual(server.stop(), 0)
            server.start()
            self.assertEqual(server.ask("GET", AT + "/kernels", Authorization=key).body, kernels)
            folder = os.path.join(server.data, "columns")
            self.assertTrue(any(SESSION in name for _, folders, files in os.walk(folder) for name in folders + files))
            self.assertEqual(server.as_user("DELETE", AT).status, 204)
            self.assertEqual(server.ask("GET", AT, Authorization=key).status, 404)
            self.assertEqual(server.as_user("DELETE", AT).status, 404)
            deadline = time.monotonic() + PATIENCE
            while any(SESSION in name for _, folders, files in os.walk(folder) for name in folders + files):
                self.assertLess(time.monotonic(), deadline, "its columns are still on the disk")
                server.ask("GET", "/readyz")
            with open(os.path.join(FOLDER, "scope.1.log.gz"), "rb") as part:
                late = server.ask("POST", "/api/v1/events/stream", part.read(), Authorization=key,
                                  Content_Encoding="gzip", X_GpuFlight_Session_Id=SESSION)
            self.assertEqual(late.status, 410, late)
            audit = server.as_user("GET", "/api/v1/audit").json()["rows"]
            self.assertEqual(audit[0]["action"], "session.delete")

    def command(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_one_at_a_time_in_a_folder(self):
        with Server(PROGRAM) as server, tempfile.TemporaryDirectory() as folder:
            server.set_up()
            backup = os.path.join(folder, "backup")
            os.makedirs(os.path.join(backup, "columns"))
            for words in (["--listen", "127.0.0.1:0"], ["migrate"], ["check"]):
                out = self.command(*words, "--data", server.data, *server.options)
                self.assertEqual(out.returncode, 1, out)
                self.assertIn(f"in use by another gpufl-server (process {server.process.pid})", out.stderr)
            out = self.command("restore", backup, "--data", server.data)
            self.assertEqual(out.returncode, 1, out)
            self.assertIn("not empty", out.stderr)
            self.assertEqual(server.as_user("GET", "/api/v1/auth/me").status, 200)  # it goes on
            server.process.kill()
            server.wait()
            for words in (["migrate"], ["check"]):  # a killed server leaves no lock
                out = self.command(*words, "--data", server.data, *server.options)
                self.assertEqual(out.returncode, 0, out)
            server.start()

    @unittest.skipIf(postgres.URL, "PostgreSQL has backups of its own")
    def test_backup_restore_check(self):
        with Server(PROGRAM) as server, tempfile.TemporaryDirectory() as folder:
            server.set_up()
            key = server.make_key()
            server.send(key, FOLDER)  # not complete: what is only acknowledged must be in it, too
            self.assertEqual(server.ask("POST", "/api/v1/backups", Authorization=key).status, 403)
            made = server.as_user("POST", "/api/v1/backups")
            self.assertEqual(made.status, 200, made)
            backup = os.path.join(server.data, "backups", made.json()["name"])
            kernels = server.ask("GET", AT + "/kernels", Authorization=key).json()
            elsewhere = "/dev/shm" if os.path.isdir("/dev/shm") else folder  # another file system
            there = tempfile.TemporaryDirectory(dir=elsewhere)
            self.addCleanup(there.cleanup)
            target = os.path.join(there.name, "again")
            run = [PROGRAM, "restore", backup, "--data", target]
            self.assertEqual(subprocess.run(run, timeout=PATIENCE, stdout=subprocess.DEVNULL).returncode, 0)
            again = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(again.returncode, 1)
            self.assertIn("not empty", again.stderr)
            check = subprocess.run([PROGRAM, "check", "--data", target], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(check.returncode, 0, check.stderr)
            self.assertRegex(check.stdout, r"^1 sessions, 25\d+ rows, 0 damaged\n$")
            with Server(PROGRAM, data=target) as restored:
                answer = restored.ask("GET", AT + "/kernels", Authorization=key)
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.json()["data"], kernels["data"])
                with open(os.path.join(FOLDER, "device.1.log.gz"), "rb") as part:
                    sent = restored.ask("POST", "/api/v1/events/stream", part.read(), Authorization=key,
                                        Content_Encoding="gzip", X_GpuFlight_Session_Id=SESSION)
                self.assertTrue(sent.json()["repeated"], sent)  # nothing of it is doubled
            columns = [os.path.join(at, name) for at, _, files in os.walk(target) for name in files if SESSION in name]
            with open(columns[0], "r+b") as file:
                file.write(b"\0" * 8192)
            check = subprocess.run([PROGRAM, "check", "--data", target], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(check.returncode, 1)
            self.assertIn(SESSION, check.stdout)
            self.assertEqual(subprocess.run([PROGRAM, "migrate", "--data", target], timeout=PATIENCE,
                                            stdout=subprocess.DEVNULL).returncode, 0)
            nothing = subprocess.run([PROGRAM, "check", "--data", folder], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(nothing.returncode, 1)
            self.assertIn("no meta.db", nothing.stderr)

    def test_half_a_backup_does_not_stay(self):
        with Server(PROGRAM) as server:
            server.set_up()
            deep = os.path.join(server.data, "kept", *["deep"] * 12)
            os.makedirs(deep)
            made = server.as_user("POST", "/api/v1/backups")
            self.assertGreaterEqual(made.status, 400, made)
            self.assertEqual(os.listdir(os.path.join(server.data, "backups")), [])
            os.removedirs(deep)
            self.assertEqual(server.as_user("POST", "/api/v1/backups").status, 200)

    def test_what_a_killed_server_left_is_gone(self):
        with Server(PROGRAM) as server:
            server.set_up()
            self.assertEqual(server.as_user("POST", "/api/v1/backups").status, 200)
            server.stop(signal.SIGKILL)
            made = os.listdir(os.path.join(server.data, "backups"))
            left = ("export-4711.parquet", "export-4712.parquet.columns/columns/x", "columns/.export-3.parquet",
                    "backups/20200101T000000Z.part/meta.db")
            for name in left:
                os.makedirs(os.path.join(server.data, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(server.data, name), "wb") as out:
                    out.write(b"half")
            server.start()
            self.assertEqual([f for f in os.listdir(server.data) if f.startswith("export")], [])
            self.assertEqual([f for f in os.listdir(os.path.join(server.data, "columns")) if "export" in f], [])
            self.assertEqual(os.listdir(os.path.join(server.data, "backups")), made)

    def test_a_deleted_session_is_closed(self):
        """The session's file is closed at once: an open file takes the disk."""
        with Server(PROGRAM) as server:
            server.set_up()
            server.load(server.make_key(), FOLDER)
            fds = f"/proc/{server.process.pid}/fd"

            def open_files():
                links = []
                for fd in os.listdir(fds):
                    with contextlib.suppress(OSError):  # closed meanwhile
                        links.append(os.readlink(os.path.join(fds, fd)))
                return [link for link in links if SESSION in link]
            self.assertNotEqual(open_files(), [])
            self.assertEqual(server.as_user("DELETE", AT).status, 204)
            until(lambda: not open_files(), "its file is still open", 10 * SLOW)
            gone = server.ask("GET", AT + "/positions", Authorization=server.make_key())  # a sender must not begin again
            self.assertEqual(gone.status, 410, gone)

    def test_labels(self):
        with Server(PROGRAM) as server:
            server.set_up()
            key = server.make_key()
            server.load(key, FOLDER)
            label = AT + "/labels/team"
            self.assertEqual(server.as_user("PUT", label, {"value": "vision \u00e9"}).status, 204)
            self.assertEqual(server.as_user("PUT", AT + "/labels/a%20b", {"value": ""}).status, 204)
            labels = server.ask("GET", AT, Authorization=key).json()["labels"]
            self.assertRegex(labels.pop("run"), r"^[0-9a-f-]{36}$")  # that of `gpufl trace`, which recorded it
            self.assertEqual(labels, {"a b": "", "team": "vision \u00e9"})
            for query, count in (("label=team", 1), ("label=team&label_value=text", 0), ("text=VISION", 1), ("label=x", 0)):
                self.assertEqual(server.ask("GET", "/api/v1/session-count?" + query, Authorization=key).json()["count"],
                                 count, query)
            self.assertEqual(server.ask("PUT", label, {"value": "x"}, Authorization=key).status, 403)
            self.assertEqual(server.as_user("PUT", label, {"value": "x" * 1025}).status, 400)
            self.assertEqual(server.as_user("PUT", "/api/v1/sessions/other/labels/team", {"value": "x"}).status, 404)
            self.assertEqual(server.as_user("DELETE", label).status, 204)
            self.assertEqual(server.as_user("DELETE", label).status, 404)
            self.assertEqual(set(server.ask("GET", AT, Authorization=key).json()["labels"]), {"a b", "run"})
            audit = [(r["action"], r["target"]) for r in server.as_user("GET", "/api/v1/audit").json()["rows"][:2]]
            self.assertEqual(audit, [("label.delete", SESSION + " team"), ("label.set", SESSION + " a b")])

    def test_retention_by_age(self):
        with Server(PROGRAM) as server:
            server.set_up()
            key = server.make_key()
            server.load(key, FOLDER)
            keep = {"sessions": 1000000000, "bytes": 0, "metrics": 0}  # a second; the session is older
            self.assertEqual(server.as_user("PUT", "/api/v1/retention", keep).status, 204)
            self.assertEqual(server.as_user("GET", "/api/v1/retention").json(), keep)
            deadline = time.monotonic() + PATIENCE
            while server.ask("GET", AT, Authorization=key).status != 404:
                self.assertLess(time.monotonic(), deadline, "it is still there")


class Misbehaves(unittest.TestCase):
    """Clients that must not harm a server; more of them are in unit.http_limits."""

    def test_slow_headers_from_many(self):
        with Server(PROGRAM, "--max-connections-per-address", "300") as server:
            slow = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(200)]
            for s in slow:
                s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
            began = time.monotonic()
            self.assertEqual(server.ask("GET", "/readyz").status, 200)
            for i, s in enumerate(slow):
                s.settimeout(PATIENCE)
                if i < 5:
                    self.assertIn(s.recv(1), (b"",))
                s.close()
            self.assertLess(time.monotonic() - began, PATIENCE)

    def test_connections_per_address(self):
        with Server(PROGRAM, "--max-connections-per-address", "5") as server:
            held = []
            with self.assertRaises((OSError, http.client.HTTPException)):
                for _ in range(20):
                    held.append(server.connect())
                    held[-1].request("GET", "/healthz")
                    held[-1].getresponse().read()
            self.assertIn(len(held) - 1, (3, 4, 5))  # one that has just been closed may still count
            for connection in held:
                connection.close()

    def test_metrics_key(self):
        with Server(PROGRAM, environment={"GPUFL_SERVER_METRICS_KEY": "abc"}) as server:
            self.assertEqual(server.ask("GET", "/metrics").status, 401)
            self.assertEqual(server.ask("GET", "/metrics", Authorization="Bearer abd").status, 401)
            self.assertEqual(server.ask("GET", "/metrics", Authorization="Bearer abc").status, 200)


class Started(unittest.TestCase):
    """Tests what the server is given when it starts, and what it says about it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpufl-server-")  # without --data the server's data is in its own folder
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_it(self, *arguments, **environment):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, **environment}, cwd=self.folder)

    def test_options(self):
        for arguments, words in ((["--listen", "nowhere"], "ADDRESS:PORT"), (["--listen", "127.0.0.1:99999"], "65535"),
                                 (["--threads", "0"], "--threads"), (["--dada", "x"], "did you mean '--data'"),
                                 (["--tls-cert", "x"], "go together"), (["--public-url", "x"], "--public-url"),
                                 (["fly"], "unknown command")):
            out = self.run_it(*arguments)
            self.assertEqual(out.returncode, 2, arguments)
            self.assertIn(words, out.stderr)
            self.assertEqual(out.stdout, "")
        out = self.run_it(GPUFL_SERVER_LISTEN="nowhere")
        self.assertEqual(out.returncode, 2)
        self.assertIn("ADDRESS:PORT", out.stderr)
        out = self.run_it(GPUFL_SERVER_THREADS="many")
        self.assertIn("GPUFL_SERVER_THREADS", out.stderr)

    def test_taken_port(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            with tempfile.TemporaryDirectory() as folder:
                out = self.run_it("--data", folder, "--listen", "127.0.0.1:%d" % s.getsockname()[1])
        self.assertEqual(out.returncode, 1)
        self.assertIn("another program", out.stderr)

    def test_manual_has_every_option(self):
        text = self.run_it("--help").stdout
        with open(os.path.join(SOURCE, "docs", "man", "gpufl-server.1")) as page:
            manual = page.read()
        options = set(re.findall(r"--([a-z][a-z-]+)", text.split("Options")[1]))
        documented = set(re.findall(r"^\.It .*Fl -([a-z-]+)", manual, re.M))
        self.assertEqual(options, documented)
        out = self.run_it("openapi")
        with open(os.path.join(SOURCE, "docs", "openapi.json")) as kept:
            self.assertEqual(json.loads(out.stdout), json.load(kept))

    @unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate, and is not here")
    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                            "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                            "-days", "2", "-keyout", key, "-out", cert], check=True, capture_output=True)
            with Server(PROGRAM, "--tls-cert", cert, "--tls-key", key) as server:
                context = ssl.create_default_context(cafile=cert)
                connection = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=PATIENCE)
                connection.request("GET", "/healthz")
                answer = connection.getresponse()
                self.assertEqual(answer.status, 200)
                self.assertIn("max-age", answer.getheader("Strict-Transport-Security"))
                answer.read()
                connection.close()
                old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
                old.maximum_version = ssl.TLSVersion.TLSv1_1
                with self.assertRaises(OSError):
                    http.client.HTTPSConnection("localhost", server.port, context=old, timeout=PATIENCE).connect()
            out = self.run_it("--data", folder, "--listen", "127.0.0.1:0", "--tls-cert", key, "--tls-key", cert)
            self.assertEqual(out.returncode, 1)
            self.assertIn("PEM", out.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
