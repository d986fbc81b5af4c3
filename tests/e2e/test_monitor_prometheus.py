"""gpufl-monitor scraped by a real Prometheus: every query of the dashboard and of the alerts finds its series.

Usage: test_monitor_prometheus.py gpufl-monitor gpufl FAKES SOURCE_DIR"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

import together
from monitored import Monitor
from patience import PATIENCE, started, until
from ports import free_port

PROGRAM, _, FAKES, SOURCE = sys.argv[1:5]
RULES = os.path.join(SOURCE, "deploy", "prometheus")
DASHBOARD = os.path.join(SOURCE, "deploy", "grafana", "gpufl-monitor.json")
# Metrics that the fake driver does not answer: none of these has a series here.
UNANSWERED = {"gpufl_gpu_dram_active_ratio", "gpufl_gpu_fan_ratio"}


# Two Slurm jobs and two pods.
WORKLOADS = ({"SLURM_JOB_ID": "4711"}, {"SLURM_JOB_ID": "4712"}, {"POD_NAME": "train-0", "POD_NAMESPACE": "ml"},
             {"POD_NAME": "train-1", "POD_NAMESPACE": "ml"})


def dashboard():
    with open(DASHBOARD, encoding="utf-8") as f:
        return json.load(f)


def queries():
    """(panel, query) of the dashboard, its variables set to all."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], re.sub(r"\$(instance|gpu)\b", ".*", target["expr"]).replace("$__rate_interval", "1m")


def metrics_of(query):
    return set(re.findall(r"\b(?:gpufl_\w+|up)\b(?=[\[{ ]|$)", query, re.M))


class Prometheus:
    """A server that scrapes a monitor each second, with the rules."""

    def __init__(self, monitor, folder):
        port, target = free_port(), monitor.url.split("//")[1]
        self.url = f"http://127.0.0.1:{port}"
        config = os.path.join(folder, "prometheus.yml")
        with open(os.path.join(RULES, "prometheus.yml"), encoding="utf-8") as f:
            text = f.read()
        text = re.sub(r"targets: .*", f"targets: ['{target}']", text).replace("15s", "1s")
        text = text.replace("gpufl-monitor.rules.yml", os.path.join(RULES, "gpufl-monitor.rules.yml"))
        with open(config, "w", encoding="utf-8") as f:
            f.write(text)
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([shutil.which("prometheus"), f"--config.file={config}",
                                             f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"],
                                            stdout=log, stderr=log)

    def get(self, path, **parameters):
        """The data of an answer; None while the server starts."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=PATIENCE) as r:
                return json.load(r)["data"]
        except urllib.error.HTTPError as e:
            if e.code == 503:
                return None
            raise AssertionError(f"{parameters}: {e.read().decode()}") from e
        except OSError:
            return None

    def query(self, text):
        return (self.get("query", query=text) or {"result": []})["result"]

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed (Debian: prometheus)")
class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.m = Monitor(PROGRAM, FAKES, devices=2)
        cls.addClassCleanup(shutil.rmtree, cls.m.folder)
        cls.m.control.pid(0, os.getpid())
        for k, environment in enumerate(WORKLOADS):  # all on GPU 1
            child = started(subprocess.Popen(["sleep", "600"], env=environment))
            cls.addClassCleanup(child.wait)
            cls.addClassCleanup(child.kill)
            cls.m.control.pid(2 * k + 1, child.pid)
        cls.m.control.xid, cls.m.control.events = 79, 3
        cls.m.control.parts = 2
        cls.m.start()
        cls.addClassCleanup(cls.m.close)
        until(lambda: cls.m.metric("gpufl_gpu_xid_errors_total", xid="79") == 3 and
              len(cls.m.metrics().get("gpufl_workload_processes", [])) == 1 + len(WORKLOADS) and
              cls.m.metric("gpufl_gpu_sm_active_ratio", gpu="0") is not None and
              cls.m.metric("gpufl_gpu_nvlink_receive_bytes_per_second", gpu="0") is not None and
              cls.m.metric("gpufl_instance_sm_active_ratio", gpu="0", gpu_instance="8") is not None, "not all metrics came")
        cls.prometheus = Prometheus(cls.m, cls.folder.name)
        cls.addClassCleanup(cls.prometheus.close)
        until(lambda: cls.prometheus.query("count_over_time(gpufl_monitor_rounds_total[1m]) >= 2"), "never scraped twice")

    def test_every_query_of_the_dashboard_finds_something(self):
        asked = 0
        for panel, query in queries():
            with self.subTest(panel, query=query):
                metrics = metrics_of(query)
                self.assertTrue(metrics)
                if metrics <= UNANSWERED:
                    self.assertEqual(self.prometheus.query(query), [])
                    with open(os.path.join(SOURCE, "src", "monitord", "metrics.def"), encoding="utf-8") as f:
                        text = f.read()
                    self.assertTrue(all(f'"{x}"' in text for x in metrics), "no metric of that name")
                else:
                    self.assertTrue(self.prometheus.query(query))
                asked += 1
        self.assertGreater(asked, 30)

    def test_variables_and_legends_are_labels_that_exist(self):
        for variable in dashboard()["templating"]["list"]:
            if variable["type"] == "query":
                series, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
                series = series.replace("$instance", ".*")
                found = self.prometheus.get(f"label/{label}/values", **{"match[]": series})
                self.assertEqual(len(found), {"instance": 1, "gpu": 2}[label], variable["name"])
        names = {"pod", "slurm_job"}  # labels of a workload, which may have neither
        for panel in dashboard()["panels"]:
            for target in panel.get("targets", []):
                found = self.prometheus.query(re.sub(r"\$(instance|gpu)\b", ".*", target["expr"]).replace("$__rate_interval", "1m"))
                for label in set(re.findall(r"{{(\w+)}}", target["legendFormat"])) - names:
                    self.assertTrue(all(label in one["metric"] for one in found), f"{panel['title']}: {label}")

    def test_labels_arrive_as_they_are(self):
        """Prometheus sets `job` and `instance` itself, and renames labels of these names."""
        for metric in sorted(m for m in self.m.metrics() if m.startswith(("gpufl_workload_", "gpufl_gpu_info"))):
            page = {frozenset((k, v) for k, v in labels.items() if v) for labels, _ in self.m.metrics()[metric]}
            stored = [dict(x["metric"]) for x in self.prometheus.query(metric)]
            for labels in stored:
                self.assertEqual((labels.pop("__name__"), labels.pop("job")), (metric, "gpufl-monitor"))
                labels.pop("instance")
            with self.subTest(metric):
                self.assertEqual({frozenset(labels.items()) for labels in stored}, page)
        known = [labels for labels, _ in self.m.metrics()["gpufl_workload_processes"]]
        self.assertEqual({x.get("slurm_job") for x in known} - {None, ""}, {"4711", "4712"})
        self.assertEqual({x.get("pod") for x in known} - {None, ""}, {"ml/train-0", "ml/train-1"})

    def test_the_dashboard_keeps_workloads_apart(self):
        legends = 0
        for panel in dashboard()["panels"]:
            for target in panel.get("targets", []):
                if "slurm_job" not in target["legendFormat"]:
                    continue
                found = self.prometheus.query(re.sub(r"\$(instance|gpu)\b", ".*", target["expr"]).replace("$__rate_interval", "1m"))
                workloads = {x["metric"].get("slurm_job") or x["metric"].get("pod") for x in found if x["metric"]["gpu"] == "1"}
                self.assertEqual(workloads, {"4711", "4712", "ml/train-0", "ml/train-1"}, panel["title"])
                legends += 1
        self.assertGreater(legends, 1)

    def test_numbers_arrive_as_they_are(self):
        (x,) = self.prometheus.query('gpufl_gpu_memory_size_bytes{gpu="1"}')
        self.assertEqual(float(x["value"][1]), 150754820096)
        self.assertEqual(x["metric"]["job"], "gpufl-monitor")
        (x,) = self.prometheus.query('sum(gpufl_gpu_xid_errors_total)')
        self.assertEqual(float(x["value"][1]), 3)
        throttled = {p: q for p, q in queries() if p == "Throttled" and "/ 4)" in q}
        self.assertEqual({r["value"][1] for r in self.prometheus.query(throttled["Throttled"])}, {"1"}, "power cap")

    def test_every_rule_is_evaluated_over_series_that_exist(self):
        def rules():
            got = self.prometheus.get("rules")["groups"]
            return got and all(r["health"] != "unknown" for r in got[0]["rules"]) and got[0]["rules"]
        found = until(rules, "the rules were never evaluated")
        self.assertGreater(len(found), 9)
        for rule in found:
            with self.subTest(rule["name"]):
                self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""))
                for metric in metrics_of(rule["query"]):
                    self.assertTrue(self.prometheus.query(metric), metric)
        firing = {a["labels"]["alertname"] for a in until(lambda: self.prometheus.get("alerts")["alerts"], "no alert")}
        self.assertIn("GpuXidErrors", firing)
        self.assertNotIn("GpuLost", firing)


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
class Files(unittest.TestCase):
    def promtool(self, *words):
        got = subprocess.run(["promtool", *words], cwd=RULES, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)

    def test_rules(self):
        self.promtool("check", "rules", "gpufl-monitor.rules.yml")
        self.promtool("check", "config", "prometheus.yml")
        self.promtool("test", "rules", "gpufl-monitor.rules.test.yml")

    def test_every_alert_is_tested_and_documented(self):
        names = {}
        for file in ("gpufl-monitor.rules.yml", "gpufl-monitor.rules.test.yml"):
            with open(os.path.join(RULES, file), encoding="utf-8") as f:
                names[file] = set(re.findall(r"\balert(?:name)?: (\w+)", f.read()))
        self.assertEqual(*names.values())
        with open(os.path.join(SOURCE, "docs", "monitor.md"), encoding="utf-8") as f:
            doc = f.read()
        for name in names["gpufl-monitor.rules.yml"]:
            self.assertIn(f"| `{name}` |", doc)

    def test_dashboard(self):
        d = dashboard()
        self.assertEqual(len({p["id"] for p in d["panels"]}), len(d["panels"]))
        places = set()
        for p in d["panels"]:
            g = p["gridPos"]
            cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
            self.assertFalse(cells & places, f"{p['title']} lies over another panel")
            self.assertLessEqual(g["x"] + g["w"], 24)
            places |= cells


if __name__ == "__main__":
    together.main(sys.argv[:1] + sys.argv[5:])
