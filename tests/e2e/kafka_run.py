"""Kafka for tests: librdkafka's mock cluster as a process, and the messages that a gpufl-server set aside."""
import pathlib
import subprocess

from agent_run import Agent
from patience import PATIENCE, until


class Brokers:
    """with Brokers(program) as b: … b.hosts; commands as kafka_mock.c says."""

    def __init__(self, program, count=3):
        self.count = count
        self.process = subprocess.Popen([str(program), str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.hosts = self.process.stdout.readline().strip()
        assert self.hosts, "the mock cluster does not start"

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer == "ok", (line, answer)

    def down(self):
        for broker in range(1, self.count + 1):
            self.ask(f"down {broker}")

    def up(self):
        for broker in range(1, self.count + 1):
            self.ask(f"up {broker}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def quick_group(folder):
    """A file of properties with which a group soon notices new topics and the death of a server."""
    path = folder / "group"
    path.write_text("session.timeout.ms=4000\nheartbeat.interval.ms=200\ntopic.metadata.refresh.interval.ms=500\n"
                    "reconnect.backoff.max.ms=200\n")
    path.chmod(0o600)
    return str(path)


class KafkaAgent(Agent):
    """A gpufl-agent that sends to Kafka."""

    def __init__(self, program, state, brokers, sources, *options, environment=None):
        super().__init__(program, state, "", sources, *options, environment=environment)
        at = self.command.index("--server")
        self.command[at:at + 2] = ["--kafka", brokers]


def aside(folder):
    """Returns what a server set aside below its data folder: {file name: (reason, bytes)}."""
    found = {}
    for path in sorted((pathlib.Path(folder) / "kafka").glob("*")):
        try:
            head, _, body = path.read_bytes().partition(b"\n\n")
        except FileNotFoundError:  # it was accepted, or has its final name by now
            continue
        found[path.name] = (head.split(b"\n")[0].removeprefix(b"reason: ").decode(), body)
    return found


def metrics(server):
    """The numbers of /metrics without labels."""
    lines = server.ask("GET", "/metrics").body.decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def correlations(server, headers, session):
    """The kernels that the store has of a session, by their correlation."""
    question = {"sql": "SELECT correlation FROM kernels", "rows": 100_000, "sessions": session, "milliseconds": 30_000}
    answer = server.ask("POST", "/api/v1/sql", question, headers)
    assert answer.status == 200, answer
    assert not answer.json()["truncated"]
    return [int(row[0]) for row in answer.json()["rows"]]


def until_stored(server, headers, session, count):
    """Waits until the store has that many kernels: their correlations."""
    until(lambda: server.ask("GET", f"/api/v1/sessions/{session}", headers=headers).status == 200,
          lambda: f"{session} is not there: {server.said()[-3000:]}")
    until(lambda: len(correlations(server, headers, session)) >= count,
          lambda: f"{session}: {len(correlations(server, headers, session))} of {count}: {server.said()[-3000:]}")
    return correlations(server, headers, session)


def positions(server, headers, session):
    answer = server.ask("GET", f"/api/v1/sessions/{session}/positions", headers=headers)
    return {c["channel"]: c["offset"] for c in answer.json()["channels"]} if answer.status == 200 else {}

