"""A gpufl-server of a benchmark's own: started on a folder, asked over HTTP, measured from outside."""
import atexit
import http.client
import json
import pathlib
import re
import resource
import subprocess
import time

TICKS = 100  # ticks of /proc/PID/stat in a second
SLOWEST = 600  # longest wait for an answer, s


def processor_time(pid):
    """Processor time in s of all threads of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Refused(RuntimeError):
    """The server's answer is not 2xx."""


class Server:
    """gpufl-server on a folder. A folder without accounts gets one, whose key is kept in `key`."""

    def __init__(self, build, folder, *options, key=None, program=None, files=0):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        self.process = subprocess.Popen(
            [program or f"{build}/bin/gpufl-server", "--data", folder, "--listen", "127.0.0.1:0", "--log-level", "warning", *options],
            stdout=subprocess.PIPE, text=True, preexec_fn=limit)
        atexit.register(self.process.kill)
        self.port = int(re.search(r":(\d+)$", self.process.stdout.readline().strip()).group(1))
        self.owner = None  # headers of the first user, who may do everything
        self.key = key or self.make_account()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def make_account(self):
        """Makes the first user with the link that the server prints; returns a key to send and read with."""
        token = re.search(r"token=(\S+)", self.process.stdout.readline()).group(1)
        account = {"token": token, "email": "bench@localhost", "name": "Bench", "password": "a long pass phrase"}
        answer, headers = self.ask("POST", "/api/v1/auth/setup", account)
        cookie = headers["Set-Cookie"].split(";")[0]
        self.owner = {"Cookie": cookie, "X-CSRF-Token": answer["csrf"]}
        made, _ = self.ask("POST", "/api/v1/keys", {"name": "bench", "scopes": "ingest,read"}, self.owner)
        return made["key"]

    def keep(self, size):
        """Keeps at most `size` bytes of sessions; the oldest are deleted first."""
        self.ask("PUT", "/api/v1/retention", {"sessions": 0, "bytes": size, "metrics": 0}, self.owner)

    def ask(self, method, path, body=None, headers=None, timeout=SLOWEST):
        """Makes one request on a connection of its own; returns (answer, headers), or raises Refused."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        data = json.dumps(body) if isinstance(body, dict) else body
        kind = {"Content-Type": "application/json"} if isinstance(body, dict) else {}
        connection.request(method, path, data, {**kind, **(headers or {})})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        if response.status >= 300:
            raise Refused(f"{method} {path}: {response.status} {text[:500]!r}")
        return (json.loads(text) if text[:1] in (b"{", b"[") else text.decode()), response.headers

    def get(self, path):
        return self.ask("GET", path, headers={"Authorization": f"Bearer {self.key}"})[0]

    def until(self, path, is_so):
        """Asks again until is_so(answer), also after refusals, and returns that answer."""
        end = time.monotonic() + SLOWEST
        while time.monotonic() < end:
            try:
                answer = self.get(path)
                if is_so(answer):
                    return answer
            except Refused:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"{path} does not become what it should")

    def send(self, data, packed):
        """Sends one body; returns the seconds until the answer."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/x-ndjson"}
        if packed:
            headers["Content-Encoding"] = "gzip"
        began = time.monotonic()
        self.ask("POST", "/api/v1/events/stream", data, headers)
        return time.monotonic() - began

    def metric(self, name):
        text, _ = self.ask("GET", "/metrics")
        return float(re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.M).group(1))

    def cpu(self):
        return processor_time(self.process.pid)

    def peak(self):
        """The most bytes of memory that the server had."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        atexit.unregister(self.process.kill)


def percentile(values, share):
    """The percentile by nearest rank."""
    values = sorted(values)
    return values[min(len(values) - 1, max(0, -(-len(values) * share // 100) - 1))]


def milliseconds(seconds):
    """The figures that are printed for many waits."""
    if not seconds:
        return {"count": 0}
    return {"count": len(seconds), "p50_ms": round(percentile(seconds, 50) * 1e3, 1),
            "p99_ms": round(percentile(seconds, 99) * 1e3, 1), "worst_ms": round(max(seconds) * 1e3, 1)}
