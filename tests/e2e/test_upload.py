#!/usr/bin/env python3
"""`gpufl upload` against a server with unusual answers: the data on disk arrives, once.

    test_upload.py GPUFL TEST_DATA PROGRAM
PROGRAM is the guide's that ends with gpufl::uploadLogs (examples/cpp/seed_000.cpp).
"""
import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import ingest_server
from agent_run import channels_of, part_number, plain

GPUFL, DATA, PROGRAM = map(os.path.abspath, sys.argv[1:4])
# A shell's background jobs, and their children, ignore SIGINT; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
PEER = pathlib.Path(DATA) / "peer" / "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
KEY = "gpfl_" + "k" * 32


def pack(folder):
    """Compresses the finished parts, as the library and `gpufl trace` do."""
    for path in folder.glob("*.*.log"):
        (folder / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-upload-"))
        self.server = ingest_server.Server()

    def tearDown(self):
        self.server.close()
        shutil.rmtree(self.dir)

    def session(self, name="app", kernels=3000, **options):
        """A session of the simulated GPU in several parts."""
        env = {**ENV, "GPUFL_LOG_ROTATE_BYTES": str(options.get("rotate", 1 << 16))}
        subprocess.run([GPUFL, "sim", "-k", str(kernels), "-n", name, "-o", self.dir], env=env, check=True,
                       stdout=subprocess.DEVNULL)
        newest = max((d for d in self.dir.iterdir() if d.is_dir()), key=lambda d: d.stat().st_mtime_ns)
        return newest

    def upload(self, *args, path=None, env=None, server=None):
        command = [GPUFL, "upload", "--server", server or self.server.url, *args, path or self.dir]
        return subprocess.run(command, env={**ENV, **(env or {})}, capture_output=True, text=True, timeout=120,
                              check=False)

    def upload_within(self, *args, **more):
        """An upload to which nobody may answer; on a busy machine it has more time, as much as the first answer
        needs."""
        for unreachable, limit in (("200ms", "300ms"), ("2s", "3s"), ("20s", "30s")):
            run = self.upload("--time-limit", limit, "--unreachable", unreachable, *args, **more)
            if "no time left" not in run.stderr:
                break
        return run

    def result(self, *args, **more):
        run = self.upload("--json", *args, **more)
        return run.returncode, json.loads(run.stdout), run.stderr

    def assert_arrived(self, folder):
        for channel, text in channels_of(folder).items():
            self.assertEqual(bytes(self.server.channels[folder.name, channel]), text, channel)


class Whole(Case):
    def test_all_of_it_arrives_and_nothing_again(self):
        folder = self.session(kernels=20000)
        self.assertGreater(len(list(folder.glob("device.*"))), 2)
        pack(folder)
        code, said, _ = self.result()
        self.assertEqual(code, 0)
        self.assertEqual(said["result"], "all")
        self.assertTrue(said["sessions"][0]["complete"])
        self.assert_arrived(folder)
        self.assertEqual(self.server.complete, [folder.name])
        before = self.server.received
        code, said, _ = self.result()
        self.assertEqual((code, self.server.received), (0, before))
        self.assertEqual(said["sessions"][0]["bytes_sent"], 0)
        self.assertEqual(said["sessions"][0]["bytes_before"], said["sessions"][0]["bytes"])

    def test_parts_go_as_they_stand_where_they_are_compressed(self):
        folder = self.session(kernels=20000)
        pack(folder)
        sizes = {p.stat().st_size for p in folder.glob("*.log.gz")}
        self.assertTrue(sizes)
        self.upload()
        lengths = {int(h["Content-Length"]) for _, p, h in self.server.requests
                   if p.endswith("stream") and "Content-Length" in h}
        self.assertEqual(lengths, sizes)

    def test_force_sends_again_and_changes_nothing(self):
        folder = self.session()
        self.upload()
        before = self.server.received
        self.assertEqual(self.upload("--force").returncode, 0)
        self.assertGreater(self.server.received, before)
        self.assert_arrived(folder)

    def test_only_the_session_that_is_named(self):
        one, two = self.session("one", 100), self.session("two", 100)
        self.assertEqual(self.upload("--session-id", two.name[:12]).returncode, 0)
        self.assertEqual({s for s, _ in self.server.channels}, {two.name})
        run = self.upload("--session-id", "nothing-like-it")
        self.assertEqual(run.returncode, 2)
        self.assertIn("nothing-like-it", run.stderr)
        self.assertEqual(self.upload("--all-sessions").returncode, 0)
        self.assert_arrived(one)

    def test_windows_of_the_public_client(self):
        shutil.copytree(PEER, self.dir / PEER.name)
        code, said, _ = self.result()
        self.assertEqual((code, said["sessions"][0]["session"]), (0, PEER.name))
        sent = {f"{c}.{n}.log": text for (_, c, n), text in self.server.windows.items()}
        there = {p.name.removesuffix(".gz"): plain(p) for p in (self.dir / PEER.name).glob("*.log*")}
        self.assertEqual(sent, there)
        self.assertEqual(self.server.complete, [PEER.name])
        code, said, _ = self.result()
        self.assertEqual((code, len(self.server.windows)), (0, len(there)))


class Odd(Case):
    def test_retry_after_is_waited_for(self):
        folder = self.session(kernels=100)
        self.server.script = [{"status": 429, "headers": {"Retry-After": "1"}}, {"status": 503}, {"status": 500}]
        run = self.upload()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("429: as the script says; again in 1.", run.stderr)
        self.assert_arrived(folder)

    def test_retry_after_beyond_patience_is_given_up(self):
        self.session(kernels=100)
        self.server.script = [{"status": 429, "headers": {"Retry-After": "86400"}}] * 9
        run = self.upload()
        self.assertEqual(run.returncode, 2)
        self.assertIn("it asks for another 86400 s, and a wait may take 3600 s in a row", run.stderr)

    def test_not_now_is_no_failure(self):
        folder = self.session(kernels=100)
        self.server.script = [{"status": 429, "headers": {"Retry-After": "0"}}] * 20 + [
            {"status": 503, "headers": {"Retry-After": "0"}}]
        run = self.upload()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLess(run.stderr.count("again in"), 4)  # the same reason is said every 10 s
        self.assert_arrived(folder)

    def test_waiting_has_an_end_that_an_option_sets(self):
        self.session(kernels=100)
        self.server.script = [{"status": 429, "headers": {"Retry-After": "0"}}] * 1000
        run = self.upload("--wait", "1s")
        self.assertEqual(run.returncode, 2)
        self.assertIn("429", run.stderr)
        self.assertIn("a wait may take 1 s in a row", run.stderr)
        self.assertEqual(self.upload("--wait", "0s").returncode, 2)

    def test_a_server_that_cannot_be_reached_is_given_up(self):
        self.session(kernels=100)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        for server, cause in ((f"http://127.0.0.1:{port}", "connection refused: no server listens there"),
                              ("http://no.such.name.invalid", "its name is not known (DNS)"),
                              (self.server.url.replace("http:", "https:"), "no TLS connection was made")):
            began = time.monotonic()
            for limit in ("1s", "10s", "60s"):  # on a busy machine the answer, which is not TLS, takes longer
                run = self.upload("--unreachable", limit, server=server)
                if "timeout" not in run.stderr:
                    break
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(cause, run.stderr)
            tries = re.search(r"given up after ([0-9]+) tr(y|ies)", run.stderr)
            self.assertTrue(tries, run.stderr)
            if int(tries[1]) > 1:  # on a slow machine there is time for one
                self.assertIn("; again in ", run.stderr)
            self.assertLess(time.monotonic() - began, 150)

    def test_a_server_that_takes_connections_and_never_answers(self):
        """The system accepts the connection: the upload says which server it waits for, and ends when the option says."""
        self.session(kernels=100)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen(8)
            url = f"http://127.0.0.1:{s.getsockname()[1]}"
            for args in (("--unreachable", "3s"), ("--unreachable", "3s", "--force")):
                began = time.monotonic()
                run = self.upload(*args, server=url)
                self.assertLess(time.monotonic() - began, 40)  # by default a stall lasts 60 s
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertRegex(run.stderr, f"{url}: it takes the connection, and does not answer; given up after "
                                             r"1 try and [3-9][.0-9]* s without an answer \(--unreachable gives it longer\)")
            run = self.upload("--unreachable", "8s", server=url)
            self.assertRegex(run.stderr, f"gpufl upload: waiting for {url}: no answer for [5-7].00 s; it is given up after "
                                         "8.00 s\n")
            self.assertEqual(self.upload("--unreachable", "8s", "--quiet", server=url).stderr.count("\n"), 1)

    def test_a_slow_server_that_has_answered_is_waited_for(self):
        folder = self.session(kernels=100)
        hang = threading.Event()
        self.server.script = [{"hang": hang}]
        with subprocess.Popen([GPUFL, "upload", "--unreachable", "1s", "--server", self.server.url, self.dir], env=ENV,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            said = run.stderr.readline()  # five times as long as a server may be silent that has not answered
            hang.set()
            _, rest = run.communicate(timeout=120)
        self.assertRegex(said, f"gpufl upload: waiting for {self.server.url}: no answer for [0-9.]+ s\n$")
        self.assertEqual(run.returncode, 0, said + rest)
        self.assert_arrived(folder)

    def test_a_server_that_has_answered_and_stalls_is_tried_again(self):
        """The server is silent for longer than one that has never answered may be."""
        folder = self.session(kernels=100)
        hang = threading.Event()
        self.server.script = [{"hang": hang, "cut": 0}]
        with subprocess.Popen([GPUFL, "upload", "--unreachable", "1s", "--timeout", "4s", "--server", self.server.url,
                               self.dir], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            _, said = run.communicate(timeout=120)
        hang.set()
        self.assertIn("; again in ", said)
        self.assertEqual(run.returncode, 0, said)
        self.assert_arrived(folder)

    def test_a_cut_connection_goes_on_where_the_server_stands(self):
        folder = self.session(kernels=20000)
        pack(folder)
        self.server.script = [{"cut": 3000}, {"cut": 5000}, {}, {"cut": 20000}, {"cut": 0}]
        run = self.upload()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_arrived(folder)

    def test_a_gap_is_closed_from_where_the_server_expects(self):
        folder = self.session(kernels=20000)
        self.upload()
        system = self.server.channels[folder.name, "device"]
        del system[len(system) // 2:]  # a server that lost its last minutes after the question
        self.server.positions = False
        self.server.script = [{"status": 409, "json": {"expected_offset": len(system)}}]
        run = self.upload()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_arrived(folder)

    def test_a_missing_part_is_reported(self):
        folder = self.session(kernels=20000)
        pack(folder)
        parts = sorted(folder.glob("device.*.log.gz"), key=part_number)
        parts[1].unlink()
        code, said, _ = self.result()
        self.assertEqual((code, said["result"]), (1, "partly"))
        self.assertIn("are in no file here", said["sessions"][0]["message"])
        self.assertFalse(said["sessions"][0]["complete"])
        self.assertEqual(bytes(self.server.channels[folder.name, "device"]), plain(parts[0]))
        self.assertEqual(self.server.complete, [])

    def test_lines_left_out_are_named(self):
        folder = self.session(kernels=100)
        self.server.script = [{"reject": [2, 3]}]
        run = self.upload()
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"\.log(\.gz)?: line 2 of what was sent \(kernel\) was left out: as the script")
        self.assertIn("2 left out", run.stderr)
        self.assertEqual(self.server.complete, [folder.name])  # everything that can arrive has arrived

    def test_bodies_that_are_too_large_go_in_pieces(self):
        folder = self.session(kernels=400000, rotate=64 << 20)
        self.server.largest = 5 << 20
        self.assertGreater(max(p.stat().st_size for p in folder.glob("device*")), 6 << 20)
        run = self.upload()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_arrived(folder)

    def test_bodies_that_are_cut_off_go_in_pieces(self):
        """A 413 whose connection is reset at once is never read."""
        folder = self.session(kernels=400000, rotate=64 << 20)
        self.server.largest, self.server.abrupt = 5 << 20, True
        run = self.upload("--unreachable", "110s")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_arrived(folder)

    def test_no_key_ends_it_at_once(self):
        self.session("one", 100), self.session("two", 100)
        self.server.key = KEY
        run = self.upload(env={"GPUFL_API_KEY": "gpfl_wrong"})
        self.assertEqual(run.returncode, 2)
        self.assertIn("401: the key is not known; a key that may send is named by --api-key-file or GPUFL_API_KEY\n",
                      run.stderr)
        self.assertIn("1 of 2 sessions were not tried", run.stderr)
        self.assertEqual(len(self.server.requests), 1)

    def test_nobody_there(self):
        self.session(kernels=100)
        url = self.server.url
        self.server.close()
        run = self.upload_within(server=url)
        self.assertEqual(run.returncode, 2)
        self.assertIn("onnect", run.stderr)
        self.server = ingest_server.Server()

    def test_a_page_that_asks_for_a_login_takes_nothing(self):
        self.session(kernels=100)
        shutil.copytree(PEER, self.dir / PEER.name)
        self.server.portal = True
        run = self.upload("--no-names")
        self.assertEqual(run.returncode, 2, run)
        self.assertIn("answers 200, but not with the words of a gpufl-server", run.stderr)
        self.server.portal = False
        self.assertEqual(self.upload("--no-names").returncode, 0)
        self.assertEqual({f"{c}.{n}.log" for _, c, n in self.server.windows},
                         {path.name.removesuffix(".gz") for path in PEER.glob("*.log*")})

    def test_a_redirect_gets_no_key(self):
        """The key goes to no other address, even of this machine: what listens there may be somebody else's."""
        self.session(kernels=100)
        for status in (301, 302, 303, 307, 308):
            other = Proxy()
            self.server.script = [{"status": status, "headers": {"Location": other.url + "/api/v1/events/stream"}}]
            run = self.upload(env={"GPUFL_API_KEY": KEY})
            self.assertEqual(run.returncode, 2)
            self.assertIn("sends elsewhere", run.stderr)
            self.assertEqual(other.close(), [])


class Keys(Case):
    def test_key_from_a_file_or_the_environment_and_in_no_output(self):
        self.session(kernels=100)
        self.server.key = KEY
        file = self.dir / "key"
        file.write_text(KEY + "\nnot this\n")
        file.chmod(0o600)
        run = self.upload("--api-key-file", file)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn(KEY, run.stdout + run.stderr)
        run = self.upload("--force", env={"GPUFL_API_KEY": KEY})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn(KEY, run.stdout + run.stderr)

    def test_a_key_file_that_others_can_read_is_reported(self):
        self.session(kernels=100)
        file = self.dir / "key"
        file.write_text(KEY)
        file.chmod(0o644)
        self.assertIn("chmod 600", self.upload("--api-key-file", file).stderr)

    def test_addresses_that_are_none(self):
        self.session(kernels=10)
        for url, word in (("ftp://x", "http:// or https://"), ("http://me:secret@x", "must not contain"),
                          ("https://", "names no server"), ("http://a b", "spaces"), ("http://x/?a", "ends before")):
            run = self.upload(server=url)
            self.assertEqual(run.returncode, 2)
            self.assertIn(word, run.stderr)
            self.assertNotIn("secret", run.stderr)

    def test_https_is_meant_where_no_scheme_is_named(self):
        self.session(kernels=10)
        run = self.upload_within(server=self.server.url.removeprefix("http://"))
        self.assertEqual(run.returncode, 2)
        self.assertIn("https://127.0.0.1", run.stderr)

    def test_no_server_named(self):
        run = subprocess.run([GPUFL, "upload", self.dir], env=ENV, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("GPUFL_BACKEND_URL", run.stderr)


class Proxy:
    """A listener in place of a proxy: it keeps the heads of requests, and answers with one status."""

    def __init__(self, status="502 Bad Gateway"):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.heads = []
        self.answer = f"HTTP/1.1 {status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy".encode()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.settimeout(10)
                head = b""
                while b"\r\n\r\n" not in head and (more := client.recv(4096)):
                    head += more
                if head:
                    self.heads.append(head.decode(errors="replace"))
                    client.sendall(self.answer)

    def close(self):
        """Closes it: what it was asked."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(60)
        return self.heads


class Proxies(Case):
    """The environment says which proxy is asked; for this machine none is."""

    def through(self, server, *args, status="502 Bad Gateway", login="", **env):
        """The run, and what the proxy was asked."""
        proxy = Proxy(status)
        url = proxy.url.replace("http://", "http://" + login)
        env = {"GPUFL_API_KEY": KEY, "http_proxy": url, "https_proxy": url, "all_proxy": url, **env}
        run = self.upload_within(*args, server=server, env=env)
        self.assertNotIn(KEY, run.stdout + run.stderr)
        self.shown = proxy.url
        return run, proxy.close()

    def test_a_server_on_this_machine_is_asked_directly(self):
        folder = self.session(kernels=100)
        self.server.key = KEY
        port = self.server.server_port
        for host in ("127.0.0.1", "localhost", "127.1"):
            run, asked = self.through(f"http://{host}:{port}", "--force", "--time-limit", "60s")
            self.assertEqual((run.returncode, asked), (0, []), run.stderr)
            self.assertNotIn("unencrypted", run.stderr)
        self.assert_arrived(folder)

    def test_nobody_on_this_machine_is_no_reason_to_ask_a_proxy(self):
        self.session(kernels=10)
        for url in ("http://127.0.0.1:1", "http://localhost:1", "http://gpu.localhost:1", "http://[::1]:1",
                    "https://127.0.0.1:1", "http://[::1%25lo]:1", "http://[::1%lo]:1", "http://[::ffff:127.0.0.1]:1",
                    "http://127%2e0.0.1:1", "http://loc%61lhost:1", "http://0x7f.1:1", "http://2130706433:1",
                    "http://0:1"):
            run, asked = self.through(url, "--unreachable", "200ms")
            self.assertEqual((run.returncode, asked), (2, []), run.stderr)
            self.assertNotIn("proxy", run.stderr)

    def test_letters_that_libcurl_rewrites_go_through_no_proxy(self):
        self.session(kernels=10)
        for url in ("http://ｌｏｃａｌｈｏｓｔ:1", "http://127。0。0。1:1"):
            run, asked = self.through(url)
            self.assertEqual((run.returncode, asked), (2, []), run.stderr)
            self.assertIn("through a proxy the server's name has to be written in ASCII", run.stderr)

    def test_http_through_a_proxy_is_in_the_clear_and_the_proxy_is_named(self):
        self.session(kernels=10)
        run, asked = self.through("http://gpufl.example.org", login="me:secret@")
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"unencrypted, through the proxy {self.shown}; https:// would hide it", run.stderr)
        self.assertIn(f"the server or the proxy {self.shown} answers 502", run.stderr)
        self.assertNotIn("secret", run.stdout + run.stderr)
        self.assertIn("GET http://gpufl.example.org/api/v1/", asked[0])
        self.assertIn("Authorization: Bearer " + KEY, asked[0])

    def test_https_through_a_proxy_shows_it_no_key(self):
        self.session(kernels=10)
        run, asked = self.through("https://gpufl.example.org", status="403 Forbidden")
        self.assertEqual(run.returncode, 2)
        self.assertNotIn("unencrypted", run.stderr)
        self.assertIn(f"https://gpufl.example.org (through the proxy {self.shown})", run.stderr)
        self.assertTrue(asked[0].startswith("CONNECT gpufl.example.org:443 "), asked[0])
        self.assertNotIn(KEY, "".join(asked))

    def test_a_proxy_that_wants_a_password(self):
        self.session(kernels=10)
        run, _ = self.through("http://gpufl.example.org", status="407 Proxy Authentication Required")
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"the proxy {self.shown} asks for a name and a password (407)", run.stderr)

    def test_a_proxy_that_is_not_there_is_named(self):
        self.session(kernels=10)
        run = self.upload_within(server="http://gpufl.example.org", env={"http_proxy": "me:secret@127.0.0.1:1"})
        self.assertEqual(run.returncode, 2)
        self.assertIn("(through the proxy http://127.0.0.1:1)", run.stderr)
        self.assertNotIn("secret", run.stderr)

    def test_hosts_that_are_excepted(self):
        self.session(kernels=10)
        run, asked = self.through("http://gpufl.invalid", no_proxy="example.org,invalid")
        self.assertEqual((run.returncode, asked), (2, []))
        self.assertIn("the key goes to http://gpufl.invalid unencrypted; ", run.stderr)


class Addresses(Case):
    def test_the_api_path_belongs_to_no_address_and_does_no_harm(self):
        """People copy the address of a request, with its path."""
        for tail in ("", "/", "/api/v1", "/api/v1/"):
            folder = self.session(kernels=100)
            code, result, err = self.result(server=self.server.url + tail)
            self.assertEqual(code, 0, err)
            self.assertEqual(result["server"], self.server.url)
            self.assert_arrived(folder)
            self.assertEqual({path.startswith("/api/v1/") and "/api/v1/api" not in path
                              for _, path, _ in self.server.requests}, {True})

    def test_another_api_path(self):
        self.session(kernels=10)
        self.upload("--api-path", "/v2/", "--time-limit", "5s", server=self.server.url + "/base/v2")
        self.assertEqual(self.server.requests[0][1].split("/sessions")[0], "/base/v2")
        self.server.requests.clear()
        self.upload("--api-path", "/v2", "--time-limit", "5s", server=self.server.url + "/api/v1")
        self.assertEqual(self.server.requests[0][1].split("/sessions")[0], "/api/v1/v2")


class Ends(Case):
    """Sessions without an end."""

    def open_session(self, host=None, pid=None):
        """A session as its writer leaves it when it is killed: no end, a torn last line."""
        folder = self.session(kernels=100)
        system = next(folder.glob("system.log"))
        lines = system.read_text().splitlines(keepends=True)
        kept = [line for line in lines if '"type":"end"' not in line]
        self.assertLess(len(kept), len(lines))
        head = json.loads(kept[0])
        head["host"] = host if host is not None else os.uname().nodename
        head["pid"] = pid
        head["start"] = time.monotonic_ns()  # the simulated clock begins elsewhere
        kept[0] = json.dumps(head, separators=(",", ":")) + "\n"
        system.write_text("".join(kept) + '{"type":"kern')
        return folder, "".join(kept).encode()

    def test_a_killed_program_is_complete(self):
        child = subprocess.Popen(["true"])
        child.wait()
        folder, text = self.open_session(pid=child.pid)
        code, said, _ = self.result()
        self.assertEqual((code, said["sessions"][0]["state"]), (0, "died"))
        self.assertEqual(bytes(self.server.channels[folder.name, "system"]), text)
        self.assertEqual(self.server.complete, [folder.name])
        self.assertIn("its program is gone", said["sessions"][0]["note"])

    def test_a_running_one_goes_so_far(self):
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        folder, text = self.open_session(pid=child.pid)
        code, said, _ = self.result()
        self.assertEqual((code, said["sessions"][0]["state"]), (1, "running"))
        self.assertEqual(bytes(self.server.channels[folder.name, "system"]), text)
        self.assertEqual(self.server.complete, [])
        with open(folder / "system.log", "a", encoding="utf8") as f:  # the torn line, and an end
            f.write('el","rows":0}\n{"type":"end","rows":1}\n')
        code, said, _ = self.result()
        self.assertEqual((code, said["sessions"][0]["state"]), (0, "ended"))
        self.assert_arrived(folder)

    def test_one_from_elsewhere_is_left_open_unless_it_is_said(self):
        folder, _ = self.open_session(host="elsewhere", pid=1)
        code, said, _ = self.result()
        self.assertEqual((code, said["sessions"][0]["state"]), (1, "unknown"))
        self.assertEqual(self.server.complete, [])
        self.assertEqual(self.upload("--complete").returncode, 0)
        self.assertEqual(self.server.complete, [folder.name])


class FromTheProgram(Case):
    """gpufl::uploadLogs, twice, after the session has ended; "" means the last session's."""

    def run_program(self, **env):
        env = {**ENV, "GPUFL_BACKEND": "sim", "GPUFL_LOG_PATH": str(self.dir / "logs"), "LD_LIBRARY_PATH": "", **env}
        return subprocess.run([PROGRAM], env=env, cwd=self.dir, capture_output=True, text=True, timeout=300, check=False)

    def test_what_it_recorded_arrives(self):
        # The guide names a server of its own: here its sessions go to this one, past the proxy.
        cli, proxy = self.dir / "cli", Proxy()
        cli.write_text(f"#!/bin/sh\nGPUFL_BACKEND_URL={self.server.url}/api/v1 exec {GPUFL} \"$@\"\n")
        cli.chmod(0o700)
        self.server.key = KEY
        run = self.run_program(GPUFL_CLI=str(cli), GPUFL_API_KEY=KEY, http_proxy=proxy.url)
        self.assertEqual(proxy.close(), [])
        self.assertEqual((run.returncode, run.stdout), (0, "upload: done\n"), run.stderr)
        folder = next((self.dir / "logs").iterdir())
        self.assert_arrived(folder)
        self.assertEqual(self.server.complete, [folder.name] * 2)

    def test_it_says_why_not(self):
        run = self.run_program(GPUFL_CLI="/nowhere/gpufl")
        self.assertEqual(run.returncode, 0)
        self.assertIn("upload: cannot run /nowhere/gpufl", run.stdout)

    def test_it_names_what_code_can_set(self):
        cli = self.dir / "cli"
        cli.write_text(f"#!/bin/sh\nGPUFL_BACKEND_URL={self.server.url} exec {GPUFL} \"$@\"\n")
        cli.chmod(0o700)
        self.server.key = KEY
        run = self.run_program(GPUFL_CLI=str(cli), GPUFL_API_KEY="gpfl_wrong")
        self.assertIn("401: the key is not known; a key that may send is named by api_key or GPUFL_API_KEY\n", run.stdout)
        cli.write_text(f"#!/bin/sh\nGPUFL_BACKEND_URL= exec {GPUFL} \"$@\"\n")
        run = self.run_program(GPUFL_CLI=str(cli))
        self.assertEqual(run.stdout, "upload: to which server? set backend_url, or GPUFL_BACKEND_URL\n")
        self.assertNotIn("--server", run.stderr)

    def test_a_server_that_never_answers_has_unreachable_ms(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen(8)
            url = f"http://127.0.0.1:{s.getsockname()[1]}"
            cli = self.dir / "cli"
            cli.write_text(f"#!/bin/sh\nGPUFL_BACKEND_URL={url} exec {GPUFL} \"$@\"\n")
            cli.chmod(0o700)
            run = self.run_program(GPUFL_CLI=str(cli))
        self.assertRegex(run.stderr, f"gpufl: upload: waiting for {url}: no answer for [5-9].00 s; it is given up after 15.0 s\n")
        self.assertRegex(run.stdout, r"does not answer; given up after 1 try and 1[5-9][.0-9]* s without an answer "
                                     r"\(unreachable_ms gives it longer\)")
        self.assertNotIn("--unreachable", run.stdout + run.stderr)

    def test_off_it_does_nothing(self):
        run = self.run_program(GPUFL_DISABLED="1", GPUFL_CLI="/nowhere/gpufl")
        self.assertEqual((run.returncode, run.stdout), (0, "upload: done\n"))


class Stops(Case):
    def test_interrupted_it_goes_on_later(self):
        folder = self.session(kernels=20000)
        hang = threading.Event()
        self.server.script = [{}, {"hang": hang}]
        with subprocess.Popen([GPUFL, "upload", "--server", self.server.url, self.dir], env=ENV,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            while sum(p.endswith("stream") for _, p, _ in list(self.server.requests)) < 2:
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=120)
        hang.set()
        self.assertEqual(run.returncode, 1, said)
        self.assertIn("the same command goes on from there", said)
        self.assertEqual(self.server.complete, [])
        self.assertEqual(self.upload().returncode, 0)
        self.assert_arrived(folder)

    def test_time_limit(self):
        self.session(kernels=100)
        hang = threading.Event()
        self.addCleanup(hang.set)
        self.server.script = [{"hang": hang}]
        run = self.upload("--time-limit", "1s")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no time left", run.stderr)

    def test_a_request_that_stands_still_is_tried_again(self):
        folder = self.session(kernels=100)
        hang = threading.Event()
        self.addCleanup(hang.set)
        self.server.script = [{"hang": hang}]
        run = self.upload("--timeout", "1s")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("again in", run.stderr)
        self.assert_arrived(folder)

    def test_progress_on_a_terminal(self):
        self.session(kernels=20000)
        ours, theirs = pty.openpty()
        run = subprocess.run([GPUFL, "upload", "--server", self.server.url, self.dir], env={**ENV, "TERM": "xterm"},
                             stdout=subprocess.PIPE, stderr=theirs, check=False)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError), open(ours, "rb", buffering=0) as terminal:  # EIO at its end
            while text := terminal.read(1 << 16):  # the terminal delivers the output in pieces
                shown += text
        self.assertEqual(run.returncode, 0)
        self.assertRegex(shown.decode(), r"\d %  [\d.]+ \w+ of [\d.]+ [KM]iB")


class Linked(unittest.TestCase):
    def test_nothing_is_linked_to_http(self):
        """libcurl is opened when something is sent, and libmicrohttpd is the server's."""
        build = pathlib.Path(GPUFL).parent.parent
        for path in (build / "bin/gpufl", build / "lib/libgpufl.so", build / "lib/libgpufl-analysis.so"):
            needed = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
            self.assertIn("libc.so.6", needed)
            self.assertNotRegex(needed, r"NEEDED.*(curl|microhttpd|ssl|crypto)", path)

    def test_without_libcurl_it_says_what_to_install(self):
        """The loader is made to find something else under libcurl's names."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
                pathlib.Path(folder, name).write_bytes(b"no library")
            run = subprocess.run([GPUFL, "upload", "--server", "127.0.0.1:9", folder], capture_output=True, text=True,
                                 env={**ENV, "LD_LIBRARY_PATH": folder}, check=False)
        self.assertEqual(run.returncode, 69)
        self.assertIn("install libcurl4", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
