"""Controls what the fake management library does while a program uses it: tests/fake/nvml_control.h, field by field."""
import ctypes
import mmap
import os
import struct

FIELDS = ("devices", "lost", "unloaded", "turn", "fail_at", "slow_ms", "events", "xid", "where", "fresh", "parts", "idle", "throttle", "inits",
          "queries", "listed")
PIDS = 64
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
FUTEX_WAKE = 1
SIZE = 8 * (len(FIELDS) + PIDS)


class Control:
    """control.lost = 1 makes device 0 fall off the bus; control.inits says how often the library was initialized."""

    def __init__(self, path):
        # Never cut: a monitor that runs may have mapped the file, and a page that is gone kills it.
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.truncate(fd, SIZE)
        self.__dict__["path"] = path
        self.__dict__["at"] = mmap.mmap(fd, SIZE)
        os.close(fd)

    def __getattr__(self, name):
        return struct.unpack_from("q", self.at, 8 * FIELDS.index(name))[0]

    def __setattr__(self, name, value):
        struct.pack_into("q", self.at, 8 * FIELDS.index(name), value)
        if name in ("events", "unloaded"):  # wakes threads that wait for an event
            word = ctypes.c_uint32.from_buffer(self.at, 8 * FIELDS.index("events"))
            ctypes.CDLL(None).syscall(SYS_FUTEX, ctypes.byref(word), FUTEX_WAKE, 1 << 30, None, None, 0)

    def pid(self, k, pid):
        """Process pid uses device k % devices; 0: none."""
        struct.pack_into("q", self.at, 8 * (len(FIELDS) + k), pid)
