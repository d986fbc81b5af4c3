"""A network of this process's own, which a test switches off and on: the loopback of a network namespace."""
import contextlib
import ctypes
import fcntl
import os
import pathlib
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


class Loopback:
    """Puts the process, which still has one thread, into a namespace; there: True if that was allowed."""

    def __init__(self):
        user, group = os.getuid(), os.getgid()
        flags = CLONE_NEWNET | (CLONE_NEWUSER if user else 0)
        self.there = ctypes.CDLL(None).unshare(flags) == 0
        if self.there and user:
            pathlib.Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            pathlib.Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            pathlib.Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        if self.there:
            self.set(True)

    @staticmethod
    def set(up):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            flags = struct.unpack_from("16sh", fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16s24x", b"lo")))[1]
            fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP if up else flags & ~IFF_UP))

    @contextlib.contextmanager
    def down(self):
        """The network is cut inside the block: packets are lost, and no connection gets an error."""
        self.set(False)
        try:
            yield
        finally:
            self.set(True)
