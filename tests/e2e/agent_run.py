"""A gpufl-agent under test, and the sessions that it reads: written by the test, so that every line is known."""
import contextlib
import ctypes
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

from patience import PATIENCE, until

QUICK = ("--wait-least", "10ms", "--wait-most", "50ms", "--delay", "20ms", "--timeout", "5s")  # for an agent


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


def unzst(data):
    """Plain bytes of a zstd frame."""
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_createDStream.restype = ctypes.c_void_p
    lib.ZSTD_decompressStream.restype = lib.ZSTD_freeDStream.restype = ctypes.c_size_t
    stream = ctypes.c_void_p(lib.ZSTD_createDStream())
    room = ctypes.create_string_buffer(1 << 20)
    source, out = Buffer(data, len(data), 0), b""
    while True:
        sink = Buffer(ctypes.cast(room, ctypes.c_char_p), len(room), 0)
        left = lib.ZSTD_decompressStream(stream, ctypes.byref(sink), ctypes.byref(source))
        assert not lib.ZSTD_isError(ctypes.c_size_t(left)), left
        out += room.raw[:sink.at]
        if source.at == len(data) and sink.at < len(room):
            lib.ZSTD_freeDStream(stream)
            return out


def plain(path):
    """The plain bytes of a part, packed or not."""
    data = path.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return unzst(data)
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def part_number(path):
    """Parts in the order in which they were written; the one without a number is the last."""
    number = re.search(r"\.(\d+)\.log", path.name)
    return int(number[1]) if number else 1 << 60


def channels_of(folder):
    """Channel to its plain text, of a session of our format."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.log*"), key=part_number):
        channel = path.name.split(".")[0]
        found[channel] = found.get(channel, b"") + plain(path)
    return found


class Log:
    """A session in our format that the test writes: lines of one kernel each, known by their correlation."""

    def __init__(self, folder, name, rotate=1 << 30, pid=None, host=None, begin=True):
        """begin: with a header in each file. Without, there are files, and nothing is in them until begin() is called."""
        self.folder, self.name, self.rotate = pathlib.Path(folder) / name, name, rotate
        self.pid, self.host = pid or os.getpid(), host or os.uname().nodename
        self.folder.mkdir(parents=True)
        self.lines = {"device": [], "system": []}  # every line, in order
        self.part, self.offset, self.size, self.files = {}, {}, {}, {}
        for channel in self.lines:
            (self.folder / f"{channel}.log").touch()
        if begin:
            self.begin()

    def begin(self):
        self.open("system")
        self.open("device")

    def header(self, channel):
        now = time.monotonic_ns()
        return json.dumps({"type": "header", "format": 1, "session": self.name, "channel": channel,
                           "part": self.part[channel], "offset": self.offset[channel], "app": "app", "pid": self.pid,
                           "host": self.host, "start": now, "clock_monotonic": now,
                           "clock_real": time.time_ns()}).encode()

    def open(self, channel):
        self.part[channel] = self.part.get(channel, 0) + 1
        self.offset[channel] = self.offset.get(channel, 0) + self.size.get(channel, 0)
        self.size[channel] = 0
        self.files[channel] = open(self.folder / f"{channel}.log", "ab", buffering=0)
        self.put(channel, self.header(channel))

    def sibling(self, name):
        """Another session in the same folder, as the old layout has it: its files are there, and nothing is in them."""
        other = Log(self.folder.parent, name, begin=False)
        for path in list(other.folder.iterdir()):
            path.unlink()
        other.folder.rmdir()
        other.folder = self.folder
        for channel in other.lines:
            (self.folder / f"{name}.{channel}.log").touch()
        return other

    def put(self, channel, line):
        """Writes one line. Rotates first if it would not fit."""
        if self.size[channel] and self.size[channel] + len(line) + 1 > self.rotate:
            self.turn(channel)
        self.files[channel].write(line + b"\n")
        self.size[channel] += len(line) + 1
        self.lines[channel].append(line)

    def turn(self, channel, packed=False):
        self.files[channel].close()
        done = self.folder / f"{channel}.{self.part[channel]}.log"
        (self.folder / f"{channel}.log").rename(done)
        if packed:
            self.pack(done)
        self.open(channel)

    @staticmethod
    def pack(path):
        part = path.with_name(path.name + ".gz.part")
        part.write_bytes(gzip.compress(path.read_bytes(), 1))
        part.rename(path.with_name(path.name + ".gz"))
        path.unlink()

    def kernel(self, correlation, **more):
        self.put("device", json.dumps({"type": "kernel", "rows": 1, "start": [time.monotonic_ns()], "duration": [5],
                                       "correlation": [correlation], **more}).encode())

    def end(self):
        self.put("system", json.dumps({"type": "end", "rows": 1, "time": time.monotonic_ns()}).encode())
        for file in self.files.values():
            file.close()


class Agent:
    """with Agent(program, state, …) as a: …; killed or ended at the end."""

    def __init__(self, program, state, server, sources, *options, key="", environment=None):
        self.command = [str(program), "--state", str(state), "--server", server]
        for source in sources:
            self.command += ["--source", str(source)]
        self.program, self.state, self.options = str(program), pathlib.Path(state), options
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GPUFL_API_KEY": key, **(environment or {}),
                    **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}
        self.said_lines, self.process = [], None

    def start(self):
        self.process = subprocess.Popen([*self.command, *self.options], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                        env=self.env)
        self.reader = threading.Thread(target=self.read, args=(self.process,), daemon=True)
        self.reader.start()
        return self

    def read(self, process):
        for line in process.stderr:
            self.said_lines.append(line)

    def said(self):
        return "".join(self.said_lines)

    def until_said(self, text):
        """Waits for a text in the agent's output: the status may show an action before the test has read the agent's
        message about it."""
        until(lambda: text in self.said(), self.said)

    def ready(self):
        """Waits until the agent's control socket answers."""
        until(lambda: self.process.poll() is not None or self.status_or_none(), self.said)
        assert self.process.poll() is None, self.said()
        return self

    def __enter__(self):
        return self.start().ready()

    def __exit__(self, *_):
        self.kill()

    def wait(self):
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)
        if not self.process.stdout.closed:
            return self.wait()
        return self.process.returncode

    def ask(self, command, *more, code=0):
        """Runs a command of the agent: exit code, stdout, stderr."""
        run = subprocess.run([self.program, command, "--state", str(self.state), *more], capture_output=True, text=True,
                             timeout=PATIENCE, env=self.env, check=False)
        if code is not None:
            assert run.returncode == code, (run.returncode, run.stdout, run.stderr, self.said()[-3000:])
        return run.returncode, run.stdout, run.stderr

    def status_or_none(self):
        """Returns what the agent's control socket says, None if none answers. `gpufl-agent status --json` prints the same; a
        process for each query would take more of the processor than the agent does."""
        answer = b""
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(str(self.state / "control.sock"))
                link.settimeout(PATIENCE)
                link.sendall(b"status\n")
                while piece := link.recv(1 << 16):
                    answer += piece
            except (FileNotFoundError, ConnectionError):
                return None
        return json.loads(answer) if answer else None

    def status(self):
        status = self.status_or_none()
        assert status, self.said()[-3000:]
        return status

    def until_done(self, sessions, patience=2 * PATIENCE):
        """Waits until that many sessions are on the server and called complete."""
        return until(lambda: self.status()["done"] >= sessions, lambda: f"{self.status()} {self.said()[-1500:]}",
                     patience)


def letters(state):
    """The dead letters: (session, channel, head, bytes), of those that hold bytes."""
    found = []
    for path in sorted((pathlib.Path(state) / "dead").glob("*.letters")):
        session, channel = path.name.removesuffix(".letters").rsplit(".", 1)
        data, at = path.read_bytes(), 0
        while at < len(data):
            lf = data.index(b"\n", at)
            head = json.loads(data[at:lf])
            text = data[lf + 1:lf + 1 + head["bytes"]]
            assert len(text) == head["bytes"] and data[lf + 1 + head["bytes"]:lf + 2 + head["bytes"]] == b"\n", path
            at = lf + 2 + head["bytes"]
            if head["bytes"]:
                found.append((session, channel, head, text))
    return found


@contextlib.contextmanager
def memory_of(process):
    """Resident bytes of a process, read when called."""
    def read():
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    yield read
