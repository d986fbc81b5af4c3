#!/usr/bin/env python3
"""`scripts/demo` in a fresh copy of the sources: what it names as the next commands works.

    test_demo.py SOURCE
The copy has no build folder, so that the script alone decides what is built; what npm has fetched already is copied.
"""
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

SOURCE = pathlib.Path(sys.argv[1])
BUILT_S, PATIENCE = 3000, 120  # the whole product on a busy machine; one command
# A shell's background jobs, and their children, ignore SIGINT; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)


def left_out(folder, names):
    """Builds, history and results of other runs; shutil.copytree asks for each folder."""
    top = pathlib.Path(folder) == SOURCE
    return {name for name in names
            if name == "__pycache__" or name == ".lock" or (top and (name.startswith("build") or name in (".git", ".cache")))}


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-demo-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.tree = cls.dir / "tree"
        shutil.copytree(SOURCE, cls.tree, symlinks=True, ignore=left_out)
        for name in ("tmp", "home", "bin"):
            (cls.dir / name).mkdir()
        (cls.dir / "bin" / "python").symlink_to(sys.executable)
        cls.env = {"PATH": f"{cls.dir}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HOME": str(cls.dir / "home"),
                   "TMPDIR": str(cls.dir / "tmp"), "GPUFL_LOG_MIN_FREE_BYTES": "0"}
        done = subprocess.run(["scripts/demo"], cwd=cls.tree, env=cls.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=BUILT_S, check=False)
        cls.said = done.stdout
        if done.returncode:
            raise AssertionError(f"scripts/demo ended with {done.returncode}\n{cls.said}")

    def next_command(self, name):
        """The words of the command that the script names at its end."""
        ends = self.said[self.said.index("The recordings stay in "):]
        found = re.findall(rf"build/bin/gpufl {name}\b[^\n]*?(?= says what|$)", ends, re.M)
        self.assertEqual(len(found), 1, ends)
        return found[0].split()

    def run_it(self, words):
        return subprocess.run(words, cwd=self.tree, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_what_it_shows(self):
        self.assertNotIn("could not be built", self.said)
        self.assertIn("Where the time went", self.said)

    def test_info(self):
        done = self.run_it(self.next_command("info"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ +library +\S+/build/")

    def test_trace_of_the_users_program(self):
        (self.tree / "train.py").write_text("print('trained')\nraise SystemExit(7)\n")
        done = self.run_it(self.next_command("trace"))
        self.assertEqual((done.returncode, done.stdout), (7, "trained\n"), done.stderr)
        self.assertIn("gpufl: ", done.stderr)

    def until_listed(self, opener, url, wanted):
        """Asks as the page does: a session is listed as soon as it is loaded."""
        end = time.monotonic() + PATIENCE
        while True:
            with opener.open(url, timeout=PATIENCE) as answer:
                listed = {row["id"] for row in json.load(answer)["rows"]}
            if listed == wanted:
                return
            self.assertLess(time.monotonic(), end, f"{listed} is not {wanted}")
            time.sleep(0.05)

    def test_view(self):
        """The page's server answers with the sessions that the script recorded."""
        words = self.next_command("view")
        recorded = {path.parent.name for path in pathlib.Path(words[-1]).glob("*/*/system*.log*")}
        self.assertTrue(recorded, self.said)
        view = subprocess.Popen([*words[:2], "--no-browser", "--port", "0", *words[2:]], cwd=self.tree, env=self.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            link = view.stdout.readline().strip()
            self.assertRegex(link, r"^http://127\.0\.0\.1:\d+/")
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
            with opener.open(link, timeout=PATIENCE) as page:
                self.assertIn("<html", page.read().decode())
            self.until_listed(opener, "/".join(link.split("/")[:3]) + "/api/v1/sessions", recorded)
        finally:
            view.send_signal(signal.SIGINT)
            said = view.communicate(timeout=PATIENCE)[1]
        self.assertEqual(view.returncode, 0, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
