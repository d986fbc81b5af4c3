"""A gpufl-server under test: started on a free port, spoken to, ended.

Standard library only. A test waits for the server's output, never for time."""
import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import postgres
from patience import PATIENCE

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "answers"))
import parts


def report_of(gpufl, path):
    """Returns what `gpufl report` says about a session: the numbers that a server must have, too."""
    out = subprocess.run([gpufl, "report", "--json", path], capture_output=True, check=True)
    return json.loads(out.stdout)


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.fields = response.headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Server:
    """with Server(program) as s: … ; stop() is called at the end."""

    def __init__(self, program, *options, data=None, environment=None):
        self.folder = None if data else tempfile.mkdtemp(prefix="gpufl-server-")
        self.data = data or os.path.join(self.folder, "data")
        tables = None if "--meta" in options or "--local" in options else postgres.new_database()
        options += ("--meta", tables) if tables else ()
        self.program, self.options, self.environment = program, options, environment or {}
        self.token = self.cookie = self.csrf = None
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUFL_SERVER_")}
        environment.update(self.environment)
        if getattr(self, "log", None):
            self.log.close()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [self.program, "--data", self.data, "--listen", "127.0.0.1:0", "--log-format", "json", *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, env=environment, text=True)
        self.said = self.process.stdout.readline()
        found = re.search(r"listening on (https?)://([^/\s:]*)(?::(\d+))?$", self.said)
        if not found:
            self.process.wait(PATIENCE)
            raise AssertionError(f"it did not start: {self.said!r} {self.errors()}")
        self.scheme = found.group(1)
        self.port = int(found.group(3) or self.port)  # a public address may have none: the test chose the port
        if self.scheme == "https" and "--public-url" not in self.options:
            return
        if self.ask("GET", "/api/v1/auth/setup").json()["needed"] or "--local" in self.options:
            self.link = self.process.stdout.readline().split()[-1]
            self.token = re.search(r"token=(\S+)", self.link).group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.log.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, number=signal.SIGTERM):
        """Ends it; its exit status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status

    def errors(self):
        """Returns what the server has written so far. The file's offset is the server's, too, so it must not move."""
        return os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode(errors="replace")

    def lines(self):
        return [json.loads(line) for line in self.errors().splitlines()]

    # ---- asking --------------------------------------------------------------------------------

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, target, body=None, **fields):
        """One request. Names of fields have '_' for '-'. body: bytes, or what becomes JSON."""
        headers = {k.replace("_", "-"): v for k, v in fields.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect()
        connection.request(method, target, body=body, headers=headers)
        response = connection.getresponse()
        answer = Answer(response, response.read())
        connection.close()
        return answer

    def as_user(self, method, target, body=None, **fields):
        """One request with the cookie and the page's token."""
        return self.ask(method, target, body, Cookie=self.cookie, X_CSRF_Token=self.csrf, **fields)

    def keep(self, answer):
        """Remembers the login that an answer gave."""
        self.cookie = answer.fields["Set-Cookie"].split(";")[0]
        self.csrf = answer.json()["csrf"]

    def set_up(self, email="ada@example.org", password="correct horse battery"):
        answer = self.ask("POST", "/api/v1/auth/setup",
                          {"token": self.token, "email": email, "name": "Ada", "password": password})
        assert answer.status == 200, answer
        self.keep(answer)

    def make_key(self, scopes="ingest,read", workspace=None):
        where = f"?workspace={workspace}" if workspace else ""
        answer = self.as_user("POST", "/api/v1/keys" + where, {"name": "test", "scopes": scopes})
        assert answer.status == 200, answer
        return "Bearer " + answer.json()["key"]

    def send(self, key, folder, end=True):
        """Sends the parts of a session's folder: the session's id. Without the row of its end the session is live."""
        session = os.path.basename(folder)
        for name in sorted(os.listdir(folder)):
            fields = {"Content_Encoding": "gzip"} if name.endswith(".gz") else {}
            with open(os.path.join(folder, name), "rb") as part:
                body = part.read()
            if name.endswith(".zst"):
                body = parts.zstd_unpack(body)
            if not end:
                plain = gzip.decompress(body) if fields else body
                body = gzip.compress(b"".join(line for line in plain.splitlines(keepends=True)
                                              if not line.startswith(b'{"type":"end"')))
                fields = {"Content_Encoding": "gzip"}
            answer = self.ask("POST", "/api/v1/events/stream", body, Authorization=key,
                              X_GpuFlight_Session_Id=session, Content_Type="application/x-ndjson", **fields)
            assert answer.status == 200, answer
        return session

    def complete(self, key, session):
        answer = self.ask("POST", "/api/v1/events/session-complete", Authorization=key,
                          X_GpuFlight_Session_Id=session)
        assert answer.status == 200, answer

    def events(self, key):
        """Server-sent events as they come: (event, data). Fails if they go on for too long."""
        connection = self.connect()
        connection.request("GET", "/api/v1/live", headers={"Authorization": key})
        response = connection.getresponse()
        assert response.status == 200, response.status
        assert response.readline().startswith(b"retry:")  # it listens

        end = time.monotonic() + 2 * PATIENCE

        def walk():
            event = None
            with contextlib.closing(connection), contextlib.closing(response):
                for line in response:
                    assert time.monotonic() < end, "what is waited for does not happen"
                    line = line.decode().rstrip("\n")
                    if line.startswith("event: "):
                        event = line[7:]
                    elif line.startswith("data: ") and event:
                        yield event, json.loads(line[6:])
        return walk()

    def load(self, key, folder):
        """Sends a session and waits for its last report."""
        with contextlib.closing(self.events(key)) as events:
            session = self.send(key, folder)
            self.complete(key, session)
            for event, data in events:
                if event == "report" and data["session"] == session and data["final"]:
                    return session
        raise AssertionError("the stream ended before the report was made")
