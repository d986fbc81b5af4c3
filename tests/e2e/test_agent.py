#!/usr/bin/env python3
"""`gpufl-agent` reads: written lines are on the server soon and once, and files that are not logs are ignored.

    test_agent.py GPUFL GPUFL_AGENT SOURCE
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from agent_case import ENV, GPUFL, PEER, Case, run
from agent_run import Log, channels_of, letters, plain
from patience import until


class Reads(Case):
    def test_finished_sessions_arrive_and_nothing_again(self):
        folders = [self.simulate(), self.simulate(20000)]
        for path in folders[1].glob("*.*.log"):  # as the library does
            Log.pack(path)
        with self.agent() as agent:
            agent.until_done(2)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.assertEqual(sorted(self.server.complete), sorted(f.name for f in folders))
        for folder in folders:
            for channel, text in channels_of(folder).items():
                self.assertEqual(bytes(self.server.channels[folder.name, channel]), text, channel)
        received = self.server.received, len(self.server.requests)
        with self.agent() as agent:
            agent.until_done(2)
        self.assertEqual((self.server.received, len(self.server.requests)), received)

    def test_upload_and_agent_share_what_the_server_knows(self):
        one, two = self.simulate(), self.simulate()
        upload = [GPUFL, "upload", "--quiet", "--no-names", "--server", self.server.url]
        subprocess.run([*upload, one], env=ENV, check=True)
        received = self.server.received
        with self.agent("--no-names") as agent:
            agent.until_done(2)
            sent = {h["X-GpuFlight-Session-Id"] for m, p, h in self.server.requests[3:] if p.endswith("stream")}
        self.assertGreater(self.server.received, received)
        self.assertIn(two.name, sent)
        received = self.server.received
        subprocess.run([*upload, two], env=ENV, check=True)
        self.assertEqual(self.server.received, received)

    def test_a_line_is_there_within_two_seconds(self):
        log = Log(self.logs, "live")
        with self.agent() as agent:
            self.until_arrived(log, agent)
            late = []
            for n in range(10):
                log.kernel(n)
                at = time.monotonic()
                until(lambda: self.arrived(log).endswith(log.lines["device"][-1] + b"\n"), agent.said)
                late.append(time.monotonic() - at)
            self.assertLess(sorted(late)[5], 2, late)
            log.end()
            agent.until_done(1)
        self.assertEqual(self.server.complete, ["live"])

    def test_files_that_are_empty_when_they_are_seen(self):
        """An empty file names no session. Its first bytes do, and the session has them from the first byte on."""
        log = Log(self.logs, "empty", begin=False)
        half = Log(self.logs, "half", begin=False)
        with self.agent("--scan", "100ms") as agent:
            agent.ask("flush")
            (half.folder / "device.log").write_bytes(b'{"type":"head')
            agent.ask("flush")
            self.assertEqual(self.server.complete, [])  # their files have hardly begun
            self.assertEqual(agent.status()["counts"]["completed"], 0)
            (half.folder / "device.log").write_bytes(b"")
            for one in (log, half):
                one.begin()
                one.kernel(1)
                self.until_arrived(one, agent)
                one.end()
            agent.until_done(2)
            for one in (log, half):
                self.until_arrived(one, agent)
            self.assertEqual(agent.status()["dead_letters"], 0)
        self.assertEqual(self.server.windows, {})

    def test_an_empty_file_says_nothing_of_its_session(self):
        """The agent reads the file while a session of the same folder runs, so it remembers what it took
        both for. The file `system` comes last, and is empty."""
        log = Log(self.logs, "runs")
        other = log.sibling("begins")
        with self.agent("--scan", "100ms") as agent:
            self.until_arrived(log, agent)
            agent.ask("flush")
            other.part["device"], other.offset["device"], other.pid = 1, 0, os.getpid()
            text = other.header("device") + b"\n" + b'{"type":"kernel","rows":1,"start":[1],"duration":[5],"correlation":[7]}\n'
            (log.folder / "begins.device.log").write_bytes(text)
            until(lambda: self.arrived(other) == text, agent.said)
            offsets = [h["X-GpuFlight-Offset"] for _, path, h in self.server.requests
                       if path.endswith("/stream") and h["X-GpuFlight-Session-Id"] == "begins"]
            self.assertEqual(set(offsets), {"0"})  # no 415 for zstd changes that, either
            log.end()
        self.assertEqual((self.server.windows, letters(self.state)), ({}, []))

    def test_many_sessions_stay_at_work_at_once(self):
        """A closed session would ask the server again, and write its mark again, for each line."""
        logs = [Log(self.logs, f"many{n}") for n in range(300)]
        with self.agent() as agent:
            for log in logs:
                self.until_arrived(log, agent)
            agent.ask("flush")
            asked = len(self.server.requests)
            for n, log in enumerate(logs):
                log.kernel(n)
            for log in logs:
                self.until_arrived(log, agent)
            self.assertEqual(agent.status()["open"], len(logs))
            self.assertEqual([path for method, path, _ in self.server.requests[asked:] if method == "GET"], [])
            for log in logs:
                log.end()

    def test_rotation_while_it_reads(self):
        log = Log(self.logs, "turns", rotate=900)
        with self.agent() as agent:
            for n in range(300):
                log.kernel(n)
                if n % 40 == 0:
                    log.turn("device", packed=n % 80 == 0)
            log.end()
            agent.until_done(1)
            self.until_arrived(log, agent)
        self.assertNotIn("got shorter", agent.said())

    def test_without_inotify(self):
        log = Log(self.logs, "poll")
        with self.agent("--no-inotify") as agent:
            self.until_arrived(log, agent)
            log.kernel(1)
            log.turn("device")
            log.kernel(2)
            self.until_arrived(log, agent)
            later = Log(self.logs / "group" / "run", "later")
            self.until_arrived(later, agent)
            for one in (log, later):
                one.end()
            agent.until_done(2)

    def test_a_part_that_somebody_packed_with_zstd(self):
        log = Log(self.logs, "zst")
        log.kernel(1)
        log.turn("device")
        log.kernel(2)
        log.end()
        part = log.folder / "device.1.log"
        subprocess.run(["zstd", "-q", "--rm", part], check=True)
        with self.agent() as agent:
            agent.until_done(1)
            self.until_arrived(log, agent)

    def test_windows_of_the_public_client(self):
        shutil.copytree(PEER, self.logs / PEER.name)
        there = {p.name.removesuffix(".gz"): plain(p) for p in PEER.glob("*.log*")}
        for _ in range(2):
            with self.agent() as agent:
                agent.until_done(1)
            sent = {f"{c}.{n}.log": text for (_, c, n), text in self.server.windows.items()}
            self.assertEqual(sent, there)
            self.assertEqual(self.server.complete, [PEER.name])

    def test_a_program_that_dies_has_its_session_completed(self):
        child = subprocess.Popen(["sleep", "1000"])
        log = Log(self.logs, "dies", pid=child.pid)
        with self.agent("--scan", "100ms") as agent:
            self.until_arrived(log, agent)
            self.assertEqual(self.server.complete, [])
            child.kill()
            child.wait()
            agent.until_done(1)
        self.assertEqual(self.server.complete, ["dies"])

    def test_a_server_that_lost_its_disk_gets_it_again(self):
        log = Log(self.logs, "lost")
        with self.agent() as agent:
            for n in range(50):
                log.kernel(n)
            self.until_arrived(log, agent)
            with self.server.lock:
                self.server.channels.clear()
            log.kernel(1000)
            until(lambda: self.arrived(log) == b"".join(x + b"\n" for x in log.lines["device"]), agent.said)

    def test_a_session_from_before_the_clock_was_set_back(self):
        log = Log(self.logs, "future")
        log.kernel(1)
        log.end()
        tomorrow = time.time() + 86400
        for path in (*log.folder.iterdir(), log.folder):
            os.utime(path, (tomorrow, tomorrow))
        with self.agent() as agent:
            agent.until_done(1)
            self.until_arrived(log, agent)
        self.assertEqual(self.server.complete, ["future"])

    def lose(self, keep=()):
        """Takes the server back to a state before all sessions but these."""
        with self.server.lock:
            self.server.channels = {k: v for k, v in self.server.channels.items() if k[0] in keep}
            self.server.complete = [name for name in self.server.complete if name in keep]

    def test_sessions_that_are_done_are_sent_again_where_the_server_lost_them(self):
        logs = [Log(self.logs, f"over{n}") for n in range(4)]
        for n, log in enumerate(logs):
            log.kernel(n)
            log.end()
            os.utime(log.folder, (n + 1, n + 1))  # over3 is the newest
        names = [log.name for log in logs]
        with self.agent("--scan", "100ms") as agent:
            agent.until_done(4)
            self.lose(keep=("over0", "over1"))  # as with an older backup
            until(lambda: sorted(self.server.complete) == names, agent.said)
            for log in logs:
                self.until_arrived(log, agent)
            self.assertEqual(agent.status()["counts"]["lost"], 2)
            agent.until_done(4)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.lose()
        with self.agent("--scan", "100ms") as agent:  # its cursor says what was there
            until(lambda: sorted(self.server.complete) == names, agent.said)
            for log in logs:
                self.until_arrived(log, agent)
            self.assertEqual(agent.status()["counts"]["lost"], 4)
            asked = len(self.server.requests)
            until(lambda: len(self.server.requests) > asked + 3, agent.said)  # it asks, and sends nothing
            self.assertEqual(agent.status()["counts"]["lost"], 4)

    def test_a_quiet_channel_is_sent_again_where_the_server_lost_it(self):
        log = Log(self.logs, "quiet")
        log.kernel(1)
        with self.agent() as agent:
            self.until_arrived(log, agent)
            self.lose()
            log.put("system", b'{"type":"kernel","rows":1,"start":[1],"duration":[1]}')
            self.until_arrived(log, agent)  # nothing was written to the channel device
            self.lose()
            log.end()
            agent.until_done(1)
            self.until_arrived(log, agent)

    def test_names_of_stacks_are_looked_up_here(self):
        folder = self.simulate(100)
        with self.agent() as agent:
            agent.until_done(1)
        want = channels_of(folder)
        for channel, text in want.items():
            self.assertEqual(bytes(self.server.channels[folder.name, channel]), text, channel)


class BadInput(Case):
    def test_what_is_no_log_is_left_alone_and_the_rest_goes_on(self):
        outside = self.dir / "outside"
        outside.mkdir()
        secret = Log(outside, "secret")
        secret.kernel(1)
        (self.logs / "link").symlink_to(secret.folder)
        odd = self.logs / "odd"
        odd.mkdir()
        (odd / "scope.log").symlink_to(secret.folder / "device.log")
        os.mkfifo(odd / "device.log")
        (odd / "system.log").write_bytes(b"\x00\x01 nothing of ours\n" * 10)
        (self.logs / "notes.txt").write_text("foreign")
        (self.logs / "app.log").write_text("a log of another program\n")
        (self.logs / "empty").mkdir()
        (self.logs / "damaged").mkdir()
        (self.logs / "damaged" / "device.1.log.gz").write_bytes(b"no gzip at all")
        piped = Log(self.logs, "piped")
        (piped.folder / "device.log").unlink()
        os.mkfifo(piped.folder / "device.log")
        led = Log(self.logs, "led")
        (led.folder / "device.log").unlink()
        (led.folder / "device.log").symlink_to(secret.folder / "device.log")
        log = Log(self.logs, "good")
        log.kernel(1)
        log.end()
        left_out = {"link": "a link, and links are not followed", "app.log": "no log of a session",
                    "odd/device.log": "a FIFO, a socket or a device", "odd/system.log": "no log of a session",
                    "piped/device.log": "a FIFO, a socket or a device", "led/device.log": "a link, or no file",
                    "a.sock": "a FIFO, a socket or a device"}
        with self.agent() as agent, socket.socket(socket.AF_UNIX) as s:
            s.bind(str(self.logs / "a.sock"))
            self.until_arrived(log, agent)
            until(lambda: "good" in self.server.complete, agent.said)
            for name, what in left_out.items():
                until(lambda said=f"{self.logs / name} is left out: it is {what}\n": said in agent.said(), agent.said)
            agent.until_said("damaged: it is no compressed file")
            agent.ask("flush", code=None)
        for name in left_out:
            self.assertEqual(agent.said().count(f"{self.logs / name} is left out"), 1)
        sent = b"".join(bytes(d) for (s, _), d in self.server.channels.items() if s != "good")
        sent += b"".join(self.server.windows.values())
        self.assertNotIn(b'"secret"', sent)
        self.assertNotIn(b"another program", sent)

    def test_half_a_line_waits_for_its_rest(self):
        log = Log(self.logs, "half")
        with self.agent() as agent:
            log.kernel(1)
            self.until_arrived(log, agent)
            log.files["device"].write(b'{"type":"kernel","rows":1,')
            agent.ask("flush")
            self.assertTrue(self.arrived(log).endswith(b"}\n"))
            rest = b'"start":[1],"duration":[1],"correlation":[2]}'
            log.files["device"].write(rest + b"\n")
            log.lines["device"].append(b'{"type":"kernel","rows":1,' + rest)
            self.until_arrived(log, agent)

    def test_a_log_that_is_cut_off(self):
        log, other = Log(self.logs, "cut"), Log(self.logs, "other")
        for n in range(20):
            log.kernel(n)
        with self.agent() as agent:
            self.until_arrived(log, agent)
            agent.ask("flush")  # the agent has nothing to do, and knows how long the log was
            os.truncate(log.folder / "device.log", 100)
            agent.until_said("got shorter")
            other.kernel(1)
            self.until_arrived(other, agent)
        self.assertEqual(self.arrived(log), b"".join(line + b"\n" for line in log.lines["device"]))

    def test_a_folder_that_goes(self):
        log, other = Log(self.logs, "goes"), Log(self.logs, "stays")
        with self.agent() as agent:
            self.until_arrived(log, agent)
            shutil.rmtree(log.folder)
            other.kernel(1)
            self.until_arrived(other, agent)
            until(lambda: agent.status()["sessions"] == 1, agent.said)

    def test_a_state_that_cannot_be_written(self):
        (self.dir / "file").write_text("")
        out = run("--source", self.logs, "--server", self.server.url, "--state", self.dir / "file" / "state")
        self.assertEqual((out.returncode, out.stderr.count("\n")), (1, 1), out)
        for state in (self.dir / "file" / "state", "/proc/nowhere/state"):  # the second one: also for root
            out = run("--check", "--source", self.logs, "--server", self.server.url, "--state", state)
            self.assertEqual((out.returncode, out.stderr.count("\n")), (1, 1), out)
            self.assertIn(f"cannot write the state {state}", out.stderr)
            self.assertNotIn("can be written", out.stdout)

    def test_a_source_that_is_not_there(self):
        args = ("--source", self.logs / "nowhere", "--server", self.server.url, "--state", self.state)
        for more in ((), ("--check",)):
            out = run(*args, *more)
            self.assertEqual((out.returncode, out.stderr.count("\n")), (1, 1), out)
            self.assertIn("nowhere cannot be read: No such file or directory", out.stderr)

    def test_bytes_that_are_no_utf8_arrive_as_they_are(self):
        log, other = Log(self.logs, "bytes"), Log(self.logs, "other")
        with self.agent() as agent:
            log.put("device", b'{"type":"names","rows":1,"id":[1],"text":["caf\xe9 \xff\xfe"]}')
            log.kernel(1)
            other.kernel(1)
            self.until_arrived(log, agent)
            self.until_arrived(other, agent)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
