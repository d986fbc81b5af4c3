"""Both ends of the fleet: the data of a program on a host with GPUs, as a server receives it, and the
receiver of alerts."""
import http.server
import json
import queue
import threading
import time


class Sender:
    """A session's system channel, line by line, as a program that runs would send it."""

    def __init__(self, server, key, session, host, gpus=2, app="train", began=None):
        self.server, self.key, self.session, self.host, self.offset = server, key, session, host, 0
        self.began = began or time.time_ns()
        names = [{"type": "header", "format": 1, "session": session, "channel": "system", "part": 1, "offset": 0,
                  "app": app, "pid": 7, "host": host, "run": "", "command": "x", "engine": "Monitor",
                  "backend": "nvidia", "simulated": False, "version": "9.8.7", "system": "Linux 6.1 x86_64",
                  "start": 0, "clock_monotonic": 0, "clock_real": self.began, "clock_uncertainty": 0},
                 {"type": "names", "rows": 3 + gpus, "id": list(range(1, 4 + gpus)),
                  "text": ["H200", "nvidia", "570.1"] + [f"GPU-{host}-{i}" for i in range(gpus)]}]
        names += [{"type": "device", "rows": 1, "id": i + 1, "index": i, "name": 1, "vendor": 2, "driver": 3,
                   "uuid": 4 + i, "memory_total": 1000} for i in range(gpus)]
        self.send(*names)

    def send(self, *lines):
        body = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
        answer = self.server.ask("POST", "/api/v1/events/stream", body, Authorization=self.key,
                                 X_GpuFlight_Session_Id=self.session, X_GpuFlight_Channel="system",
                                 X_GpuFlight_Offset=str(self.offset), Content_Type="application/x-ndjson")
        assert answer.status == 200 and answer.json()["rejected"] == 0, answer
        self.offset += len(body)

    def sample(self, host, *gpus, at=None):
        at = time.time_ns() - self.began if at is None else at
        self.send({"type": "host_metric", "rows": 1, "time": at, **host},
                  *({"type": "device_metric", "rows": 1, "time": at, "device": i + 1, **cells}
                    for i, cells in enumerate(gpus)))


class Receiver(http.server.ThreadingHTTPServer):
    """Accepts posts, and answers with the given statuses in order, then with 200."""

    daemon_threads = True

    def __init__(self, *answers, address="127.0.0.1"):
        self.got, self.answers = queue.Queue(), list(answers)
        super().__init__((address, 0), Handler)
        self.url = f"http://{address}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.put((self.path, self.headers, body))
        status = self.server.answers.pop(0) if self.server.answers else 200
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.server.url + "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
