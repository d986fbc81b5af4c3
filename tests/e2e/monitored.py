"""A gpufl-monitor under test, over the fake management library: started, asked, its logs read back.

Standard library only. A test waits for the monitor's output, never for time."""
import glob
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

from nvml_control import Control
from patience import PATIENCE, until


def lines(folder):
    """The lines of the system channel of a session, oldest part first; a part may be compressed meanwhile."""
    def number(path):
        m = re.search(r"\.(\d+)\.log", path)
        return int(m.group(1)) if m else 1 << 30
    parts = {}
    for path in glob.glob(os.path.join(folder, "system*.log*")):
        if not path.endswith(".part"):
            parts.setdefault(path.replace(".gz", ""), path)
    for path in sorted(parts.values(), key=number):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
            for line in f:
                if line.endswith("\n"):
                    yield json.loads(line)


class Session:
    """The rows of a session by record; names are texts."""
    NAMES = {"kind", "container", "pod", "pod_name", "job", "profile", "uuid", "reason", "feature", "status", "value",
             "source"}
    DELTA = {"time", "monotonic"}

    def __init__(self, folder):
        self.folder, self.names, self.rows, self.header = folder, {}, {}, None
        for line in lines(folder):
            kind = line["type"]
            if kind == "header":
                self.header = self.header or line
            elif kind == "names":
                ids = self.column(line, "id", line["rows"])
                self.names.update(zip(ids, self.column(line, "text", line["rows"])))
            else:
                self.take(kind, line)

    @staticmethod
    def column(line, name, n):
        v = line[name]
        return v if isinstance(v, list) else [v] * n

    def take(self, kind, line):
        n = line["rows"]
        out = [{} for _ in range(n)]
        for name in line:
            if name in ("type", "rows"):
                continue
            values = self.column(line, name, n)
            if name in self.DELTA and isinstance(line[name], list):
                total = 0
                for i, v in enumerate(values):
                    total += v
                    out[i][name] = total
                continue
            for i, v in enumerate(values):
                text = name in self.NAMES or (name == "name" and isinstance(v, int))
                out[i][name] = self.names.get(v, "") if text else v
        self.rows.setdefault(kind, []).extend(out)

    def of(self, record, /, **where):
        return [r for r in self.rows.get(record, []) if all(r.get(k) == v for k, v in where.items())]

    @property
    def ended(self):
        return bool(self.rows.get("end"))

    def last(self, kind):
        return self.rows[kind][-1]


class Monitor:
    """with Monitor(program, fakes, "--interval", "100ms") as m: …; stopped at the end."""

    def __init__(self, program, fakes, *options, devices=2, environment=None, listen=True, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="gpufl-monitor-")
        self.logs, self.run = os.path.join(self.folder, "logs"), os.path.join(self.folder, "run", "gpufl-monitor")
        self.control = Control(os.path.join(self.folder, "control"))
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUFL_MONITOR_")}
        self.environment.update(LD_LIBRARY_PATH=fakes, FAKE_NVML_DEVICES=str(devices),
                                FAKE_NVML_CONTROL=self.control.path, XDG_RUNTIME_DIR=os.path.join(self.folder, "run"),
                                RUNTIME_DIRECTORY=self.run)  # the system's folder belongs to the machine
        self.environment.update(environment or {})
        self.command = [program, "--log-path", self.logs, "--run-dir", self.run, "--interval", "100ms",
                        "--process-interval", "200ms", "--write-interval", "200ms", "--min-free", "0"]
        self.command += ["--listen", "0"] if listen else []
        self.command += options
        self.process = self.url = None

    def __enter__(self):
        self.start()
        return self

    def start(self, before=None):
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=subprocess.PIPE, stderr=self.err,
                                        text=True, preexec_fn=before)
        first = self.process.stdout.readline()
        assert "samples" in first, (first, self.said())
        self.first = first
        if "--listen" in self.command:
            self.url = self.process.stdout.readline().split()[-1]

    def said(self):
        """Returns what the monitor has written so far. The file's offset is the monitor's, too, so it must not move."""
        return os.pread(self.err.fileno(), os.fstat(self.err.fileno()).st_size, 0).decode(errors="replace")

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        return self.end()

    def end(self):
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code

    def close(self):
        """Ends a monitor that was started without `with`, unless it has ended."""
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.err.close()

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.stop()
        assert kind or "Sanitizer" not in self.said(), self.said()
        self.process.stdout.close()
        self.err.close()

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def metrics(self):
        """{name: [(labels, value)]}"""
        out = {}
        for line in self.get("/metrics")[1].splitlines():
            m = re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)', line)
            if m:
                labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m.group(2) or ""))
                out.setdefault(m.group(1), []).append((labels, float(m.group(3))))
        return out

    def metric(self, name, **labels):
        got = [v for k, v in self.metrics().get(name, []) if all(k.get(a) == b for a, b in labels.items())]
        return got[0] if got else None

    def sessions(self):
        """All sessions, in the order in which they began."""
        found = [Session(f) for f in glob.glob(os.path.join(self.logs, "*-*")) if os.path.isdir(f)]
        return sorted((s for s in found if s.header), key=lambda s: s.header["start"])

    def rows(self, record, /, **where):
        return [r for s in self.sessions() for r in s.of(record, **where)]

    def wait_rows(self, n, record, /, **where):
        return until(lambda: (lambda r: r if len(r) >= n else None)(self.rows(record, **where)),
                     lambda: f"{n} rows of {record} with {where} never came: {self.rows(record)[-5:]}; {self.said()}")

    def rounds(self, n):
        """Waits for n more rounds."""
        begun = self.metric("gpufl_monitor_rounds_total") or 0
        until(lambda: (self.metric("gpufl_monitor_rounds_total") or 0) >= begun + n, "the rounds stand still")
