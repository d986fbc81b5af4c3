"""A real PostgreSQL for tests, as an unprivileged user.

    postgres.py TEST ARG…    runs a test whose servers keep their small tables there

Such a test finds the server by its environment; each gpufl-server that it starts gets a
database of its own. Exits with 77, and a sentence, if PostgreSQL is not installed."""
import contextlib
import ctypes
import glob
import itertools
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

URL = os.environ.get("GPUFL_TEST_POSTGRES")  # with {} for the database; None: small tables are SQLite's
# A shell's background jobs, and their children, ignore SIGINT; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
PATIENCE = 60  # s
numbers = itertools.count()


def bin_folder():
    """The programs of the newest version that is installed; None: none is."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    return os.path.dirname(max(found, key=lambda path: int(re.search(r"/(\d+)/", path)[1]))) if found else None


def sql(text, database="postgres"):
    subprocess.run([os.path.join(bin_folder(), "psql"), "-qXtAc", text, URL.format(database)], check=True,
                   stdout=subprocess.DEVNULL)


def new_database():
    """The URL of a database that is empty; None: tests run without PostgreSQL."""
    if not URL:
        return None
    name = f"t{os.getpid()}_{next(numbers)}"
    sql(f"CREATE DATABASE {name}")
    return URL.format(name)


def user():
    """The user of the server: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise SystemExit("there is nobody to run PostgreSQL as")


def with_parent():
    """The server ends with the test, however the test ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def make(folder):
    """Makes a server's folder in folder/data: the password of its user gpufl."""
    password, secret, run_as = secrets.token_hex(16), os.path.join(folder, "password"), user()
    with open(secret, "w", encoding="ascii") as file:
        file.write(password)
    os.chmod(secret, 0o600)
    if run_as:
        for path in (folder, secret):
            os.chown(path, run_as["user"], run_as["group"])
    with open(os.path.join(folder, "log"), "ab") as log:
        subprocess.run([os.path.join(bin_folder(), "initdb"), "-D", os.path.join(folder, "data"), "-U", "gpufl", "-A", "scram-sha-256",
                        "--pwfile", secret, "--encoding", "UTF8", "--locale", "C", "--no-sync"],
                       check=True, stdout=log, stderr=log, cwd="/", **run_as)
    return password


def start(folder):
    """Starts a server on folder/data, with its socket in folder: its process, once it answers."""
    with open(os.path.join(folder, "log"), "ab") as log:
        process = subprocess.Popen(
            [os.path.join(bin_folder(), "postgres"), "-D", os.path.join(folder, "data"), "-k", folder, "-c", "listen_addresses=",
             "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=100"],
            stdout=log, stderr=log, cwd="/", preexec_fn=with_parent, **user())
    end = time.monotonic() + PATIENCE
    while subprocess.run([os.path.join(bin_folder(), "pg_isready"), "-qh", folder], check=False).returncode:
        if process.poll() is not None or time.monotonic() > end:
            end_of(process)
            with open(log.name, encoding="utf-8", errors="replace") as said:
                raise AssertionError("PostgreSQL does not start: " + said.read()[-2000:])
        time.sleep(0.05)
    return process


def end_of(process, number=signal.SIGINT):
    if process.poll() is None:
        process.send_signal(number)
    process.wait()


@contextlib.contextmanager
def running():
    """A server: the URL of its databases, with {} for the name."""
    folder, process = tempfile.mkdtemp(prefix="gpufl-pg-"), None
    try:
        password = make(folder)
        process = start(folder)
        yield f"postgres://gpufl:{password}@/{{}}?host={folder}"
    finally:
        if process:
            end_of(process)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    if not bin_folder():
        print("PostgreSQL is not installed (package postgresql): its tests are left out")
        return 77
    with running() as url:
        return subprocess.run([sys.executable, *sys.argv[1:]], check=False,
                              env={**os.environ, "GPUFL_TEST_POSTGRES": url}).returncode


if __name__ == "__main__":
    sys.exit(main())
