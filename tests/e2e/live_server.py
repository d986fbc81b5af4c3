"""The real gpufl-server for tests: started on a free port, with an account, asked over HTTP.

Answers of every status come back as they are; nothing here retries. One thread per Server.
"""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time

import postgres
from pause import pause_after

DEADLINE_S = 120  # at most, for events that must happen
PASSWORD = "correct horse battery staple 27"
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Server:
    """A gpufl-server over a data folder. It may be killed and started again on the same folder and port."""

    def __init__(self, binary, folder, *options):
        tables = None if "--local" in options else postgres.new_database()
        options += ("--meta", tables) if tables else ()
        self.binary, self.folder, self.options, self.port = str(binary), folder, options, 0
        self.environment = {}  # of the next start, in addition to what every one has
        folder.mkdir(parents=True, exist_ok=True)
        self.log = open(folder / "log", "ab", buffering=0)  # only the server writes it
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.binary, "--data", str(self.folder / "data"), "--listen", f"127.0.0.1:{self.port}", *self.options],
            stdout=subprocess.PIPE, stderr=self.log, text=True, env={**ENV, **self.environment, **{
                k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}})
        line = self.process.stdout.readline()
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not found:
            self.kill()
            raise AssertionError(f"the server does not start: {line!r} {self.said()[-2000:]}")
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def first_link(self):
        """Returns what the server prints for the first user: the link's token."""
        return re.search(r"token=([\w-]+)", self.process.stdout.readline())[1]

    def said(self):
        return (self.folder / "log").read_text(errors="replace")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """Asks it to end: its exit status, which a sanitizer's finding changes."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        self.log.close()
        return status

    def end(self, folder):
        """Stops the server for good. Fails, and keeps the test's folder, if it did not end well or a sanitizer reported
        something."""
        status, said = self.stop(), self.said()
        assert status == 0 and "ERROR: " not in said and "runtime error" not in said, said[-4000:]
        shutil.rmtree(folder)

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def ask(self, method, target, body=None, headers=None, endless=False):
        """One request on a connection of its own. endless: does not wait for more than the head."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            link.request(method, target, body, headers)
            answer = link.getresponse()
            return Answer(answer.status, answer.headers,
                          b"" if endless and answer.status == 200 else answer.read())
        finally:
            link.close()

    def until(self, what, said="it"):
        """Calls `what` until its result is true: the result."""
        end = time.monotonic() + DEADLINE_S
        while True:
            asked = time.monotonic()
            got = what()
            if got:
                return got
            pause = pause_after(asked)
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"{said} does not happen; {self.said()[-2000:]}")
            time.sleep(pause)


def entry(answer):
    """The headers of a login, from its answer."""
    assert answer.status == 200, answer
    return {"Cookie": answer.headers["Set-Cookie"].split(";")[0], "X-CSRF-Token": answer.json()["csrf"]}


def set_up(server, email="ada@example.org", workspace="first"):
    """Makes the first account; its headers."""
    return entry(server.ask("POST", "/api/v1/auth/setup", {
        "token": server.first_link(), "email": email, "name": "Ada", "password": PASSWORD,
        "workspace_name": workspace}))


def key(server, owner, scopes, query=""):
    """A new API key: its text."""
    answer = server.ask("POST", "/api/v1/keys" + query, {"name": scopes, "scopes": scopes}, owner)
    assert answer.status == 200, answer
    return answer.json()["key"]


def bearer(text):
    return {"Authorization": "Bearer " + text}


def simulate(gpufl, folder, kernels, name, *more):
    """A session of the simulated GPU: its folder."""
    before = set(folder.iterdir()) if folder.is_dir() else set()
    subprocess.run([gpufl, "sim", "-k", str(kernels), "--scopes", "-n", name, "-o", folder, *more], check=True, env=ENV,
                   stdout=subprocess.DEVNULL)
    return next(d for d in folder.iterdir() if d not in before and d.is_dir())


def upload(gpufl, server, secret, path, check=True):
    return subprocess.run([gpufl, "upload", "--quiet", "--server", server.url, path], check=check,
                          env={**ENV, "GPUFL_API_KEY": secret}, capture_output=True, text=True, timeout=DEADLINE_S)
