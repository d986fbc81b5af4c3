"""A small server that accepts sessions like gpufl-server, in memory, and gives unusual answers
on
demand. Each request for events/stream takes the next entry of Server.script, while there are entries:
    {"status": 429, "headers": {...}, "json": {...}}   answers that at once
    {"cut": N}        hangs up after N bytes of the body; whole lines before that count
    {"hang": EVENT}   does not read on until the event is set
    {"reject": [1]}   leaves these lines of the body out
    {"largest": N}    413 for more than N bytes of plain text, for good (it stays in force)
    {"abrupt": True}  with "largest": hangs up instead of the 413, as if the answer were lost
"""
import http.server
import json
import threading
import zlib

NONE = {}
PORTAL = b"<!DOCTYPE html><title>Guest network</title><form>Name, password</form>"


class Cut(Exception):
    """The connection is to be closed without an answer."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.script = []     # of the next bodies
        self.largest = None  # bytes of plain text of one body, at most
        self.abrupt = False
        self.key = None      # requests without it get 401
        self.channels = {}   # (session, channel): bytearray
        self.windows = {}    # (session, channel, sequence): plain bytes
        self.complete = []   # ids, in order
        self.requests = []   # (method, path, headers)
        self.received = 0    # bytes of bodies, as they came
        self.positions = True  # False: that address is unknown
        self.versions = False  # True: it says which versions it speaks
        self.portal = False  # a page that asks for a login answers everything, with 200
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True  # head and body of an answer are two writes

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, headers=()):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def problem(self, status, detail, headers=NONE, **more):
        unread = {"Connection": "close"} if self.command == "POST" else {}  # what is left of the body
        self.answer(status, {"title": "no", "status": status, "detail": detail, **more}, {**headers, **unread})

    def allowed(self):
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        if self.server.portal:
            self.rest()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PORTAL)))
            self.end_headers()
            self.wfile.write(PORTAL)
            return False
        if self.server.key and self.headers.get("Authorization") != f"Bearer {self.server.key}":
            self.problem(401, "the key is not known")
            return False
        return True

    def do_GET(self):
        if not self.allowed():
            return
        parts = self.path.split("/")
        if self.server.versions and self.path == "/api/v1/info/version":
            self.answer(200, {"supported": ["v1"]})
            return
        if not self.server.positions or parts[1:4] != ["api", "v1", "sessions"] or parts[5] != "positions":
            self.problem(404, "no such address")
            return
        with self.server.lock:
            found = [{"channel": channel, "offset": len(data)}
                     for (session, channel), data in self.server.channels.items() if session == parts[4]]
        self.answer(200, {"session": parts[4], "channels": found})

    def do_PUT(self):  # of a sender that takes this server for storage
        if self.allowed():
            self.rest()
            self.problem(404, "no such address")

    def do_POST(self):
        if not self.allowed():
            return
        session = self.headers.get("X-GpuFlight-Session-Id")
        if self.path.endswith("/events/session-complete"):
            self.server.complete.append(session)
            self.answer(200, {"status": "ok"})
            return
        step = self.server.script.pop(0) if self.server.script else {}
        try:
            self.stream(session, step)
        except Cut:
            self.close_connection = True
        except (BrokenPipeError, ConnectionResetError):  # a sender that did not wait
            self.close_connection = True

    # ---- bodies ----

    def rest(self):
        for _ in self.pieces():
            pass

    def pieces(self):
        """The body as it came."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                data = self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    return
                yield data
        left = int(self.headers.get("Content-Length", 0))
        while left:
            data = self.rfile.read(min(left, 4096))
            if not data:
                raise Cut
            left -= len(data)
            yield data

    def plain(self, cut, inflate):
        """Plain text so far, piece by piece; Cut after that many bytes as they came."""
        got = 0
        for data in self.pieces():
            self.server.received += len(data)
            if cut is not None and got + len(data) > cut:
                yield inflate.decompress(data[:cut - got])
                raise Cut
            got += len(data)
            yield inflate.decompress(data)

    def stream(self, session, step):
        if "hang" in step:
            step["hang"].wait(30)
        if "status" in step:
            self.problem(step["status"], "as the script says", step.get("headers", NONE), **step.get("json", {}))
            return
        if self.headers.get("Content-Encoding") != "gzip":
            self.problem(415, "gzip, please")
            return
        body, inflate = bytearray(), zlib.decompressobj(31)
        try:
            for data in self.plain(step.get("cut"), inflate):
                body += data
                if self.server.largest and len(body) > self.server.largest:
                    if self.server.abrupt:
                        self.close_connection = True
                        return
                    self.problem(413, "too much at once")
                    return
        except Cut:
            self.take(session, body, step)
            raise
        if not inflate.eof:
            self.problem(400, "the compression breaks off")
            return
        self.answer(*self.take(session, body, step))

    def take(self, session, body, step):
        """Whole lines of the body count; status and JSON of the answer."""
        sequence = self.headers.get("X-GpuFlight-Window-Sequence")
        with self.server.lock:
            if sequence:
                return self.take_window(session, int(sequence), bytes(body))
            return self.take_offset(session, body, step)

    def take_window(self, session, sequence, body):
        key = (session, self.headers["X-GpuFlight-Window-Channel"], sequence)
        known = key in self.server.windows
        self.server.windows.setdefault(key, body)
        return 200, {"accepted": body.count(b"\n"), "rejected": 0, "errors": [],
                     "window_acknowledged": True, "repeated": known}

    def take_offset(self, session, body, step):
        whole = body[:body.rfind(b"\n") + 1]
        channel = self.headers.get("X-GpuFlight-Channel")
        offset = int(self.headers.get("X-GpuFlight-Offset"))
        data = self.server.channels.setdefault((session, channel), bytearray())
        if offset > len(data):
            return 409, {"title": "gap", "status": 409, "detail": "a gap", "expected_offset": len(data)}
        fresh = whole[len(data) - offset:]
        data += fresh
        rejected = step.get("reject", [])
        return 200, {"accepted": whole.count(b"\n") - len(rejected), "rejected": len(rejected),
                     "errors": [{"line": n, "type": "kernel", "reason": "as the script says"} for n in rejected],
                     "offset": len(data), "repeated": not fresh}
