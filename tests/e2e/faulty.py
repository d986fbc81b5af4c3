"""A proxy for tests between an agent and a server, which fails in every way that a network or a server does. For
each
body (events/stream) there may be a fault of FAULTS, chosen at random: before the server gets the body, or
after the server took it and before the sender gets the answer. A body with a line that has the word POISON is always
refused with 400. The counts say how often each fault happened.
"""
import collections
import http.client
import http.server
import random
import threading
import zlib

POISON = b"poison"
FAULTS = ("500", "503", "429", "425", "408", "413", "401", "403", "hang", "cut", "cut_after", "half")
WEIGHTS = (3, 3, 3, 1, 2, 4, 1, 1, 1, 3, 4, 4)  # requests that hang take seconds


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, seed, share=0.3, unzst=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.to, self.share, self.unzst, self.poison = port, share, unzst, POISON
        self.dice, self.lock = random.Random(seed), threading.Lock()
        self.faults = collections.Counter()
        self.first = self.dice.sample(FAULTS, len(FAULTS))  # each of them once, then at random
        self.over = threading.Event()  # ends requests that hang
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass  # a sender that was killed

    def draw(self):
        with self.lock:
            if self.dice.random() >= self.share:
                return None
            fault = self.first.pop() if self.first else self.dice.choices(FAULTS, WEIGHTS)[0]
            self.faults[fault] += 1
        return fault

    def count(self, fault):
        with self.lock:
            self.faults[fault] += 1


class Cut(Exception):
    """The connection ends here."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def pieces(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif length := int(self.headers.get("Content-Length", 0)):
            yield self.rfile.read(length)

    def plain(self, body):
        encoding = self.headers.get("Content-Encoding")
        if encoding == "gzip":
            return zlib.decompress(body, 31)
        return self.server.unzst(body) if encoding == "zstd" else body

    def say(self, status, detail, headers=()):
        data = b'{"status":%d,"detail":"%s"}' % (status, detail.encode())
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def forward(self, body):
        link = http.client.HTTPConnection("127.0.0.1", self.server.to, timeout=60)
        try:
            link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    link.putheader(name, value)
            link.putheader("Content-Length", str(len(body)))
            link.endheaders(body)
            answer = link.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            link.close()

    def relay(self):
        body = b"".join(self.pieces())
        stream = self.path.endswith("/events/stream")
        fault = self.server.draw() if stream else None
        if fault == "hang":
            self.server.over.wait(30)
            raise Cut
        if fault in ("cut", "half"):
            if fault == "half":  # the server gets the beginning of a body that breaks off
                self.break_off(body)
            raise Cut
        if fault == "413" and len(self.plain(body).splitlines()) < 2:
            fault = "500"  # a line that is too large alone would be a dead letter
        if fault and fault != "cut_after":
            self.say(int(fault), "on purpose", [("Retry-After", "0")] if fault == "429" else [])
            return
        if stream and self.server.poison in self.plain(body):
            self.server.count("400")
            self.say(400, "a line is poisoned")
            return
        status, headers, data = self.forward(body)
        if fault == "cut_after":
            raise Cut
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() in ("content-type", "retry-after"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def break_off(self, body):
        link = http.client.HTTPConnection("127.0.0.1", self.server.to, timeout=60)
        if self.server.poison in self.plain(body):
            return
        try:
            link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    link.putheader(name, value)
            link.putheader("Content-Length", str(len(body)))
            link.endheaders(body[:len(body) // 2])
        finally:
            link.close()

    def handle_any(self):
        try:
            self.relay()
        except (Cut, OSError, http.client.HTTPException):  # also while the server is being restarted
            self.close_connection = True

    do_GET = do_POST = handle_any
