#!/usr/bin/env python3
"""The result of `cmake --install` runs from any folder, and programs can be built with it.

    test_install.py CMAKE BUILD SOURCE
It is installed to one prefix and moved to another; after that only the fake GPU of the build is used.
"""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

CMAKE, BUILD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
# A shell's background jobs, and their children, ignore SIGINT; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
PATIENCE = 120

PROGRAM = """
#include <gpufl/gpufl.h>
#include <stdio.h>
int main(void)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "installed";
    o.log_path = "logs";
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    if (gpufl_init(&o))
        return 1;
    gpufl_scope_end(gpufl_scope_begin("phase", ""));
    gpufl_shutdown();
    struct gpufl_upload_result result = {.size = sizeof result};
    struct gpufl_upload_options upload = {
        .size = sizeof upload, .backend_url = "http://127.0.0.1:1", .timeout_ms = 500, .result = &result};
    int sent = gpufl_upload_logs(&upload); /* runs the installed gpufl, and finds nobody */
    printf("version %s, upload %d: %s\\n", gpufl_version(), sent, result.message);
    return gpufl_generate_report(NULL);
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(gpufl 0.1 REQUIRED)
add_executable(in_c program.c)
target_link_libraries(in_c PRIVATE gpufl::gpufl)
add_executable(in_cpp program.cpp)
set_target_properties(in_cpp PROPERTIES CXX_STANDARD 17)
target_link_libraries(in_cpp PRIVATE gpufl::gpufl gpufl::analysis)
"""

PROGRAM_CPP = """
#include <gpufl/gpufl.hpp>
#include <gpufl/analysis.h>
int main()
{
    gpufl_report_options o;
    gpufl_report_options_init(&o, sizeof o);
    gpufl::InitOptions opts;
    opts.enabled = false;
    gpufl::init(opts);
    return gpufl_version()[0] == '0' ? 0 : 1;
}
"""


def run(*command, code=0, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          **more)
    if done.returncode != code:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-install-"))
        run(CMAKE, "--install", BUILD, "--prefix", cls.top / "first")
        cls.prefix = cls.top / "moved" / "here"
        cls.prefix.parent.mkdir()
        (cls.top / "first").rename(cls.prefix)
        cls.bin = cls.prefix / "bin"
        cls.lib = next(cls.prefix.glob("**/libgpufl.so")).parent
        cls.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(cls.top), "TMPDIR": str(cls.top),
                   "GPUFL_LOG_MIN_FREE_BYTES": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        fake = {"LD_LIBRARY_PATH": str(BUILD / "fake"), "GPUFL_CUPTI_PATH": str(BUILD / "fake")}
        cls.traced = run(cls.bin / "gpufl", "trace", "-o", cls.top / "run1", "--", BUILD / "fake" / "fake_program", "300",
                         env={**cls.env, **fake}, cwd=cls.top)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def gpufl(self, *arguments, code=0):
        return run(self.bin / "gpufl", *arguments, code=code, env=self.env, cwd=self.top)

    def test_nothing_points_into_the_build(self):
        for path in [*self.bin.iterdir(), *self.lib.glob("libgpufl*.so")]:
            dynamic = run("readelf", "-d", path).stdout
            for line in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic):
                self.assertTrue(line.startswith("$ORIGIN"), f"{path}: {line}")
        for path in [*self.lib.glob("cmake/gpufl/*"), *self.lib.glob("pkgconfig/*")]:
            text = path.read_text()
            for folder in (BUILD, SOURCE, self.top / "first"):
                self.assertNotIn(str(folder), text, path)

    def test_it_traces_and_reports(self):
        self.assertIn("gpufl: 1 session in ", self.traced.stderr)
        self.assertRegex(self.traced.stderr, r"next: gpufl view \S+   or: gpufl report \S+ --full")
        self.assertRegex(self.gpufl("info").stdout, rf"library +{re.escape(str(self.lib))}/libgpufl\.so")
        report = json.loads(self.gpufl("report", "--json", self.top / "run1").stdout)
        self.assertGreaterEqual(report["kernels"]["count"], 300)

    def asked(self, url):
        """The status and body of a page."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def served(self, command, pattern):
        """Runs a command until a line matches: what the pattern finds. Then ends the command."""
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=self.env, cwd=self.top)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        text = ""
        for line in process.stdout:
            text += line
            found = re.search(pattern, text)
            if found:
                return process, found
        self.fail(f"{command}: {process.wait(PATIENCE)}\n{text}")

    def test_the_server_starts(self):
        process, found = self.served([self.bin / "gpufl-server", "--data", self.top / "data", "--listen", "127.0.0.1:0"],
                                     r"listening on (\S+)")
        self.assertEqual(self.asked(found[1] + "/healthz")[0], 200)
        status, page = self.asked(found[1] + "/")
        self.assertEqual(status, 200)
        self.assertIn("<html", page)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_it_is_viewed(self):
        process, found = self.served([self.bin / "gpufl", "view", "--no-browser", "--cache", self.top / "cache", self.top / "run1"],
                                     r"(http://127\.0\.0\.1:\d+)")
        self.assertEqual(self.asked(found[1] + "/healthz")[0], 200)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 0)

    def check_program(self, program, **env):
        done = run(program, env={**self.env, **env}, cwd=self.top)
        self.assertIn("version 0.", done.stdout)
        self.assertRegex(done.stdout, r"upload -\d+: \S")
        self.assertNotIn("cannot run", done.stdout)
        # The report. How much the simulated GPU's thread does in a program that ends at once does not matter here.
        self.assertRegex(done.stdout, r"\n  program +installed, [\d.]+ \w+ on GPU 0 ")

    def test_a_program_by_pkg_config(self):
        source, program = self.top / "program.c", self.top / "by_pkg_config"
        source.write_text(PROGRAM)
        flags = run("pkg-config", "--cflags", "--libs", "gpufl",
                    env={**self.env, "PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}).stdout.split()
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags)
        self.check_program(program, LD_LIBRARY_PATH=str(self.lib))

    def test_a_program_by_cmake(self):
        folder = self.top / "user"
        folder.mkdir()
        for name, text in (("CMakeLists.txt", PROJECT), ("program.c", PROGRAM), ("program.cpp", PROGRAM_CPP)):
            (folder / name).write_text(text)
        run(CMAKE, "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run(CMAKE, "--build", folder / "build")
        self.check_program(folder / "build" / "in_c")
        run(folder / "build" / "in_cpp", env=self.env, cwd=self.top)

    def test_pages_and_completion(self):
        pages = {path.name for path in (self.prefix / "share/man/man1").iterdir()}
        self.assertEqual(pages, {path.name for path in (SOURCE / "docs/man").glob("*.1")})
        self.assertTrue((self.prefix / "share/bash-completion/completions/gpufl").exists())

    def test_the_monitor_answers(self):
        printed = run(self.bin / "gpufl-monitor", "--check", "--listen", "0", "--log-path", self.top / "watched", "--run-dir",
                      self.top / "watching", env={**self.env, "LD_LIBRARY_PATH": str(BUILD / "fake")}).stdout
        self.assertIn("and answer at http://127.0.0.1:", printed)

    def test_what_is_installed_is_what_product_builds(self):
        if not (BUILD / "build.ninja").exists():
            self.skipTest("not built with ninja")
        targets = {"gpufl": "gpufl-main", "gpufl-agent": "gpufl-agent-main", "gpufl-monitor": "gpufl-monitor-main",
                   "gpufl-server": "gpufl-server-main",
                   "libgpufl.so": "gpufl", "libgpufl-analysis.so": "gpufl-analysis-lib",
                   "libgpufl-rocprofiler.so": "gpufl-rocprofiler"}
        inputs = run("ninja", "-C", BUILD, "-t", "inputs", "product").stdout
        for path in [*self.bin.iterdir(), *self.lib.glob("libgpufl*.so")]:
            self.assertIn(f"/{targets[path.name]}.dir/", inputs.replace("gpufl-capture.dir", "gpufl.dir"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
