"""Ports of this machine, for programs that must be given a number. Standard library only."""
import socket


def free_port():
    """A port of the loopback on which nothing listens. Another program may take it before it is used."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
