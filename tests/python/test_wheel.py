#!/usr/bin/env python3
"""The wheel of scripts/package, installed into empty environments and used from there.

    test_wheel.py SOURCE BUILD [all]

For the oldest and the newest CPython from 3.9 on that this machine has (PATH, and pyenv's), or for all of them: a venv,
`pip install --no-index`, then a session of the simulated GPU, its report, and the native gpufl; in the newest also the
server's wheel and `gpufl view`. The files of a wheel must not need a newer glibc than that of Ubuntu 22.04, nor a
library that is neither the system's nor in the wheel. Exit 77: no interpreter can make a venv.
"""
import http.cookiejar
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile

PATIENCE = 60  # s, the longest wait for what takes moments
NEWEST = (2, 35)  # Ubuntu 22.04
NEWEST_CXX = (3, 4, 30)
SYSTEM = {"libc.so.6", "libm.so.6", "libz.so.1", "libdl.so.2", "libpthread.so.0", "libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

# This program runs in the environment, in an empty folder.
PROGRAM = """
import pathlib, subprocess, sys
import gpufl
from gpufl.analyzer import GpuFlightSession
from gpufl.report import generate_report

assert "site-packages" in gpufl.__file__, gpufl.__file__
assert gpufl.init(app_name="wheel", log_path="logs", backend=gpufl.BackendKind.Sim,
                  profiling_engine=gpufl.ProfilingEngine.Trace)
for _ in gpufl.Scope("loop", repeat=3):
    pass
gpufl.shutdown()
session = GpuFlightSession("logs")
assert session.app_name == "wheel" and session.session_end_ns
assert "wheel" in generate_report("logs")
bin = pathlib.Path(sys.executable).parent
for command in ([bin / "gpufl"], [sys.executable, "-m", "gpufl"]):
    text = subprocess.run([*command, "report", "logs"], check=True, capture_output=True, text=True).stdout
    assert "wheel" in text, text
done = subprocess.run([bin / "gpufl", "trace", "-o", "traced", "--", sys.executable, "-c", "import gpufl"],
                      capture_output=True, text=True)
assert done.returncode == 0 and "libgpufl.so is neither" not in done.stderr, done.stderr
"""


def interpreters():
    """Paths of CPython from 3.9 on, one of each version."""
    folders = os.environ["PATH"].split(os.pathsep) + sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/*/bin")))
    found = {}
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("python3*")):
            if not re.fullmatch(r"python3(\.\d+)?", path.name) or "shims" in folder:
                continue
            done = subprocess.run([path, "-c", "import sys, ensurepip; print(sys.implementation.name, *sys.version_info[:2])"],
                                  capture_output=True, text=True, check=False)
            words = done.stdout.split()
            if done.returncode == 0 and words[0] == "cpython" and (int(words[1]), int(words[2])) >= (3, 9):
                found.setdefault((int(words[1]), int(words[2])), path)
    return found


def check_files(wheel, folder, installed=()):
    """Checks what the files of the wheel need from a system; `installed`: names in the wheel that is always installed with
    it."""
    zipfile.ZipFile(wheel).extractall(folder)
    binaries = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(binaries) >= 5, binaries
    inside = {path.name for path in binaries} | {name.rpartition("/")[2] for name in installed}
    for path in binaries:
        text = subprocess.run(["readelf", "-dVW", path], check=True, capture_output=True, text=True).stdout
        asked = {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", text)}
        assert max(asked) <= NEWEST, f"{path.name} needs glibc {max(asked)}"
        asked = {tuple(map(int, version)) for version in re.findall(r"GLIBCXX_(\d+)\.(\d+)\.(\d+)", text)}
        assert max(asked, default=(0,)) <= NEWEST_CXX, f"{path.name} needs libstdc++ {max(asked)}"
        missing = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text)) - SYSTEM - inside
        assert not missing, f"{path.name} needs {missing}"
        for rpath in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text):
            assert all(part.startswith("$ORIGIN") for part in rpath.split(":")), f"{path.name}: {rpath}"
        assert not path.name.endswith(".abi3.so") or "libpython" not in text, path.name


def try_in(python, wheel, folder, server=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "GPUFL_", "LD_"))}
    folder.mkdir()
    work = folder / "work"
    work.mkdir()
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True, env=environment)
    inside = folder / "venv/bin/python"
    subprocess.run([inside, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel], check=True,
                   env=environment)
    subprocess.run([inside, "-W", "error", "-c", PROGRAM], check=True, cwd=work, env=environment)
    if server:
        subprocess.run([inside, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", server], check=True,
                       env=environment)
        view(folder / "venv", work, environment)
        subprocess.run([inside, "-m", "pip", "uninstall", "-q", "-y", "gpufl-server"], check=True, env=environment)
    subprocess.run([inside, "-m", "pip", "uninstall", "-q", "-y", "gpufl"], check=True, env=environment)
    left = list((folder / "venv").rglob("*gpufl*"))
    assert not left, left


def view(venv, work, environment):
    """Runs `gpufl view` of both wheels: the session must be in the server's list."""
    running = subprocess.Popen([venv / "bin/gpufl", "view", "--no-browser", "--cache", work / "cache", work / "logs"], cwd=work,
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    try:
        while not (link := re.search(r"http://127\.0\.0\.1:\d+\S*", said)):
            line = running.stdout.readline()
            assert line, said
            said += line
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        page = opener.open(link[0], timeout=PATIENCE).read().decode()
        assert "<html" in page, page[:200]
        root, until = "/".join(link[0].split("/")[:3]), time.monotonic() + PATIENCE
        while "wheel" not in (sessions := opener.open(f"{root}/api/v1/sessions", timeout=PATIENCE).read().decode()):
            assert time.monotonic() < until, sessions
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE)


def main():
    source, build = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = [subprocess.run([f"{source}/scripts/package", "--build", build, "--out", folder / out, "gpufl"], check=True,
                               capture_output=True, text=True).stdout.strip() for out in ("one", "two")]
        wheel = pathlib.Path(made[0])
        assert wheel.read_bytes() == pathlib.Path(made[1]).read_bytes(), "the same build gave two different wheels"
        check_files(wheel, folder / "files")
        server = pathlib.Path(subprocess.run([f"{source}/scripts/package", "--build", build, "--out", folder, "gpufl-server"],
                                             check=True, capture_output=True, text=True).stdout.strip())
        check_files(server, folder / "server-files", installed=zipfile.ZipFile(wheel).namelist())
        both = set(zipfile.ZipFile(wheel).namelist()) & set(zipfile.ZipFile(server).namelist())
        assert not both, both
        found = interpreters()
        if not found:
            print("no interpreter from 3.9 on with venv and ensurepip")
            sys.exit(77)
        versions = sorted(found) if sys.argv[3:] == ["all"] else sorted({min(found), max(found)})
        for version, python in ((version, found[version]) for version in versions):
            try_in(python, wheel, folder / "{}.{}".format(*version), server if version == max(found) else None)
            print("{}.{}: {} installed and used".format(*version, wheel.name), flush=True)
            shutil.rmtree(folder / "{}.{}".format(*version))


if __name__ == "__main__":
    main()
