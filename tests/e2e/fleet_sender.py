"""A program that runs on a host with GPUs, as far as a server hears of it."""
import json
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
