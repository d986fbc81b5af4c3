"""http.server serves features; each answer is written as JSON, number by number. Cure: as bytes."""
import http.server
import json
import subprocess
import sys
import threading
import time

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
    client(int(sys.argv[-1]), bytes(SIZE))
    sys.exit()

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(24)]).to("cuda", torch.bfloat16).eval()


def reply(features):
    if CURE:
        return features.numpy().tobytes()
    return json.dumps(features.tolist()).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 1 << 20, True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with torch.no_grad():
            features = model(torch.randn(16, 4096, device="cuda", dtype=torch.bfloat16)).float().cpu()
        body = reply(features)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
subprocess.run([sys.executable, __file__, "client", str(server.server_address[1])], check=True)
server.shutdown()
