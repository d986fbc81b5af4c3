"""A ClickHouse of the test's own: clickhouse-server on loopback, on free ports, with a data folder, a user and
a password made for this run. Standard library only."""
import base64
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from ports import free_port

TODAY = os.environ.get("GPUFL_CLICKHOUSE_SERVER")  # tests/store/chdb_server.py in the server's place, with GPUFL_CHDB
PROGRAM = (TODAY if TODAY and os.environ.get("GPUFL_CHDB") else None if TODAY else
           shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin"))

CONFIG = """<?xml version="1.0"?>
<yandex>
<logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{1}</http_port><tcp_port>{2}</tcp_port>
<path>{0}/data/</path><tmp_path>{0}/data/tmp/</tmp_path><users_config>{0}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex><profiles><default/>{2}</profiles>
<users><gpufl><password>{0}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></gpufl>{1}</users><quotas><default/></quotas></yandex>
"""
# The user for a workspace's statements, and their limits, as docs/server.md has them.
PROFILE = """<gpufl_sql><readonly>1</readonly><max_execution_time>20</max_execution_time>
<max_memory_usage>300000000</max_memory_usage><max_result_rows>100000</max_result_rows>
<result_overflow_mode>break</result_overflow_mode></gpufl_sql>"""
READER = """<{0}><password>{1}</password><networks><ip>127.0.0.1</ip></networks><profile>{2}</profile>
<quota>default</quota>{3}</{0}>"""


class ClickHouse:
    """with ClickHouse() as c: … c.url …"""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="gpufl-clickhouse-")
        self.password = secrets.token_hex(12)
        self.user = None
        if os.getuid() == 0 and not TODAY:
            self.user = pwd.getpwnam("nobody").pw_uid
            os.chown(self.folder, self.user, -1)
        for _ in range(5):  # a port may be taken meanwhile
            self.port = free_port()
            self.configure()
            if self.start():
                return self
        self.__exit__()
        raise AssertionError("ClickHouse does not start")

    def configure(self):
        for name, text in (("config.xml", CONFIG.format(self.folder, self.port, free_port())),
                           ("users.xml", USERS.format(self.password, "", PROFILE))):
            with open(os.path.join(self.folder, name), "w") as out:
                out.write(text)

    def readers(self, *workspaces, profile="gpufl_sql", confined=True):
        """Makes a user reader_WORKSPACE for each, with the password "read", who sees its databases alone."""
        rights = "<allow_databases><database>e2e_{0}</database><database>e2e_{0}_all</database></allow_databases>"
        users = "".join(READER.format(f"reader_{w}", "read", profile, rights.format(w) if confined else "") for w in workspaces)
        path = os.path.join(self.folder, "users.xml")
        with open(path + ".new", "w") as out:
            out.write(USERS.format(self.password, users, PROFILE))
        self.changes = getattr(self, "changes", 0) + 1  # ClickHouse checks the file's time, in whole seconds
        os.utime(path + ".new", (time.time() + 10 * self.changes,) * 2)
        os.rename(path + ".new", path)

    def start(self):
        """Starts the server: True if it answers."""
        arguments = [PROGRAM, f"--config-file={self.folder}/config.xml"]
        extra = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=self.folder, **extra)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.ask("SELECT 1")
                return True
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.02)  # between two queries; an answer ends the wait
        return False

    def stop(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(60)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self):
        return f"clickhouse://gpufl:{self.password}@127.0.0.1:{self.port}/e2e"

    def ask(self, sql, user="gpufl", password=None):
        """The answer's rows, as lists of texts."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=sql.encode())
        key = base64.b64encode(f"{user}:{password or self.password}".encode()).decode()
        request.add_header("Authorization", "Basic " + key)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]
