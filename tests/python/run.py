"""Runs test_frames.py and embed with every interpreter that is found.

Usage: run.py harness.so embed
Found: python3 and python3.x on PATH, pyenv's versions, what GPUFL_PYTHONS names
(separated by colons). A missing version is reported, and not tested."""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = range(9, 15)
ABOUT = """import json, sys, sysconfig as s
print(json.dumps([sys.version_info[:2], sys.version.split()[0], sys.base_prefix,
    bool(s.get_config_var("Py_DEBUG")), bool(s.get_config_var("Py_GIL_DISABLED")),
    [s.get_config_var(n) or "" for n in ("LIBDIR", "MULTIARCH", "INSTSONAME")], sys.version]))"""


def candidates():
    for name in ["python3"] + ["python3.%d" % minor for minor in range(6, 20)]:
        for folder in os.environ.get("PATH", "").split(":"):
            yield os.path.join(folder, name)
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(os.path.join(root, "versions", "3.*", "bin", "python3")))
    yield from filter(None, os.environ.get("GPUFL_PYTHONS", "").split(":"))


def interpreters():
    """Yields the path of each different interpreter, and what it says about itself."""
    seen = []
    for path in candidates():
        if not os.access(path, os.X_OK):
            continue
        try:
            answer = subprocess.run([path, "-c", ABOUT], capture_output=True, text=True, timeout=60, check=True)
            about = json.loads(answer.stdout)
        except (OSError, ValueError, subprocess.SubprocessError):
            continue  # a shim that has no version
        if about[2:7] not in seen:
            seen.append(about[2:7])
            yield path, about


def expected_off(about):
    """Part of the status with which the reader must refuse this interpreter; "": the reader must read it."""
    (_, minor), debug, free_threaded = about[0], about[3], about[4]
    if minor not in KNOWN:
        return "not one that is known"
    if free_threaded:
        return "free-threaded" if minor >= 13 else "not"
    return "debug build" if debug and minor < 13 else ""


def library(about):
    folder, arch, name = about[5]
    for path in (os.path.join(folder, name), os.path.join(folder, arch, name)):
        if ".so" in name and os.path.exists(path):
            return path
    return None


def run(what, command, env):
    """Runs a test and prints its closing line; returns whether it passed."""
    done = subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    lines = done.stdout.splitlines()
    closing = [line for line in lines if line.startswith(("python ", "embedded "))]
    good = done.returncode == 0 and closing
    print("  ".join(closing) if good else "FAILED (%d) %s\n%s" % (done.returncode, what, "\n".join(lines[-40:])))
    sys.stdout.flush()
    return bool(good)


def main():
    harness, embed = sys.argv[1:3]
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="", PYTHONWARNINGS="ignore")
    good, bad, minors = 0, 0, set()
    if os.environ.get("GPUFL_PRELOAD"): # a sanitizer's library must be loaded first
        env["LD_PRELOAD"] = os.environ["GPUFL_PRELOAD"]
    for path, about in interpreters():
        off = expected_off(about)
        command = [path, os.path.join(HERE, "test_frames.py"), harness]
        ok = run(path, command, dict(env, GPUFL_PYTHON_OFF=off) if off else env)
        if ok and not off:
            minors.add(about[0][1])
        if library(about) and not off:
            ok &= run(library(about), [embed, library(about), harness], dict(env, PYTHONHOME=about[2]))
        good, bad = good + ok, bad + (not ok)
    missing = ["3.%d" % minor for minor in KNOWN if minor not in minors]
    print("not tested, no interpreter: %s" % ", ".join(missing) if missing else "every known version tested")
    print("python frames: %d interpreters passed, %d failed" % (good, bad))
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
