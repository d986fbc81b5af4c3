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
from agent_run import part_number, plain
from ports import free_port
from upload_case import ENV, GPUFL, KEY, Case, Proxy

DATA, PROGRAM = map(os.path.abspath, sys.argv[2:4])
PEER = pathlib.Path(DATA) / "peer" / "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"


def pack(folder):
    """Compresses the finished parts, as the library and `gpufl trace` do."""
    for path in folder.glob("*.*.log"):
        (folder / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


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
        for server, cause in ((f"http://127.0.0.1:{free_port()}", "connection refused: no server listens there"),
                              ("http://no.such.name.invalid", "its name is not known (DNS)"),
                              (self.server.url.replace("http:", "https:"), "no TLS connection was made")):
            began = time.monotonic()
            for limit in ("1s", "10s", "60s"):  # on a busy machine the answer, which is not TLS, takes longer
                run = self.upload("--unreachable", limit, server=server)
                if cause in run.stderr:
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

    def test_a_part_that_is_damaged_from_the_first_line_is_named(self):
        folder = self.session(kernels=100)
        (folder / "device.log").write_bytes(b'{"kernel":[[1,2,\n')
        code, said, _ = self.result()
        self.assertEqual((code, said["result"]), (1, "partly"))
        self.assertEqual(said["sessions"][0]["note"], "device.log is damaged from the first line on, and not sent")
        self.assertTrue(said["sessions"][0]["complete"])
        self.assertEqual({c for _, c in self.server.channels}, {"scope", "system"})
        self.assertIn("complete; device.log is damaged from the first line on, and not sent", self.upload("--force").stdout)
        (folder / "device.log").write_bytes(b"")  # nothing is lost with an empty file
        code, said, _ = self.result()
        self.assertEqual((code, said["sessions"][0]["note"]), (0, None))

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
