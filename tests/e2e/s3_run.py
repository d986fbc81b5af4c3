"""S3-compatible storage for tests: s3rver as its own process, and a proxy before it that fails.

`find()` gives the program, or skips the test with a message if npm cannot install it.
"""
import collections
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import unittest

from patience import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEY = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}
BUCKET = "gpufl"
FAULTS = ("500", "503", "403", "429", "hang", "cut", "half", "cut_after")
WEIGHTS = (3, 3, 1, 2, 1, 3, 4, 4)


def find():
    """s3rver's program; skips the test if s3rver cannot be installed."""
    ran = subprocess.run([ROOT / "scripts/s3rver"], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise unittest.SkipTest(f"s3rver, which the archive is tested against, is not here: {ran.stderr.strip()}")
    return ROOT / "tests/s3/node_modules/s3rver/bin/s3rver.js"


class Store:
    """with Store() as s: an S3-compatible server with one bucket; s.url, and s.objects() of what it has."""

    def __init__(self, tls=None):
        self.folder = tempfile.TemporaryDirectory(prefix="gpufl-s3-")
        command = ["node", "-r", ROOT / "tests/s3/whole.js", find(), "-d", self.folder.name, "-a", "127.0.0.1", "-p",
                   "0", "-s", "--configure-bucket", BUCKET]
        if tls:
            command += ["--key", tls[0], "--cert", tls[1]]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if "listening on" in line:
                break
        else:
            raise RuntimeError(f"s3rver does not start: {''.join(said)}")
        self.port = int(said[-1].rsplit(":", 1)[1])
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def files(self):
        """The path on disk of each object, by its key."""
        top = pathlib.Path(self.folder.name) / BUCKET
        return {str(p.relative_to(top)).removesuffix("._S3rver_object"): p for p in top.rglob("*._S3rver_object")}

    def objects(self):
        return {key: path.read_bytes() for key, path in self.files().items()}

    def manifests(self, prefix):
        """The sessions below a prefix whose archive is whole, with what the manifest says."""
        found = {}
        objects = self.objects()
        for key, data in objects.items():
            if not key.startswith(prefix + "/") or not key.endswith("/manifest.json"):
                continue
            session = key.split("/")[-2]
            found[session] = json.loads(data)
            for file in found[session]["files"]:
                text = objects[f"{prefix}/{session}/{file['object']}"]
                assert len(text) == file["bytes"] and hashlib.sha256(text).hexdigest() == file["sha256"], (key, file)
        return found


class Proxy(http.server.ThreadingHTTPServer):
    """A proxy before a Store that checks each signature. faults: names that the next requests meet, in order; after
    them faults are random, by share."""
    daemon_threads = True

    def __init__(self, port, seed=0, share=0.0, faults=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.to, self.share, self.script, self.always = port, share, list(faults), None
        self.dice, self.lock = random.Random(seed), threading.Lock()
        self.faults = collections.Counter()
        self.first = self.dice.sample(FAULTS, len(FAULTS)) if share else []
        self.over, self.hanging = threading.Event(), threading.Event()
        self.seen = []  # (method, path)
        self.broken = False  # by a fault of the proxy itself
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # otherwise the agent was killed
            self.broken = True
            super().handle_error(request, client_address)

    def draw(self, method, path):
        with self.lock:
            self.seen.append((method, path))
            scripted = bool(self.always or self.script)
            fault = self.always or (self.script.pop(0) if self.script else None)
            if not scripted and self.dice.random() < self.share:
                fault = self.first.pop() if self.first else self.dice.choices(FAULTS, WEIGHTS)[0]
            if fault:
                self.faults[fault] += 1
        return fault


def sign(secret, date, scope, method, target, signed, headers, payload):
    """The signature (AWS signature 4) of a request, as the storage computes it from what arrived."""
    path, _, query = target.partition("?")
    pairs = sorted(pair if "=" in pair else pair + "=" for pair in query.split("&") if pair)
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed)
    request = "\n".join((method, path, "&".join(pairs), lines, ";".join(signed), payload))
    text = "\n".join(("AWS4-HMAC-SHA256", date, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = b"AWS4" + secret.encode()
    for word in scope.split("/"):
        key = hmac.digest(key, word.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def is_signed(method, target, headers, body):
    """Checks a request's signature; s3rver itself does not look at those of version 4."""
    headers = {name.lower(): value for name, value in headers.items()}
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)",
                         headers.get("authorization", ""))
    if not found or found[1] != KEY["AWS_ACCESS_KEY_ID"]:
        return False
    signed, payload = found[3].split(";"), headers.get("x-amz-content-sha256")
    needed = {"host", *(name for name in headers if name.startswith("x-amz-"))}
    if signed != sorted(signed) or not needed <= set(signed) <= set(headers) or payload != hashlib.sha256(body).hexdigest():
        return False
    return found[4] == sign(KEY["AWS_SECRET_ACCESS_KEY"], headers["x-amz-date"], found[2], method, target, signed,
                            headers, payload)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def forward(self, body, whole=True):
        """The request as it came, with the Host that was signed."""
        link = http.client.HTTPConnection("127.0.0.1", self.server.to, timeout=PATIENCE)
        try:
            link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "connection":
                    link.putheader(name, value)
            link.endheaders(body if whole else body[:len(body) // 2])
            if not whole:
                return None
            answer = link.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            link.close()

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.draw(self.command, self.path)
        if not is_signed(self.command, self.path, self.headers, body):
            return self.say(403, {}, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        if fault == "hang":
            self.server.hanging.set()
            self.server.over.wait(PATIENCE)
        if fault == "half" and self.command == "PUT":
            self.forward(body, whole=False)
        if fault in ("hang", "cut") or (fault == "half" and self.command == "PUT"):
            return False
        if fault and fault.isdigit():
            return self.say(int(fault), {"Content-Type": "application/xml"},
                            b"<Error><Code>OnPurpose</Code><Message>a fault</Message></Error>")
        status, headers, data = self.forward(body)
        if fault == "cut_after":
            return False
        if fault == "half":  # of an answer
            self.say(status, headers, data, cut=len(data) // 2)
            return False
        return self.say(status, headers, data)

    def say(self, status, headers, data, cut=None):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:cut] if cut is not None else data)
        return True

    def handle_any(self):
        try:
            on = self.relay()
        except (OSError, http.client.HTTPException):
            on = False
        self.close_connection |= not on

    do_GET = do_PUT = do_DELETE = handle_any


def environment(url):
    """Returns what AWS's own tools read, for `gpufl` and for restore."""
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "AWS_ENDPOINT_URL": url, **KEY,
            **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}
