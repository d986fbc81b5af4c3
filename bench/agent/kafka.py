#!/usr/bin/env python3
"""Measures what sending to Kafka costs the agent: `kafka.py [--build DIR] [--megabytes N] [--rounds N] [--seconds N]`.

The agent sends the same log to Kafka and to an HTTP server that answers at once, in turn; the script prints its
processor time (user and system), median of the rounds. Then it measures processor time and resident bytes with 10 000
finished folders that the cursor knows and connected brokers. The brokers are librdkafka's mock cluster in a process of
its own.
"""
import argparse
import os
import pathlib
import statistics
import subprocess

import run
from run import agent_run, cpu_of_children, drain, finished_folders, folder, idle_share, sink

import kafka_run  # pylint: disable=wrong-import-position,wrong-import-order


def drain_to_kafka(agent, state, logs, hosts):
    with kafka_run.KafkaAgent(agent, state, hosts, [logs], "--no-names") as a:
        a.ask("drain")
        a.wait()


def both(args, brokers):
    agent, gpufl = args.build / "bin/gpufl-agent", args.build / "bin/gpufl"
    server, url = sink()
    with folder() as place:
        logs = place / "logs"
        subprocess.run([gpufl, "sim", "-k", str(args.megabytes * 25000), "-o", logs],
                       env={**run.ENV, "GPUFL_LOG_ROTATE_BYTES": str(1 << 40)}, check=True, stdout=subprocess.DEVNULL)
        size = sum(os.path.getsize(p) for p in logs.glob("*/*.log"))
        http, kafka = [], []
        for n in range(args.rounds):
            http.append(cpu_of_children(lambda n=n: drain(agent, place / f"http-{n}", logs, url)))
            kafka.append(cpu_of_children(lambda n=n: drain_to_kafka(agent, place / f"kafka-{n}", logs, brokers.hosts)))
        a, b = statistics.median(http), statistics.median(kafka)
        print(f"drain: {size / 1e6:.1f} MB plain; HTTP {size / a / 1e6:.0f} MB/s, Kafka {size / b / 1e6:.0f} MB/s of "
              f"processor time: {100 * a / b:.0f} % (rounds: {', '.join(f'{x:.2f}/{y:.2f}' for x, y in zip(http, kafka))} s)")
    server.shutdown()


def idle(args, brokers):
    with folder() as place:
        logs, state = place / "logs", place / "state"
        state.mkdir()
        finished_folders(logs, state)
        with kafka_run.KafkaAgent(args.build / "bin/gpufl-agent", state, brokers.hosts, [logs], "--no-names") as a:
            a.until_done(10_000)
            live = agent_run.Log(logs, "live")  # so that it is connected
            live.kernel(1)
            agent_run.until(lambda: a.status()["counts"]["bodies"] >= 2, a.said)
            share = idle_share(a.process.pid, args.seconds)
            with agent_run.memory_of(a.process) as memory:
                print(f"idle: 10000 finished folders and one that waits: {100 * share:.3f} % of a core over "
                      f"{args.seconds} s, {memory() / (1 << 20):.1f} MiB resident, "
                      f"{len(os.listdir(f'/proc/{a.process.pid}/task'))} threads")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=run.ROOT / "build")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60)
    args = parser.parse_args()
    with kafka_run.Brokers(args.build / "tests/kafka_mock") as brokers:
        both(args, brokers)
        idle(args, brokers)


if __name__ == "__main__":
    main()
