#!/usr/bin/env python3
"""Every route of gpufl-server, asked with every kind of login: nobody gets data of another workspace.

    tenants.py GPUFL GPUFL_SERVER

Two workspaces with users of every role, keys of every scope, links, and sessions, one of
them under the same id in both. The routes are those that `gpufl-server openapi` lists: a
new route is asked as well, and fails the test until its parameters are described below.
The rights are written here a second time, in addition to src/server/auth/rights.def: a right
that is changed there by mistake is a difference here.
"""
import collections
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import live_server
from live_server import PASSWORD, bearer, entry, key, simulate, upload

GPUFL, SERVER = (str(pathlib.Path(p).absolute()) for p in sys.argv[1:3])
ROLES = ("viewer", "member", "owner")
SCOPES = ("ingest", "read", "admin")
MAY = {"PUBLIC": {*ROLES, *SCOPES, "share"}, "INGEST": {"member", "owner", "ingest", "admin"},
       "READ": {*ROLES, "read", "admin"}, "WRITE": {"member", "owner", "admin"}, "CONTROL": {"member", "owner", "admin"}, "OWNER": {"owner", "admin"},
       "ADMIN": set()}
FAR = "9000000000000000000"  # ns: after everything, and before any overflow

HOOK = "http://192.168.255.254:9/hook"  # an address to which posts may go, and which nobody has

# The tables say what parameters are, if their schema does not say it: of every route, or of one.
VALUES = {"label": "mine", "level": 0, "lanes": "0", "from": 0, "to": FAR, "device": 0, "counter": 0, "step": 1000000, "metric": "gpu_util",
          "pattern": "a", "by": "host", "path": "none.py", "record": "kernel", "name": 0,
          "threads": "0", "rollups.to": 1000000, "rollup_days.to": 1000000, "rollup_days.name": "x", "tiles.to": 1000000, "tiles.step": 1048576, "tiles.level": 7, "usage.to": 1000000, "fleet.to": 1000000, "host_series.metric": "cpu",
          "events_stream.X-GpuFlight-Channel": "device", "history.name": "x", "compare.a": "{session}", "compare.b": "{session}",
          "compare_flame.a": "{session}", "compare_flame.b": "{session}"}
BODIES = {"login": {"email": "{email}", "password": PASSWORD},
          "setup": {"token": "x" * 43, "email": "eve@example.org", "name": "Eve", "password": PASSWORD},
          "accept": {"token": "x" * 43, "email": "eve@example.org", "name": "Eve", "password": PASSWORD},
          "reset": {"token": "x" * 43, "password": PASSWORD},
          "password": {"old": PASSWORD, "password": PASSWORD}, "workspace_make": {"name": "another"},
          "member_put": {"role": "viewer"}, "invite": {"role": "viewer"},
          "key_make": {"name": "another", "scopes": "read"}, "share_make": {"expires": FAR},
          "bookmark_make": {"start": 5, "note": "another"}, "bookmark_put": {"note": "changed"},
          "sql": {"sql": "SELECT count(*) FROM history"},
          "label_put": {"value": "yes"}, "alert_make": {"name": "another", "kind": "metric", "subject": "host.cpu", "threshold": 1},
          "named_config_put": {"options": "{}", "base": 0}, "host_config_put": {"config": "config-of-alphaville"}, "capture_make": {"session": "{session}", "engine": "Trace", "duration": 1000000000},
          "agent_hello": {"host": "nowhere", "version": "1", "control": False}, "agent_take": {"host": "nowhere"},
          "agent_result": {"host": "nowhere", "state": "open"},
          "alert_put": {"name": "mine", "kind": "metric", "subject": "host.cpu", "threshold": 9000, "url": HOOK},
          "retention_put": {"sessions": 0, "bytes": 0, "metrics": 0},
          "quota_put": {"of": "workspace", "id": "betatown", "limits": "bodies=1000000"}}
# A route of a session that does not say whether there is one: a sender asks before the first byte.
EMPTY_FOR_STRANGERS = {"session_positions": {"channels": []}}
# Routes whose sessions are in the query.
BY_QUERY = {"compare", "compare_flame"}
# Configurations have names that each workspace chooses: both workspaces may choose one name.
NAMED = {"named_config", "named_config_put", "named_config_delete", "named_config_versions"}
# What these routes need (an agent that is connected, a running session) is in test_agent_control.py, and so is who may.
ON_DEMAND = {"agent_hello", "agent_take", "agent_result", "agent_delete", "capture_make"}
# Routes that are not asked with the others: they use up what they take, or end the login that asks.
ONCE = {"setup", "accept", "reset", "open", "login", "logout", "password"}


class Route:
    def __init__(self, method, path, about):
        self.method, self.path, self.id, self.rights = method.upper(), path, about["operationId"], about["x-rights"]
        self.params = about.get("parameters", [])
        self.body = "requestBody" in about
        self.in_path = [p["name"] for p in self.params if p["in"] == "path"]
        self.may = MAY[self.rights] - (set(ROLES) if path.startswith("/api/v1/agent/") else set())  # agents have keys

    def value(self, name, said):
        for place in (said, VALUES):
            for known in (f"{self.id}.{name}", name):
                if known in place:
                    return str(place[known]).replace("{session}", said.get("session", ""))
        raise AssertionError(f"route {self.id} has a parameter '{name}': say in VALUES what it is")

    def request(self, said):
        """Method, target, body, headers, with what is needed and nothing else."""
        path, query, headers = self.path, {}, {}
        for p in self.params:
            if p["in"] == "path":
                path = path.replace("{" + p["name"] + "}", self.value(p["name"], said))
            elif p["in"] == "query" and (p.get("required") or p["name"] in said or f"{self.id}.{p['name']}" in said):
                query[p["name"]] = self.value(p["name"], said)
            elif p["in"] == "header" and p.get("required"):
                headers[p["name"]] = said["session"]
        body = None
        if self.id == "events_stream":
            body = b'{"type":"header","format":1,"session":"%s","channel":"device","part":1,"offset":0,"app":"eve"}\n' \
                   % said["session"].encode()
        elif self.body:
            if self.id not in BODIES:
                raise AssertionError(f"route {self.id} takes a body: say in BODIES which")
            body = {k: v.replace("{email}", said["email"]).replace("{session}", said.get("session", "")) if isinstance(v, str) else v
                    for k, v in BODIES[self.id].items()}
        return self.method, path + ("?" + urllib.parse.urlencode(query) if query else ""), body, headers


def routes():
    text = subprocess.run([SERVER, "openapi"], check=True, capture_output=True).stdout
    return [Route(method, path, about) for path, methods in json.loads(text)["paths"].items()
            for method, about in methods.items() if "operationId" in about]


class Workspace:
    """One of the two workspaces: its members and its objects."""

    def __init__(self, name):
        self.name, self.id, self.actors, self.users = name, "", {}, {}
        self.config, self.mark = f"config-of-{name}", f"ONLY-{name.upper()}"

    def said(self, **more):
        return {"id": self.id, "host": self.host, "gpu": self.gpu, "session": self.session, "user": self.users["viewer"], "key": self.key_id, "share": self.share_id, "bookmark": self.bookmark_id, "alert": self.alert_id, "agent_result.capture": 1, "usage.by": "gpu",
                **{f"{route}.config": self.config for route in NAMED}, "email": f"viewer@{self.name}.example.org", "of": self.session, **more}


class Tenants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-tenants-"))
        cls.server = live_server.Server(SERVER, cls.dir / "server", "--webhooks-allow", "192.168.255.254:9")
        cls.routes = {r.id: r for r in routes()}
        cls.worked = collections.Counter()
        cls.ours, cls.theirs = Workspace("alphaville"), Workspace("betatown")
        founder = live_server.set_up(cls.server, "founder@alphaville.example.org", "alphaville")
        cls.worked["setup"] += 1
        cls.ours.id = cls.server.ask("GET", "/api/v1/auth/me", headers=founder).json()["workspace"]
        cls.founder = founder
        cls.found_second(founder)
        for w in (cls.ours, cls.theirs):
            cls.fill(w, founder)
        # The founder was a member of both; from here on nobody is.
        me = cls.server.ask("GET", "/api/v1/auth/me", headers=founder).json()["id"]
        gone = cls.server.ask("DELETE", f"/api/v1/members/{me}", None, cls.theirs.actors["owner"])
        assert gone.status == 204, gone
        cls.send_sessions()

    @classmethod
    def tearDownClass(cls):
        cls.server.end(cls.dir)

    @classmethod
    def found_second(cls, founder):
        """A second workspace, by the server's administrator, who owns it."""
        made = cls.server.ask("POST", "/api/v1/workspaces", {"name": "betatown"}, founder)
        assert made.status == 200, made
        cls.worked["workspace_make"] += 1
        cls.theirs.id = made.json()["id"]

    @classmethod
    def join(cls, w, owner, role, email):
        """Somebody new comes in by invitation: headers, and id."""
        query = f"?workspace={w.id}"
        token = cls.server.ask("POST", "/api/v1/invitations" + query, {"role": role}, owner).json()["token"]
        headers = entry(cls.server.ask("POST", "/api/v1/auth/accept", {
            "token": token, "email": email, "name": f"{role} of {w.name}", "password": PASSWORD}))
        cls.worked["accept"] += 1
        return headers, cls.server.ask("GET", "/api/v1/auth/me", headers=headers).json()["id"]

    @classmethod
    def fill(cls, w, founder):
        query = f"?workspace={w.id}"
        for role in ROLES:
            w.actors[role], w.users[role] = cls.join(w, founder, role, f"{role}@{w.name}.example.org")
        w.secrets = {scope: key(cls.server, founder, scope, query) for scope in SCOPES}
        w.actors.update({scope: bearer(secret) for scope, secret in w.secrets.items()})
        rule = {"name": f"rule of {w.name}", "kind": "metric", "subject": "host.cpu", "threshold": 9000, "url": HOOK}
        w.alert_id = cls.server.ask("POST", "/api/v1/alerts", rule, w.actors["member"]).json()["id"]
        options = json.dumps({"app_name": w.mark})
        made = cls.server.ask("PUT", f"/api/v1/configs/{w.config}", {"options": options, "base": 0}, w.actors["member"])
        assert made.status in (200, 204), made
        w.key_id = cls.server.ask("GET", "/api/v1/keys", headers=w.actors["owner"]).json()["rows"][0]["id"]

    @classmethod
    def send_sessions(cls):
        shared = None
        for w in (cls.ours, cls.theirs):
            logs = cls.dir / w.name
            logs.mkdir()
            w.session = simulate(GPUFL, logs, 300, f"app-of-{w.name}", "--sample", "1").name
            cls.move(w, logs / w.session)
            w.second = simulate(GPUFL, logs, 200, f"second-of-{w.name}").name
            if shared is None:
                shared = simulate(GPUFL, logs, 100, f"twin-of-{w.name}")
            else:  # the same id, another program
                twin = logs / shared.name
                shutil.copytree(shared, twin)
                for part in twin.glob("*.log"):
                    part.write_text(part.read_text().replace("twin-of-alphaville", f"twin-of-{w.name}"))
            w.twin = shared.name
            upload(GPUFL, cls.server, w.secrets["ingest"], logs)
            for session in (w.session, w.second, w.twin):
                cls.server.until(lambda s=session, w=w: cls.loaded(w, s), f"loading {session}")
            cls.server.until(lambda w=w: cls.server.ask("GET", f"/api/v1/gpus/{w.gpu}",
                                                        headers=w.actors["read"]).status == 200)
            share = cls.server.ask("POST", f"/api/v1/sessions/{w.session}/shares", {"expires": FAR}, w.actors["member"])
            assert share.status == 200, share
            w.bookmark_id = cls.server.ask("POST", f"/api/v1/sessions/{w.session}/bookmarks", {"start": 7, "note": f"of-{w.name}"},
                                           w.actors["member"]).json()["id"]
            w.share_id, w.actors["share"] = share.json()["id"], bearer(share.json()["token"])

    @staticmethod
    def move(w, session):
        """Gives the session a host and GPUs of w's own: both workspaces' sessions are simulated on this machine."""
        w.host, w.gpu = f"host-of-{w.name}", f"GPU-{w.name}-0"
        for part in session.glob("*.log"):
            text = re.sub(r'"host":"[^"]*"', f'"host":"{w.host}"', part.read_text())
            part.write_text(re.sub(r"GPU-[0-9a-f-]+([0-9a-f])", f"GPU-{w.name}-\\1", text))

    @classmethod
    def loaded(cls, w, session):
        paths = [f"/api/v1/sessions/{session}"]
        if "report" in cls.routes:
            paths += [f"/api/v1/sessions/{session}/report", f"/api/v1/sessions/{session}/flame"]
        answers = [cls.server.ask("GET", p, headers=w.actors["read"]) for p in paths]
        return all(a.status == 200 for a in answers) and answers[0].json()["state"] == "ended"

    def ask(self, route, said, headers, **query):
        method, target, body, own = route.request(said)
        if query:
            target += ("&" if "?" in target else "?") + urllib.parse.urlencode(query)
        answer = self.server.ask(method, target, body, {**own, **headers}, endless=route.id in ("live", "agent_stream"))
        self.assertLess(answer.status, 500, f"{method} {target}: {answer}")
        if 200 <= answer.status < 300:
            self.worked[route.id] += 1
        elif method != "HEAD" and answer.status >= 400:
            self.assertEqual(answer.headers["Content-Type"], "application/problem+json", f"{target} {answer}")
        return answer

    def walked(self):
        return [r for r in self.routes.values() if r.id not in ONCE and r.rights != "PUBLIC"]

    def assert_nothing_of(self, w, answer, asked):
        marks = [w.name.encode(), w.mark.encode(), w.host.encode(), w.gpu.encode(), w.alert_id.encode(), w.session.encode(), w.second.encode(), w.share_id.encode(), w.key_id.encode(),
                 *(u.encode() for u in w.users.values()), *(s.encode() for s in w.secrets.values())]
        for mark in marks:
            if mark not in asked.encode():
                self.assertNotIn(mark, answer.body, asked)

    def state(self, w):
        """Returns what w's owner sees in w, without what changes by use alone."""
        found = {}
        for path in ("sessions", "members", "shares", "alerts", "firings", "deliveries", "retention", "hosts", "configs", f"sessions/{w.session}", f"sessions/{w.session}/bookmarks",
                     f"sessions/{w.session}/positions", f"sessions/{w.session}/counts", "keys"):
            got = self.server.ask("GET", "/api/v1/" + path, headers=w.actors["owner"]).json()
            if path == "keys":
                got = [(k["id"], k["revoked"]) for k in got["rows"]]
            found[path] = got
        return found

    # ---- tests, in the order of their names ---------------------------------------------------

    def test_1_every_route_works_for_its_own(self):
        """Each route answers its own workspace. What is refused below is therefore refused because of who asks."""
        kernel = self.server.ask("GET", f"/api/v1/sessions/{self.ours.session}/kernels",
                                 headers=self.ours.actors["read"]).json()
        lane = self.server.ask("GET", f"/api/v1/sessions/{self.ours.session}/lanes",
                               headers=self.ours.actors["read"]).json()
        self.assertIn("rows", str(kernel.keys()) + str(lane.keys()))
        for route in self.walked():
            if route.method != "GET":
                continue
            for actor in sorted(route.may):
                with self.subTest(route=route.id, actor=actor):
                    answer = self.ask(route, self.ours.said(), self.ours.actors[actor])
                    self.assertEqual(answer.status, 200, answer)
                    self.assert_nothing_of(self.theirs, answer, route.path)

    def test_1_routes_of_the_administrator(self):
        """Routes of the server, not of a workspace, are for its administrator alone, whatever role others have."""
        for name in ("workspaces", "users"):
            self.assertEqual(self.ask(self.routes[name], {}, self.founder).status, 200)
        spare = self.server.ask("POST", "/api/v1/workspaces", {"name": "spare"}, self.founder).json()["id"]
        self.assertEqual(self.ask(self.routes["workspace_delete"], {"id": spare}, self.founder).status, 204)
        self.assertEqual(self.ask(self.routes["workspace_delete"], {"id": spare}, self.founder).status, 404)
        self.assertEqual(self.ask(self.routes["backup"], {}, self.founder).status, 200)
        self.assertEqual(self.ask(self.routes["quota_put"], {"email": ""}, self.founder).status, 204)

    def test_2_nobody_and_what_was_never_given(self):
        strangers = {"nobody": {}, "key": bearer("gpfl_" + "A" * 32), "link": bearer("gpfs_" + "A" * 32),
                     "basic": {"Authorization": "Basic YTpi"}, "empty": {"Authorization": "Bearer "},
                     "cookie": {"Cookie": self.ours.actors["owner"]["Cookie"].split("=")[0] + "=" + "A" * 43},
                     "hash": bearer(hashlib.sha256(self.ours.secrets["admin"].encode()).hexdigest()),
                     "cut": bearer(self.ours.secrets["admin"][:-1]), "more": bearer(self.ours.secrets["admin"] + "A")}
        for route in self.walked():
            for name, headers in strangers.items():
                with self.subTest(route=route.id, actor=name):
                    answer = self.ask(route, self.ours.said(), headers)
                    self.assertEqual(answer.status, 401, answer)
                    self.assert_nothing_of(self.ours, answer, route.path)

    def test_3_roles_and_scopes_that_do_not_suffice(self):
        for route in self.walked():
            for actor, headers in self.ours.actors.items():
                if actor == "share" or actor in route.may:
                    continue
                with self.subTest(route=route.id, actor=actor):
                    self.assertEqual(self.ask(route, self.ours.said(), headers).status, 403)

    def test_4_links_show_their_session_only(self):
        for route in self.walked():
            of_session = "session" in route.in_path and route.rights == "READ"
            for session in (self.ours.session, self.ours.second, self.theirs.session):
                with self.subTest(route=route.id, session=session):
                    answer = self.ask(route, self.ours.said(session=session), self.ours.actors["share"])
                    want = 403 if not of_session else 200 if session == self.ours.session else 404
                    self.assertEqual(answer.status, want, answer)

    def test_5_cookies_without_their_token_change_nothing(self):
        for route in self.walked():
            if route.method == "GET":
                continue
            for token in (None, "", self.theirs.actors["owner"]["X-CSRF-Token"]):
                headers = {"Cookie": self.ours.actors["owner"]["Cookie"]}
                if token is not None:
                    headers["X-CSRF-Token"] = token
                with self.subTest(route=route.id, token=token):
                    self.assertEqual(self.ask(route, self.ours.said(), headers).status, 403)

    def test_6_the_other_tenant(self):
        before = self.state(self.ours)
        for route in self.walked():
            if route.id == "events_stream" or route.id == "session_complete":
                continue  # a sender chooses these ids: see the next test
            for actor, headers in self.theirs.actors.items():
                with self.subTest(route=route.id, actor=actor):
                    said = self.ours.said()
                    answer = self.ask(route, said, headers)
                    may = actor in route.may
                    foreign = route.id == "capture_make" or (set(route.in_path) & {"session", "user", "key", "share", "bookmark", "host", "gpu", "alert"}
                               or route.id in BY_QUERY)
                    if actor == "share":
                        self.assertIn(answer.status, (403, 404))
                    elif may and route.id in EMPTY_FOR_STRANGERS:
                        self.assertEqual((answer.status, answer.json()), (200, EMPTY_FOR_STRANGERS[route.id]))
                    elif not may:
                        self.assertEqual(answer.status, 403, answer)
                    elif route.id in NAMED:
                        self.assertIn(answer.status, (200, 204, 404, 409), answer)
                    elif route.id in ("agent_take", "agent_result"):
                        self.assertIn(answer.status, (404, 409), answer)
                    elif foreign:
                        self.assertEqual(answer.status, 404, answer)
                    else:
                        self.assertIn(answer.status, (200, 204), answer)
                    self.assert_nothing_of(self.ours, answer, route.path + str(said))
                with self.subTest(route=route.id, actor=actor, workspace="named"):
                    answer = self.ask(route, said, headers, workspace=self.ours.id)
                    self.assertEqual(answer.status, 404, answer)
                    self.assert_nothing_of(self.ours, answer, route.path + str(said))
        self.assertEqual(self.state(self.ours), before)

    def test_7_the_same_id_in_both_is_two_sessions(self):
        for w, other in ((self.ours, self.theirs), (self.theirs, self.ours)):
            answer = self.server.ask("GET", f"/api/v1/sessions/{w.twin}", headers=w.actors["read"])
            self.assertEqual(answer.json()["app"], f"twin-of-{w.name}")
            self.assert_nothing_of(other, answer, "")
        before = self.state(self.ours)
        for path in ("stream", "session-complete"):
            head = {"X-GpuFlight-Session-Id": self.ours.session, "X-GpuFlight-Channel": "device"}
            line = b'{"type":"header","format":1,"session":"%s","channel":"device","part":1,"offset":0}\n' \
                % self.ours.session.encode()
            answer = self.server.ask("POST", "/api/v1/events/" + path, line if path == "stream" else None,
                                     {**head, **self.theirs.actors["ingest"]})
            self.assertEqual(answer.status, 200, answer)
            self.worked["events_stream" if path == "stream" else "session_complete"] += 1
        self.server.until(lambda: self.server.ask("GET", f"/api/v1/sessions/{self.ours.session}",
                                                  headers=self.theirs.actors["read"]).status == 200)
        gone = self.server.ask("DELETE", f"/api/v1/sessions/{self.ours.session}", headers=self.theirs.actors["owner"])
        self.assertEqual(gone.status, 204)
        self.assertEqual(self.state(self.ours), before)
        gone = self.server.ask("DELETE", f"/api/v1/sessions/{self.theirs.twin}", headers=self.theirs.actors["owner"])
        self.assertEqual(gone.status, 204)
        report = self.server.ask("GET", f"/api/v1/sessions/{self.ours.twin}/kernels",
                                 headers=self.ours.actors["read"])
        self.assertEqual(report.status, 200, report)

    def test_8_what_changes_something_works_for_its_own(self):
        """This test runs last but one, since it deletes what the other tests ask about."""
        ours, server = self.ours, self.server
        for actor in ("member", "admin", "owner"):
            said = ours.said(share=server.ask("POST", f"/api/v1/sessions/{ours.session}/shares", {"expires": FAR},
                                              ours.actors[actor]).json()["id"])
            self.assertEqual(self.ask(self.routes["share_revoke"], said, ours.actors[actor]).status, 204)
        for actor in ("member", "admin", "owner"):
            said = ours.said(bookmark=server.ask("POST", f"/api/v1/sessions/{ours.session}/bookmarks", {"start": 1, "note": "x"},
                                                 ours.actors[actor]).json()["id"])
            self.assertEqual(self.ask(self.routes["bookmark_delete"], said, ours.actors[actor]).status, 204)
        for actor in ("admin", "owner"):
            said = ours.said(key=server.ask("POST", "/api/v1/keys", {"name": "x", "scopes": "read"},
                                            ours.actors[actor]).json()["id"])
            self.assertEqual(self.ask(self.routes["key_revoke"], said, ours.actors[actor]).status, 204)
        for actor in ("member", "admin", "owner"):
            said = ours.said(**{f"{route}.config": f"made-by-{actor}" for route in NAMED})
            self.assertIn(self.ask(self.routes["named_config_put"], said, ours.actors[actor]).status, (200, 204))
            self.assertEqual(self.ask(self.routes["named_config_delete"], said, ours.actors[actor]).status, 204)
        for actor in ("member", "admin", "owner"):
            for route in ("host_config_put", "host_config_delete"):
                self.assertIn(self.ask(self.routes[route], ours.said(), ours.actors[actor]).status, (200, 204), route)
        ended = {*ON_DEMAND, "host_config_delete", "named_config_put", "named_config_delete", "share_revoke", "bookmark_delete", "key_revoke", "session_delete", "label_delete", "host_delete", "alert_delete", "member_delete", "events_stream", "session_complete"}
        for route in self.walked():
            if route.method == "GET" or route.id in ended:
                continue
            for actor in sorted(route.may):
                with self.subTest(route=route.id, actor=actor):
                    self.assertIn(self.ask(route, ours.said(), ours.actors[actor]).status, (200, 204))
        for path, said in (("label_delete", ours.said()), ("session_delete", ours.said(session=ours.twin)), ("host_delete", ours.said()), ("alert_delete", ours.said()), ("member_delete", ours.said())):
            self.assertEqual(self.ask(self.routes[path], said, ours.actors["owner"]).status, 204)
        answer = server.ask("GET", "/api/v1/sessions", headers=ours.actors["viewer"])
        self.assertIn(answer.status, (401, 403), answer)  # they are not members any more
        for actor in ("share_revoke", "key_revoke"):
            row, kind = (ours.share_id, "share") if actor == "share_revoke" else (ours.key_id, "admin")
            said = ours.said(**{actor.split("_")[0]: row})
            self.assertEqual(self.ask(self.routes[actor], said, ours.actors["owner"]).status, 204)
            answer = server.ask("GET", f"/api/v1/sessions/{ours.session}", headers=ours.actors[kind])
            self.assertEqual(answer.status, 401, f"{kind} {answer}")

    def test_8_public_routes(self):
        server, ours = self.server, self.ours
        for route in self.routes.values():
            if route.rights == "PUBLIC" and route.method == "GET" and route.id != "open":
                answer = self.ask(route, ours.said(), ours.actors["member"])
                self.assertEqual(answer.status, 200, answer)
                answer = self.ask(route, ours.said(), {})
                self.assertEqual(answer.status, 401 if route.id == "me" else 200)
                self.assert_nothing_of(ours, answer, route.path)
        said = ours.said(email=f"member@{ours.name}.example.org")
        for name in ("setup", "accept", "reset"):  # tokens that were never given
            self.assertIn(self.ask(self.routes[name], said, {}).status, (401, 403, 404, 409))
        wrong = server.ask("POST", "/api/v1/auth/login", {"email": said["email"], "password": PASSWORD + "!"})
        self.assertEqual(wrong.status, 401)
        login = self.ask(self.routes["login"], said, {})
        headers = entry(login)
        answer = self.ask(self.routes["password"], said, headers)
        self.assertEqual(answer.status, 204, answer)
        self.assertEqual(server.ask("GET", "/api/v1/sessions", headers=ours.actors["member"]).status, 401)
        self.assertEqual(self.ask(self.routes["logout"], said, headers).status, 204)
        self.assertEqual(server.ask("GET", "/api/v1/sessions", headers=headers).status, 401)
        # A forgotten password: the administrator makes a link.
        made = self.ask(self.routes["user_reset"], {"user": ours.users["member"]}, self.founder)
        self.assertEqual(made.status, 200, made)
        token = made.json()["token"]
        again = server.ask("POST", "/api/v1/auth/reset", {"token": token, "password": PASSWORD})
        self.assertEqual(again.status, 200, again)
        self.worked["reset"] += 1
        self.assertEqual(server.ask("POST", "/api/v1/auth/reset", {"token": token, "password": PASSWORD}).status, 401)
        ours.actors["member"] = entry(again)
        here = server.ask("GET", "/api/v1/auth/open?token=" + "A" * 43)
        self.assertEqual(here.status, 404)

    def test_8_local_mode(self):
        local = live_server.Server(SERVER, self.dir / "local", "--local")
        token = local.first_link()
        try:
            self.assertEqual(local.ask("GET", "/api/v1/auth/open?token=" + "A" * 43).status, 401)
            answer = local.ask("GET", "/api/v1/auth/open?token=" + token)
            self.assertEqual(answer.status, 303, answer)
            self.worked["open"] += 1
            self.assertEqual(local.ask("GET", "/api/v1/auth/open?token=" + token).status, 401)
            for route in self.walked():
                answer = local.ask(*route.request(self.ours.said()))
                self.assertEqual(answer.status, 401, route.id)
        finally:
            self.assertEqual(local.stop(), 0)

    def test_9_no_route_was_left_out(self):
        self.assertEqual([r for r in self.routes if not self.worked[r] and r not in ON_DEMAND], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
