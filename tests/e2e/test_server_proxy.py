"""gpufl-server behind nginx, with the configuration of docs/sizing.md: logins, bodies and live events pass the proxy, and
the server knows the client's address. Skipped, with a message, if nginx or openssl is not installed.

Usage: test_server_proxy.py gpufl-server gpufl SOURCE_DIR"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

from patience import PATIENCE, until
from ports import free_port
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
AT = f"/api/v1/sessions/{SESSION}"
NAME = "gpu.example.org"  # as in the documented file
NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")


def documented():
    """The file that the page shows."""
    with open(os.path.join(SOURCE, "docs", "sizing.md"), encoding="utf-8") as page:
        return re.search(r"^## A proxy$.*?^```\n(server \{.*?)^```$", page.read(), re.M | re.S).group(1)


def put(text, old, new):
    """The text with all of old replaced; old must be in it."""
    if old not in text:
        raise AssertionError(f"the page's file has no {old!r}")
    return text.replace(old, new)


class Proxy:
    """nginx with the page's file: only its certificate, its port and the server's port are changed."""

    def __init__(self, server_port):
        self.folder = tempfile.mkdtemp(prefix="gpufl-nginx-")
        cert, key = (os.path.join(self.folder, "tls." + end) for end in ("pem", "key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                        f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2", "-keyout", key, "-out", cert],
                       check=True, capture_output=True)
        self.trust = ssl.create_default_context(cafile=cert)
        self.port = free_port()
        file = put(documented(), f"/etc/ssl/{NAME}.pem", cert)
        file = put(put(file, f"/etc/ssl/{NAME}.key", key), "listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        file = put(file, "http://127.0.0.1:8080", f"http://127.0.0.1:{server_port}")
        stores = " ".join(f"{kind}_temp_path {self.folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.getuid() == 0 else ""
        with open(os.path.join(self.folder, "nginx.conf"), "w", encoding="utf-8") as out:
            out.write(f"{user} pid {self.folder}/pid; daemon off; error_log stderr; worker_processes 1;\n"
                      f"events {{}}\nhttp {{ access_log off; {stores}\n{file}}}\n")
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([NGINX, "-p", self.folder, "-c", os.path.join(self.folder, "nginx.conf")],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        until(self.is_there, self.said)

    def said(self):
        said = os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0)  # the offset is nginx's, too
        return "nginx is not there: " + said.decode(errors="replace")

    def is_there(self):
        assert self.process.poll() is None, self.said()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), PATIENCE):
            return True
        return False

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, source):
        """A connection of a client at that address; its certificate is checked for the page's name."""
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0))
        connection = http.client.HTTPSConnection(NAME, timeout=PATIENCE, context=self.trust)
        connection.sock = self.trust.wrap_socket(plain, server_hostname=NAME)
        return connection


class ThroughProxy(Server):
    """The server, asked through a proxy."""
    proxy, source = None, "127.0.0.1"

    def connect(self):
        return self.proxy.connect(self.source) if self.proxy else super().connect()


class Proxied(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ThroughProxy.port = free_port()
        cls.server = ThroughProxy(PROGRAM, "--public-url", f"https://{NAME}", "--trusted-proxy", "127.0.0.1", "--listen",
                                  f"127.0.0.1:{ThroughProxy.port}")
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.proxy = Proxy(cls.server.port)
        cls.addClassCleanup(cls.server.proxy.close)
        cls.server.set_up()
        cls.key = cls.server.make_key("ingest,read,admin")

    def test_a_browser(self):
        answer = self.server.ask("POST", "/api/v1/auth/login", {"email": "ada@example.org", "password": "correct horse battery"},
                                 Origin=f"https://{NAME}")
        self.assertEqual(answer.status, 200, answer)
        self.assertIn("Secure", answer.fields["Set-Cookie"])
        self.server.keep(answer)
        made = self.server.as_user("POST", "/api/v1/keys", {"name": "one", "scopes": "read"}, Origin=f"https://{NAME}")
        self.assertEqual(made.status, 200, made)
        other = self.server.as_user("POST", "/api/v1/keys", {"name": "two", "scopes": "read"}, Origin="https://elsewhere.example")
        self.assertEqual(other.status, 403, other)

    def test_a_session_and_its_live_events(self):
        """The session's events come through while the stream is open: load() waits for the last of them."""
        self.server.load(self.key, FOLDER)
        report = json.loads(subprocess.run([GPUFL, "report", "--json", FOLDER], capture_output=True, check=True).stdout)
        self.assertEqual(self.server.ask("GET", AT, Authorization=self.key).json()["kernels"], report["kernels"]["count"])

    def test_a_body_is_taken_as_it_comes(self):
        """The server works on a chunked body after its first half, before the second half is sent."""
        connection = self.server.connect()
        line = b'{"type":"unknown"}\n' * 4000
        connection.putrequest("POST", "/api/v1/events/stream")
        for name, value in (("Authorization", self.key), ("X-GpuFlight-Session-Id", "half-a-body"), ("Transfer-Encoding", "chunked"),
                            ("Content-Type", "application/x-ndjson")):
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(b"%x\r\n%s\r\n" % (len(line), line))

        def bodies():
            """Requests that are at work in the server: the one that asks, and this body."""
            text = self.server.ask("GET", "/metrics", Authorization=self.key).body.decode()
            return float(re.search(r"^gpufl_http_requests_active (\S+)$", text, re.M).group(1)) > 1

        until(bodies, "the proxy keeps the body to itself")
        connection.send(b"0\r\n\r\n")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.read())
        connection.close()

    def test_who_asks(self):
        """Wrong passwords of one client keep no other one out; the log has the client's address."""
        def login(source, password):
            self.server.source = source
            self.addCleanup(setattr, self.server, "source", "127.0.0.1")
            return self.server.ask("POST", "/api/v1/auth/login", {"email": "ada@example.org", "password": password}).status

        tried = []
        until(lambda: tried.append(login("127.0.0.2", "wrong")) or tried[-1] == 429, lambda: f"nobody is held up: {tried}")
        self.assertEqual(login("127.0.0.3", "correct horse battery"), 200)
        self.assertIn("127.0.0.2", self.server.errors())


if __name__ == "__main__":
    if not NGINX or not shutil.which("openssl"):
        print("nginx or openssl is not installed (package nginx-light): the server's proxy is not tested")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
