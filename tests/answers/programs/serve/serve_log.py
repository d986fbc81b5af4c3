"""A server compresses a log entry before it answers. Cure: entries are only kept."""
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import time
import zlib

CURE, SIZE = "cure" in sys.argv, 1024


def client(port, body, users=2, warm=5, requests=30):
    """Sends requests over HTTP, each user one after the other, and prints the times."""
    import http.client
    import threading
    times, starts = [], []

    def user():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for k in range(warm + requests):
            begin = time.perf_counter()
            connection.request("POST", "/", body)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.reason
            if k >= warm:
                starts.append(begin)
                times.append(time.perf_counter() - begin)

    threads = [threading.Thread(target=user) for _ in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - min(starts),
                      "p99_s": times[int(len(times) * 0.99)]}), flush=True)


if "client" in sys.argv:
    client(int(sys.argv[-1]), bytes(SIZE), users=1)
    sys.exit()

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(24)]).to("cuda", torch.bfloat16).eval()
log, lines = tempfile.TemporaryFile(), []


def record(text):
    if CURE:
        lines.append(text)
        return
    log.write(zlib.compress(b"".join(text + str(k).encode() for k in range(20000)), 9))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 1 << 20, True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with torch.no_grad():
            total = model(torch.randn(64, 4096, device="cuda", dtype=torch.bfloat16)).float().sum().item()
        body = str(total).encode()
        record(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
subprocess.run([sys.executable, __file__, "client", str(server.server_address[1])], check=True)
server.shutdown()
