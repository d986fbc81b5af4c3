"""A ClickHouse of the test's own: clickhouse-server on loopback, on free ports, with a data folder, a user and
a password made for this run. Standard library only."""
import base64
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

PROGRAM = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")

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
<yandex><profiles><default/></profiles>
<users><gpufl><password>{0}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></gpufl></users><quotas><default/></quotas></yandex>
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class ClickHouse:
    """with ClickHouse() as c: … c.url …"""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="gpufl-clickhouse-")
        self.password = secrets.token_hex(12)
        self.user = None
        if os.getuid() == 0:
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
                           ("users.xml", USERS.format(self.password))):
            with open(os.path.join(self.folder, name), "w") as out:
                out.write(text)

    def start(self):
        """True where it answers."""
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
                time.sleep(0.02)  # between two looks; what ends the wait is its answer
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

    def ask(self, sql):
        """The answer's rows, as lists of texts."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=sql.encode())
        key = base64.b64encode(f"gpufl:{self.password}".encode()).decode()
        request.add_header("Authorization", "Basic " + key)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]
