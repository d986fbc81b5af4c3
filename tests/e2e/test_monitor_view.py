"""gpufl monitor: the live view in a real terminal (tmux), its lines, and the monitor whose samples it shows.

Usage: test_monitor_view.py gpufl-monitor gpufl FAKES SOURCE_DIR"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import together
from monitored import Monitor, Session
from patience import PATIENCE, started, until
from programs import copied

PROGRAM, GPUFL, FAKES, SOURCE = sys.argv[1:5]
PROMPT = "ready> "
BAR, ESCAPE = "█", "\x1b"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[1-7](?:;\d+)*m")


class Terminal:
    """A shell in a terminal of tmux."""

    def __init__(self, folder, environment, columns=80, rows=24):
        self.base = ["tmux", "-S", os.path.join(folder, "tmux"), "-f", "/dev/null"]
        start = os.path.join(folder, "bashrc")
        with open(start, "w", encoding="utf-8") as f:
            f.write(f"PS1='{PROMPT}'\n")
        environment = dict(environment, HISTFILE="", PATH=os.path.dirname(GPUFL) + ":" + os.environ["PATH"])
        environment.pop("TMUX", None)
        environment.setdefault("LC_ALL", "C.UTF-8")
        subprocess.run([*self.base, "-u", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                        f"bash --rcfile {start} -i"], env=environment, check=True, timeout=PATIENCE)
        self.wait(PROMPT.strip())

    def tmux(self, *words):
        return subprocess.run([*self.base, *words], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    def text(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, command):
        self.keys("-l", command)
        self.keys("Enter")

    def is_alternate(self):
        return self.tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def wait(self, pattern):
        """Waits until the screen matches: the screen."""
        return until(lambda: (lambda s: s if re.search(pattern, s, re.M) else None)(self.text()),
                     lambda: f"never on the screen: {pattern}\n{self.text()}")

    def programs(self):
        return children(int(self.tmux("display-message", "-p", "#{pane_pid}")))

    def close(self):
        """The terminal ends last: a program that loses it while a sanitizer looks for leaks hangs for ever."""
        until(lambda: not [os.kill(x, signal.SIGKILL) for x in self.programs()], "a program goes on")
        self.tmux("kill-server")


def children(pid):
    """The processes whose parent this is."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(x) for x in f.read().split()]


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class World(unittest.TestCase):
    """A monitor that runs for all cases of a class, over eight GPUs with 64 processes."""
    daemon = True
    gpus, processes = 8, 64

    @classmethod
    def setUpClass(cls):
        cls.m = Monitor(PROGRAM, FAKES, devices=cls.gpus)
        cls.addClassCleanup(shutil.rmtree, cls.m.folder)
        cls.environment = cls.m.environment
        cls.sleepers = []
        cls.addClassCleanup(cls.end_sleepers)
        for k in range(cls.processes):
            env = {"SLURM_JOB_ID": str(4000 + k)} if k % 2 else {"POD_NAME": f"train-{k}", "POD_NAMESPACE": "ml"}
            cls.sleepers.append(started(subprocess.Popen(["sleep", "600"], env=env)))
            cls.m.control.pid(k, cls.sleepers[-1].pid)
        if cls.daemon:
            cls.m.start()
            cls.addClassCleanup(cls.m.close)
            cls.m.wait_rows(cls.processes, "gpu_process", phase=0)

    @classmethod
    def end_sleepers(cls):
        for x in cls.sleepers:
            x.kill()
            x.wait()

    def gpufl(self, *options, code=0, environment=None):
        got = subprocess.run([GPUFL, "monitor", "-i", "200ms", *options], env=dict(self.environment, **(environment or {})),
                             capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(got.returncode, code, got.stdout + got.stderr)
        return got


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class InATerminal(World):
    def terminal(self, environment=None, **size):
        t = Terminal(tempfile.mkdtemp(prefix="tmux-", dir=self.m.folder), dict(self.environment, **(environment or {})),
                     **size)
        self.addCleanup(t.close)
        return t

    def test_gpus_and_processes_at_two_sizes(self):
        t, samplers = self.terminal(), self.m.control.inits
        t.run("gpufl monitor -i 200ms")
        screen = t.wait(r"(?s)^ 7 Fake GPU 7 .* 1-.* of 64")  # a terminal draws a frame piece by piece
        self.assertTrue(t.is_alternate())
        lines = screen.splitlines()
        self.assertEqual(len(re.findall(r"^ \d Fake GPU \d ", screen, re.M)), 8)
        self.assertRegex(screen, r"(?m)^ 0 Fake GPU 0 +\[█.*\] +\d+ % .*\d\.\d/\d+G \d+ °C +\d+ W T")
        self.assertIn("1-", lines[-1])
        self.assertIn(" of 64", lines[-1])
        self.assertRegex(screen, r"sleep +(job 4\d\d\d|ml/train-\d+)")
        self.assertTrue(all(len(x) <= 80 for x in lines))
        t.wait(r"\[█.*▃|\[█.*▄|\[█.*▅")
        t.keys("p")
        screen = until(lambda: (lambda p: p if len(p) > 2 and p == sorted(p) else None)(
            [int(x) for x in re.findall(r"^ +\d +(\d+) \w+ +\d+ MiB", t.text(), re.M)]), "not sorted by process id")
        self.assertEqual(screen[0], min(x.pid for x in self.sleepers))
        t.keys("End", "Down", "NPage")
        t.wait(r"\b12-\d\d of 64")
        t.keys("h")
        self.assertNotIn("sleep", t.wait("ends the view"))
        t.keys("h")
        t.tmux("resize-window", "-x", "200", "-y", "50")
        t.wait(r"^  memory  .*NVLink in")
        screen = t.wait(r"^GPU  7 Fake GPU 7 .*\d+ of 500 W  SM \d+ MHz")
        self.assertEqual(len(re.findall(r"^  memory  \[", screen, re.M)), 8)
        self.assertIn("throttled: power cap", screen)
        t.keys("q")
        t.wait(rf"gpufl monitor -i 200ms\n{PROMPT.strip()}")
        self.assertFalse(t.is_alternate())
        self.assertEqual(self.m.control.inits, samplers, "a second sampler ran")

    def test_every_end_gives_the_terminal_back(self):
        t = self.terminal()
        t.run("stty -a | md5sum; gpufl monitor -i 200ms; stty -a | md5sum")
        t.wait("Fake GPU 0")
        t.keys("C-c")
        sums = re.findall(r"^([0-9a-f]{32})", t.wait(r"(?s)\n[0-9a-f]{32} .*\n[0-9a-f]{32} "), re.M)
        self.assertEqual(sums[0], sums[1], "the terminal has other settings")
        self.assertFalse(t.is_alternate())
        for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            t.run("clear; gpufl monitor -i 200ms; echo ended=$?")
            t.wait("Fake GPU 0")
            os.kill(self.in_terminal(t), sig)
            t.wait("ended=0")
            self.assertFalse(t.is_alternate(), sig)

    @unittest.skipIf(os.environ.get("GPUFL_SANITIZE") == "thread", "ThreadSanitizer writes a file of its own when a program starts")
    def test_under_a_limit_on_files(self):
        """The view goes on if it may write no file, since a frame is none."""
        t = self.terminal()
        t.run("(ulimit -f 0; exec gpufl monitor -i 200ms); echo ended=$?")
        t.wait("Fake GPU 0")
        t.keys("q")
        t.wait("ended=0")
        self.assertFalse(t.is_alternate())

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_frame_is_one_write(self):
        """Between two looks at the monitor there is one write to the terminal at most."""
        t, trace = self.terminal(columns=200, rows=50), os.path.join(self.m.folder, "trace")
        t.run(f"strace -o {trace} -e trace=write,connect gpufl monitor -i 200ms")

        def frames():
            with open(trace, encoding="utf-8", errors="replace") as f:
                calls = [x.startswith("write(1,") for x in f if x.startswith("write(1,") or "live" in x]
            looks = [i for i, is_write in enumerate(calls) if not is_write]
            return [b - a - 1 for a, b in zip(looks, looks[1:])]
        t.wait("Fake GPU 0")
        until(lambda: len(frames()) >= 12, "no frames")
        t.keys("q")
        until(lambda: not t.is_alternate(), "q does not end it")
        self.assertEqual(max(frames()[4:12]), 1)

    def in_terminal(self, t):
        """The gpufl that the shell of a terminal runs."""
        (pid,) = t.programs()
        return pid

    def test_stopped_and_in_front_again(self):
        t = self.terminal()
        t.run("gpufl monitor -i 200ms")
        t.wait("Fake GPU 0")
        t.keys("C-z")
        t.wait("Stopped")
        self.assertFalse(t.is_alternate())
        t.run("fg")
        until(t.is_alternate, "the view is not there again")
        t.wait("Fake GPU 0")
        t.keys("q")
        until(lambda: not t.is_alternate(), "q does not end it")

    def test_colours_and_characters(self):
        t = self.terminal()
        t.run("gpufl monitor -i 200ms")
        t.wait("Fake GPU 0")
        self.assertRegex(t.text("-e"), COLOUR)
        t.keys("q")
        until(lambda: not t.is_alternate(), "q does not end it")
        t.run("clear; NO_COLOR=1 LC_ALL=C gpufl monitor -i 200ms")
        screen = t.wait(r"Fake GPU 0 +\[\|")
        self.assertNotRegex(t.text("-e"), COLOUR)
        self.assertTrue(screen.isascii(), screen)

    def test_a_monitor_that_goes_and_comes(self):
        t = self.terminal()
        t.run("gpufl monitor -i 200ms")
        t.wait("Fake GPU 0")
        self.m.stop()
        self.m.err.close()
        t.wait("gpufl-monitor has ended: no new values")
        self.m.start()
        until(lambda: "has ended" not in t.text(), "the monitor is back, and the view does not see it")

    def test_a_name_that_a_terminal_would_obey(self):
        evil = subprocess.Popen([sys.executable, "-c", "import sys; open('/proc/self/comm','w').write('\\x1b[31mred\\x07'); "
                                 "print(flush=True); sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        evil.stdout.readline()
        self.m.control.pid(0, evil.pid)
        try:
            self.m.wait_rows(1, "gpu_process", pid=evil.pid)
            t = self.terminal(columns=120, rows=50)
            t.run("gpufl monitor -i 200ms --sort pid")
            t.keys("n")
            t.wait(r"\?\[31mred\?")
            t.keys("q")
            out = self.gpufl("--once").stdout
            self.assertIn("?[31mred?", out)
            self.assertNotIn(ESCAPE, out + self.gpufl("--once", "--json").stdout)
        finally:
            self.m.control.pid(0, self.sleepers[0].pid)
            evil.communicate()


class Lines(World):
    gpus, processes = 2, 3

    def test_once(self):
        out = self.gpufl("--once").stdout
        self.assertEqual(len(re.findall(r"^GPU \d  Fake GPU \d  use \d+ %  memory 1\.0 of 140\.4 GiB", out, re.M)), 2)
        self.assertEqual(len(re.findall(r" sleep ", out)), 3)
        self.assertRegex(out, r"sleep +job 4001")
        self.assertEqual(self.m.control.inits, 1, "a second sampler ran")

    def test_json_has_what_the_log_has(self):
        x = json.loads(self.gpufl("--json", "--once").stdout)
        self.assertEqual((x["interval_ms"], len(x["gpus"]), len(x["processes"])), (100, 2, 3))
        self.assertEqual(x["session"], self.m.sessions()[-1].header["session"])
        self.assertEqual(x["gpus"][1]["metrics"]["memory_total"], 150754820096)
        self.assertEqual({p["pid"] for p in x["processes"]}, {p.pid for p in self.sleepers})
        self.m.control.xid, self.m.control.events = 79, 2
        until(lambda: json.loads(self.gpufl("--json", "--once").stdout)["gpus"][0]["xids"] == [{"code": 79, "count": 2}],
              "the events never came")

    def test_lines_go_on_until_a_signal(self):
        for options in ([], ["--json"]):
            p = subprocess.Popen([GPUFL, "monitor", "-i", "100ms", *options], env=self.environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
            for _ in range(9):
                self.assertTrue(p.stdout.readline())
            p.send_signal(signal.SIGTERM)
            _, err = p.communicate(timeout=PATIENCE)
            self.assertEqual((p.returncode, err), (0, ""))

    def test_the_session_of_a_traced_process(self):
        logs = os.path.join(self.m.folder, "ranks")
        program = subprocess.Popen([GPUFL, "trace", "-o", logs, "--no-report", "--", os.path.join(FAKES, "fake_ranks"), "2"],
                                   env=dict(self.environment, GPUFL_CUPTI_PATH=FAKES), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stderr.close)
        program.stdout.readline()

        def sessions():
            folders = {os.path.dirname(f) for f in glob.glob(os.path.join(logs, "**", "system*.log"), recursive=True)}
            return [s for s in map(Session, folders) if s.header]
        (first, *_) = until(lambda: (lambda s: s if len(s) == 2 else None)(sessions()), "no sessions of two ranks")
        pid, session = first.header["pid"], first.header["session"]
        self.m.control.pid(3, pid)
        until(lambda: self.m.metric("gpufl_workload_processes", session=session) == 1, "no label with the session")
        x = json.loads(self.gpufl("--json", "--once").stdout)
        self.assertEqual([p["session"] for p in x["processes"] if p["pid"] == pid], [session])
        self.assertIn(session.split("-")[0], self.gpufl("--once").stdout)
        _, err = program.communicate("end\n", PATIENCE)
        self.assertEqual(program.returncode, 0, err)
        self.m.control.pid(3, 0)
        until(lambda: self.m.metric("gpufl_workload_processes", session=session) is None, "the label stays")

    def test_logs_with_a_monitor_are_refused(self):
        got = self.gpufl("-o", os.path.join(self.m.folder, "more"), code=1)
        self.assertIn("a gpufl-monitor runs on this host", got.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.m.folder, "more")))


class WithoutAMonitor(World):
    daemon, gpus, processes = False, 2, 2

    def left(self):
        return glob.glob(os.path.join(self.environment["XDG_RUNTIME_DIR"], "*")) + glob.glob(os.path.join(self.m.logs, "*"))

    def test_it_samples_for_itself_and_leaves_nothing(self):
        os.makedirs(self.environment["XDG_RUNTIME_DIR"], exist_ok=True)
        x = json.loads(self.gpufl("--json", "--once").stdout)
        self.assertEqual((x["session"], len(x["gpus"]), x["gpus"][0]["up"]), ("", 2, True))
        self.assertEqual({p["pid"] for p in x["processes"]}, {p.pid for p in self.sleepers})
        self.assertEqual(self.left(), [])

    def test_its_monitor_ends_with_it_however_it_ends(self):
        os.makedirs(self.environment["XDG_RUNTIME_DIR"], exist_ok=True)
        p = subprocess.Popen([GPUFL, "monitor", "-i", "100ms"], env=self.environment, stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        (own,) = children(p.pid)
        p.kill()
        p.wait()
        p.stdout.close()
        until(lambda: not lives(own), "its monitor goes on")
        self.assertEqual(self.left(), [], "the monitor takes the folder away that it was started with")

    def test_logs_where_they_are_asked_for(self):
        logs = os.path.join(self.m.folder, "kept")
        self.gpufl("-o", logs, "--once")
        (folder,) = glob.glob(os.path.join(logs, "*-*"))
        s = Session(folder)
        self.assertTrue(s.ended)
        self.assertEqual(len(s.of("device")), 2)

    def test_quietly_under_another_name(self):
        """Options of the public client work until a signal: --interval in ms, a name, nothing shown."""
        logs = os.path.join(self.m.folder, "quiet")
        p = subprocess.Popen([GPUFL, "monitor", "-q", "-n", "mine", "-o", logs, "--interval", "200"], env=self.environment,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: any(Session(f).of("device_metric") for f in glob.glob(os.path.join(logs, "*-*"))), "nothing is logged")
        p.terminate()
        out, err = p.communicate(timeout=PATIENCE)
        self.assertEqual((p.returncode, out, err), (0, "", ""))
        (folder,) = glob.glob(os.path.join(logs, "*-*"))
        s = Session(folder)
        self.assertEqual((s.ended, s.header["app"]), (True, "mine"))
        self.assertIn("200ms", [r["value"] for r in s.of("option") if r["name"] == "interval"])

    def test_no_driver(self):
        got = self.gpufl("--once", code=1, environment={"FAKE_NVML": "missing"})
        self.assertRegex(got.stderr, r"^gpufl monitor: .*driver is not loaded")
        self.assertEqual(got.stdout, "")

    def test_no_program(self):
        with tempfile.TemporaryDirectory() as folder:
            got = subprocess.run([copied(GPUFL, folder), "monitor", "--once"], env=dict(self.environment, PATH=folder), capture_output=True,
                                 text=True, timeout=PATIENCE, check=False)
        self.assertEqual(got.returncode, 1)
        self.assertIn("gpufl-monitor is neither next to gpufl nor in PATH", got.stderr)

    def test_wrong_options(self):
        for options, says in ((["-i", "1ms"], "100ms to 1h"), (["x"], "options alone"), (["--sort", "size"], "size"), (["-i", "50"], "is ms"),
                              (["-n", "mine"], "with -o DIR"), (["-q"], "name a folder for session logs"), (["-q", "--once"], "leave it out"),
                              (["--upload"], "gpufl-agent --source"), (["-v"], "is said in any case")):
            got = subprocess.run([GPUFL, "monitor", *options], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(got.returncode, 2)
            self.assertIn(says, got.stderr)


del World  # only a base of cases

if __name__ == "__main__":
    together.main(sys.argv[:1] + sys.argv[5:])
