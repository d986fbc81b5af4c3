#!/usr/bin/env python3
"""Control of hosts: configurations from the server, and captures on demand.

    test_agent_control.py BUILD
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

import live_server
from controlled import HOST, House, Program
from patience import until

BUILD = pathlib.Path(sys.argv[1]).absolute()
DORMANT = {"remote_control": True}


class Case(unittest.TestCase):
    allowed = True

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-control-"))
        self.house = House(self.dir, BUILD, allowed=self.allowed)

    def tearDown(self):
        self.house.close()
        shutil.rmtree(self.dir)

    def put(self, name, options, base, **more):
        return self.house.ask("PUT", f"/configs/{name}", {"options": json.dumps(options), "base": base, **more})

    def cached(self, name):
        try:
            return json.loads((self.house.cache / f"{name}.json").read_text())
        except FileNotFoundError:
            return None


class Configurations(Case):
    allowed = False

    def test_written_fetched_and_used(self):
        house = self.house
        first = self.put("prod", {"profiling_engine": "Trace", "system_sample_rate_ms": 250}, 0, note="first")
        self.assertEqual(first.status, 200, first)
        self.assertEqual(first.json()["version"], 1)
        self.assertEqual(first.json()["author"], "ada@example.org")
        until(lambda: self.cached("prod"), house.agent.said)
        self.assertEqual(self.put("prod", {"profiling_engine": "Trace", "flush_interval_ms": 50}, 0).status, 409)
        self.assertEqual(self.put("prod", {"profiling_engine": "Trace", "flush_interval_ms": 50}, 1).json()["version"], 2)
        began = time.monotonic()
        until(lambda: self.cached("prod")["version"] == 2, house.agent.said)
        self.assertLess(time.monotonic() - began, 20)  # an event leads to it, not the next poll
        self.assertEqual(self.cached("prod"), {"name": "prod", "version": 2, "options": {"flush_interval_ms": 50, "profiling_engine": "Trace"}})
        # The server is away: the file stays, and a program uses it.
        house.server.kill()
        program = self.run_program("prod")
        house.server.start()
        report = house.report(program)
        self.assertIn({"engine": "options", "name": "remote_config", "value": "prod, version 2"}, report["settings"])
        self.assertEqual(report["session"]["engine"], "Trace")
        # The configuration is deleted: the file goes, the versions stay.
        self.assertEqual(house.ask("DELETE", "/configs/prod").status, 204)
        until(lambda: self.cached("prod") is None, house.agent.said)
        self.assertEqual(house.ask("GET", "/configs/prod").status, 404)
        versions = house.ask("GET", "/configs/prod/versions").json()["rows"]
        self.assertEqual([(v["version"], v["removed"], v["note"]) for v in versions],
                         [(3, True, ""), (2, False, ""), (1, False, "first")])
        self.assertEqual([a for a in house.audit() if a[0].startswith("config.")][::-1],
                         [("config.write", "prod", "user"), ("config.write", "prod", "user"), ("config.delete", "prod", "user")])

    def run_program(self, name):
        return Program(BUILD, self.house.logs, program=("100",), remote_config=name, remote_config_dir=self.house.cache).wait()

    def test_a_host_takes_what_is_assigned_to_it(self):
        house = self.house
        assign = lambda name: house.ask("PUT", f"/host-configs/{HOST}", {"config": name})
        self.assertEqual(assign("prod").status, 404)
        self.put("prod", {"flush_interval_ms": 50}, 0)
        self.put("test", {"flush_interval_ms": 60}, 0)
        made = assign("prod")
        self.assertEqual((made.status, made.json()["host"], made.json()["config"]), (200, HOST, "prod"), made)
        until(lambda: self.cached("@host"), house.agent.said)
        self.assertEqual(self.cached("@host"), {"name": "@host", "config": "prod", "version": 1, "options": {"flush_interval_ms": 50}})
        # Another configuration, and a newer version of it, reach the host.
        self.assertEqual(assign("test").status, 200)
        until(lambda: self.cached("@host")["config"] == "test", house.agent.said)
        self.put("test", {"flush_interval_ms": 70}, 1)
        until(lambda: self.cached("@host")["version"] == 2, house.agent.said)
        self.assertEqual(self.cached("test"), {"name": "test", "version": 2, "options": {"flush_interval_ms": 70}})
        # A program says which version it uses, and its session is found by that.
        program = self.run_program("@host")
        self.assertIn({"engine": "options", "name": "remote_config", "value": "test, version 2"}, house.report(program)["settings"])
        found = house.server.until(lambda: house.ask("GET", "/sessions?label=config&label_value=test,%20version%202").json()["rows"],
                                   "the session is labelled")
        self.assertEqual([row["id"] for row in found], [program.session])
        rows = house.ask("GET", "/host-configs").json()["rows"]
        self.assertEqual([(row["host"], row["config"], row["author"]) for row in rows], [(HOST, "test", "ada@example.org")])
        # The configuration is taken away, and deleted while a host uses it: the host has none.
        self.assertEqual(house.ask("DELETE", f"/host-configs/{HOST}").status, 204)
        until(lambda: self.cached("@host") is None, house.agent.said)
        self.assertEqual(house.ask("DELETE", f"/host-configs/{HOST}").status, 404)
        assign("prod")
        until(lambda: self.cached("@host"), house.agent.said)
        self.assertEqual(house.ask("DELETE", "/configs/prod").status, 204)
        until(lambda: self.cached("@host") is None, house.agent.said)
        self.assertEqual(house.ask("GET", "/host-configs").json()["rows"], [])
        changes = [(action, target) for action, target, _ in house.audit() if action in ("config.assign", "config.release")]
        self.assertEqual(changes[::-1], [("config.assign", HOST), ("config.assign", HOST), ("config.release", HOST), ("config.assign", HOST)])

    def test_refused_with_a_sentence(self):
        for options, said in (('{"profiling_engin": "Trace"}', "here is no option 'profiling_engin'; is it 'profiling_engine'?"),
                              ('{"log_path": "/etc"}', "ption 'log_path' can be set on the host only, not by a configuration"),
                              ('{"api_key": "x"}', "ption 'api_key' can be set on the host only, not by a configuration"),
                              ('{"profiling_engine": "Fast"}', "'Fast' is not possible, it takes Monitor, Trace,"),
                              ('{"flush_interval_ms": 5}', "'5' is not possible, it takes a whole number from 10 to 10000"),
                              ('{"windows": [true]}', "a text, a whole number, true or false belongs there"),
                              ('["windows"]', "he options are one JSON object"), ("{", "he options are no JSON")):
            answer = self.house.ask("PUT", "/configs/prod", {"options": options, "base": 0})
            self.assertEqual(answer.status, 400, (options, answer))
            self.assertIn(said, answer.json()["detail"])
        for name in ("../x", ".x", "a%2fb", "x" * 65):
            self.assertIn(self.house.ask("PUT", f"/configs/{name}", {"options": "{}", "base": 0}).status, (400, 404), name)
        self.assertEqual(self.house.ask("GET", "/configs").json()["rows"], [])

    def test_requests_are_refused_where_no_agent_takes_them(self):
        program = self.house.start(**DORMANT)
        answer = self.house.capture(program)
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("--allow-remote-control", answer.json()["detail"])
        self.assertIn(("capture.refuse", program.session), [a[:2] for a in self.house.audit()])


class Captures(Case):
    def check_capture(self, program, **more):
        row = self.house.outcome(self.house.capture(program, **more), "open", "done")
        self.assertEqual(row["reason"], "")
        return row

    def kernels(self, program):
        return self.house.report(program)["ledger"]["kernels_recorded"]

    def woken(self, engine):
        house = self.house
        program = house.start(engine, **DORMANT)
        self.assertIn(self.kernels(program), (None, 0))
        row = self.check_capture(program)
        until(lambda: (self.kernels(program) or 0) > 100, lambda: f"{self.kernels(program)} kernels {house.agent.said()[-800:]}")
        # The capture is in the live session: its first kernels are on the server while it runs.
        house.server.until(lambda: house.ask("GET", f"/sessions/{program.session}").json()["kernels"], "the kernels arrive")
        house.server.until(lambda: house.request(row["id"])["state"] == "done", "the capture ends")
        # A second capture of the same session.
        before = self.kernels(program)
        second = self.check_capture(program)
        until(lambda: self.kernels(program) > before + 100, "the second capture records")
        house.server.until(lambda: house.request(second["id"])["state"] == "done", "the capture ends")
        program.end()
        report = house.report(program)
        self.assertEqual(report["windows"]["opened"], 2, report["windows"])
        self.assertLess(report["windows"]["recorded_ns"], report["session"]["duration_ns"] / 2 + 2000000000)
        actions = [a[0] for a in house.audit()]
        self.assertEqual(actions.count("capture.request"), 2)
        self.assertEqual(actions.count("capture.open"), 2)
        self.assertEqual(actions.count("agent.bind"), 1)
        return report

    def test_a_monitor_is_woken(self):
        self.woken("Monitor")

    def test_a_session_of_waits_is_woken(self):
        self.woken("Sync")

    def test_in_windows(self):
        program = self.house.start("Trace", windows=True)
        first = self.check_capture(program)
        until(lambda: (self.kernels(program) or 0) > 100, self.house.agent.said)
        self.house.server.until(lambda: self.house.request(first["id"])["state"] == "done", "the capture ends")
        wrong = self.house.outcome(self.house.capture(program, engine="Deep"), "refused", "open")
        if wrong["state"] == "open":
            self.fail("another engine than the session's")

    def test_refused_and_why(self):
        house = self.house
        deaf = house.start()
        row = house.outcome(house.capture(deaf), "refused")
        self.assertIn("accepts no commands", row["reason"])
        always = house.start("Trace", **DORMANT)
        row = house.outcome(house.capture(always), "refused")
        self.assertIn("records all the time", row["reason"])
        dormant = house.start(**DORMANT)
        row = house.outcome(house.capture(dormant, engine="PcSampling"), "refused")
        self.assertIn("has to be there when the program begins", row["reason"])
        # Only one capture runs at a time.
        self.check_capture(dormant, ms=60000)
        again = house.capture(dormant)
        self.assertEqual(again.status, 409)
        self.assertIn("under way already", again.json()["detail"])
        refused = [a[1] for a in house.audit() if a[0] == "capture.refuse"]
        self.assertEqual(len(refused), 4)  # three by the session, whose targets are requests; one by the server
        self.assertEqual(refused.count(dormant.session), 1)
        # Requests have limits.
        for body in ({"duration": 1}, {"duration": 10**12}, {"engine": "Monitor"}, {"engine": "rm -rf"}, {"scope": "a\nb"}):
            answer = house.ask("POST", "/captures", {"session": dormant.session, "engine": "Trace", "duration": 10**9, **body})
            self.assertEqual(answer.status, 400, (body, answer))
        ended = house.start(**DORMANT, program=("10",))
        house.server.until(lambda: house.ask("GET", f"/sessions/{ended.session}").json()["state"] == "ended", "it ends")
        self.assertEqual(house.capture(ended).status, 409)

    def test_all_of_a_host(self):
        house = self.house
        programs = [house.start(**DORMANT) for _ in range(2)]
        answer = house.ask("POST", "/captures", {"host": HOST, "engine": "Trace", "duration": 300000000})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual({r["session"] for r in answer.json()["rows"]}, {p.session for p in programs})
        for program in programs:
            until(lambda program=program: (self.kernels(program) or 0) > 50, house.agent.said)

    def test_keys_and_replay(self):
        """An agent's key takes each request for its own host, once."""
        house = self.house
        other = live_server.bearer(live_server.key(house.server, house.owner, "ingest"))
        mine = live_server.bearer(house.key)
        program = house.start(**DORMANT)
        hello = {"host": HOST, "version": "1", "control": True}
        taken = house.ask("POST", "/agent/hello", hello, other)
        self.assertEqual(taken.status, 409, taken)  # the host belongs to another key
        self.assertEqual(house.ask("POST", "/agent/hello", {**hello, "host": "elsewhere"}, mine).status, 409)
        self.assertEqual(house.ask("POST", "/agent/captures", {"host": HOST}, other).status, 409)
        self.assertEqual(house.ask("POST", "/agent/captures", {"host": HOST}).status, 403)  # no key at all
        row = self.check_capture(program)
        for who in (mine, other):
            again = house.ask("POST", f"/agent/captures/{row['id']}", {"host": HOST, "state": "open"}, who)
            self.assertIn(again.status, (404, 409), again)
        self.assertEqual(house.ask("POST", "/agent/captures", {"host": HOST}, mine).json()["rows"], [])  # a capture is given once
        # A viewer may read, and not ask for captures.
        link = house.ask("POST", "/invitations", {"role": "viewer"}).json()
        viewer = live_server.entry(house.server.ask("POST", "/api/v1/auth/accept", {
            "token": link["token"], "email": "v@example.org", "name": "V", "password": live_server.PASSWORD}))
        body = {"session": program.session, "engine": "Trace", "duration": 10**9}
        self.assertEqual(house.ask("POST", "/captures", body, viewer).status, 403)
        self.assertEqual(house.ask("GET", "/captures", None, viewer).status, 200)
        self.assertEqual(house.ask("PUT", "/configs/x", {"options": "{}", "base": 0}, viewer).status, 403)
        # The agent is forgotten: the next key is bound.
        self.assertEqual(house.ask("DELETE", f"/agents/{HOST}").status, 204)
        self.assertIn(house.ask("POST", "/agent/hello", hello, other).status, (204, 409))  # the first one that comes gets it

    def test_a_configuration_that_cannot_be_kept_stops_no_capture(self):
        (self.house.cache / ".prod.gpufl-part" / "in the way").mkdir(parents=True)  # where its file would be written
        program = self.house.start(**DORMANT)
        self.assertEqual(self.house.ask("PUT", "/configs/prod", {"options": "{}", "base": 0}).status, 200)
        self.house.agent.until_said("cannot write")
        self.check_capture(program)
        self.assertEqual(list(self.house.cache.glob("*.json")), [])

    @unittest.skipIf(os.geteuid() or not shutil.which("setpriv"), "only root has programs of other users")
    def test_a_program_of_another_user(self):
        """As root the agent needs one capability: the one that deploy/systemd/gpufl-agent-captures.conf leaves."""
        outcomes = {}
        for left in ("+dac_override", "+dac_read_search"):  # the other one reads the logs, and opens no socket
            folder = self.dir / left[1:]
            house = House(folder, BUILD, starter=("setpriv", "--bounding-set", f"-all,{left}"))
            try:
                for path in (self.dir, folder):
                    path.chmod(0o755)
                house.logs.chmod(0o777)
                program = house.start(starter=("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"), **DORMANT)
                row = house.outcome(house.capture(program), "open", "done", "refused")
                outcomes[left] = row["state"] if row["state"] == "refused" else "obeyed", row["reason"]
            finally:
                house.close()
        self.assertEqual(outcomes["+dac_override"], ("obeyed", ""))
        self.assertEqual(outcomes["+dac_read_search"][0], "refused")
        self.assertIn("belongs to user 54321: the agent is root, but lacks the capability CAP_DAC_OVERRIDE", outcomes["+dac_read_search"][1])

    def test_an_agent_without_a_server(self):
        """The server is killed and started again: a request made after that is obeyed."""
        house = self.house
        program = house.start(**DORMANT)
        house.server.kill()
        house.agent.until_said("from the server for now")
        until(lambda: house.agent.status()["orders_why"], house.agent.said)
        self.assertRegex(house.agent.ask("status")[1], r"\nconfigurations and captures: (?!ready)http:")
        house.server.start()
        house.agent.until_said("the server answers again")
        until(lambda: house.agent.status()["orders_why"] == "", house.agent.said)
        self.assertIn("\nconfigurations and captures: ready\n", house.agent.ask("status")[1])
        self.check_capture(program)

    def test_a_scope(self):
        program = self.house.start(**DORMANT)
        self.check_capture(program, scope="there is none of that name")
        self.house.server.until(lambda: self.house.ask("GET", "/captures").json()["rows"][0]["state"] == "done", "it ends")
        program.end()
        self.assertIn(self.kernels(program), (None, 0))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
