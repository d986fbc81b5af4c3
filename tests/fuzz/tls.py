#!/usr/bin/env python3
"""Breaks the TLS of a running gpufl-server, and the files of its certificate, for a while.

Connections send what a client would, changed: bytes of the first message flipped, cut, repeated, with other lengths; noise;
plain HTTP; a handshake that is whole, and noise, changed records or half a record after it; ends in the middle, polite and
abrupt. Meanwhile the certificate is replaced: by new ones, by files that are no certificate, by a key of another
certificate, by half a file, by nothing, with SIGHUP and without.

After each round a client that does everything right must be answered over TLS, with the newest certificate that could
be used within --patience. At the end descriptors and memory must be about what they were after the first round. Ends
with 1 if something of this is not so, or where the server died, and prints the seed that repeats the run's choices.

  tests/fuzz/tls.py gpufl-server [--seconds 60] [--seed N]     an hour: --seconds 3600
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from patience import PATIENCE, until  # noqa: E402
from served import Server  # noqa: E402

ROUND = 40  # connections
ANSWER_S = 2  # a broken connection is read for so long
ROOM_FILES = 40  # more than after the first round


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--room", type=int, default=64, metavar="MIB", help="of memory more than after the first round")
    parser.add_argument("--patience", type=float, default=2 * PATIENCE, metavar="S", help="until a certificate is used")
    return parser.parse_args()


# ---- certificates --------------------------------------------------------------------------------

class Certificates:
    """The files that the server reads, and those that wait to be put in their place."""

    def __init__(self, folder, number=4):
        self.cert, self.key = os.path.join(folder, "tls.pem"), os.path.join(folder, "tls.key")
        self.made = [self.make(folder, f"made-{i}") for i in range(number)]
        self.put(self.made[0])
        self.good = self.made[0][0]

    @staticmethod
    def make(folder, name):
        """(name, certificate, key)."""
        cert, key = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                        f"/CN={name}", "-days", "2", "-keyout", key, "-out", cert], check=True, capture_output=True)
        return name, pathlib.Path(cert).read_bytes(), pathlib.Path(key).read_bytes()

    @staticmethod
    def write(path, data):
        with open(path + ".new", "wb") as out:
            out.write(data)
        os.rename(path + ".new", path)

    def put(self, made):
        self.write(self.key, made[2])
        self.write(self.cert, made[1])
        self.good = made[0]

    def spoil(self, rng):
        """Files that no server can use."""
        other = rng.choice(self.made)
        kind = rng.randrange(5)
        if kind == 0:
            self.write(self.cert, rng.randbytes(rng.randrange(4000)))
        elif kind == 1:
            self.write(self.key, other[2][:rng.randrange(100)])
        elif kind == 2:
            self.write(self.cert, other[1][:rng.randrange(27, len(other[1]) // 2)])
        elif kind == 3:
            self.write(self.cert, b"")
        else:
            os.remove(self.cert)


# ---- connections ---------------------------------------------------------------------------------

def client():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def first_message():
    """The bytes with which a client begins."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        client().wrap_bio(coming, going, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return going.read()


def changed(rng, data):
    """The data with some of it flipped, cut, repeated or of another length."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:at] = rng.randbytes(rng.randrange(300))
        elif kind == 2 and len(data) > 2:
            del data[at:at + rng.randrange(1, 40)]
            data = data or bytearray(b"\x16")
        elif kind == 3:
            data[at:at] = data[at:at + rng.randrange(200)]
        else:  # a length, at the record or anywhere
            at = rng.choice((3, 6, at)) % len(data)
            data[at:at + 2] = struct.pack(">H", rng.choice((0, 1, 0xffff, 0x4001, rng.randrange(1 << 16))))
    return bytes(data)


def say(plain, data, rng):
    """Sends all, or in pieces; reads what comes; ends politely or not."""
    step = rng.choice((len(data), 1 + len(data) // 7, 1 + len(data) // 40)) or 1
    for i in range(0, len(data), step):
        plain.sendall(data[i:i + step])
    if rng.random() < 0.5:
        plain.shutdown(socket.SHUT_WR)
        plain.settimeout(ANSWER_S)
        while plain.recv(65536):
            pass
    elif rng.random() < 0.5:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def shaken(plain):
    """A whole handshake, of which the bytes are in our hands: (what is to be sent for a request)."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client().wrap_bio(coming, going, server_hostname="localhost")
    plain.settimeout(PATIENCE)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            plain.sendall(going.read())
            data = plain.recv(65536)
            if not data:
                raise ConnectionError("the server ends in a right handshake") from None
            coming.write(data)
    plain.sendall(going.read())
    tls.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return going.read()


def attack(port, rng, hello):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
        kind = rng.randrange(6)
        if kind < 2:
            data = changed(rng, hello)
        elif kind == 2:
            data = rng.randbytes(rng.randrange(1, 20000))
        elif kind == 3:
            data = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * rng.randrange(1, 20)
        else:
            record = shaken(plain)
            data = rng.choice((record[:rng.randrange(1, len(record))], changed(rng, record), record + rng.randbytes(500),
                               record * 3, b"\x17\x03\x03\xff\xff" + rng.randbytes(3000)))
        try:
            say(plain, data, rng)
        except (OSError, TimeoutError):
            pass  # it may refuse, or wait for more, as it likes


def answered(port):
    """The name in the certificate of an answer that is right; None: there is no answer, which is a fault."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain, \
            client().wrap_socket(plain, server_hostname="localhost") as tls:
        tls.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while more := tls.recv(65536):
            answer += more
        cert = ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))
    assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
    said = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=cert, capture_output=True, text=True, check=True).stdout
    return said.strip().rsplit("=", 1)[1].strip()


# ---- rounds --------------------------------------------------------------------------------------

def held(server):
    """Descriptors, bytes of memory."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return len(os.listdir(f"/proc/{server.process.pid}/fd")), resident * 1024


def reload(server, certificates, rng):
    """Other files, good or spoilt; true: the good ones are the newest."""
    good = rng.random() < 0.6
    if good:
        certificates.put(rng.choice(certificates.made))
    else:
        certificates.spoil(rng)
    if rng.random() < 0.7:
        server.process.send_signal(signal.SIGHUP)
    return good


def play(server, certificates, o):
    rng, hello = random.Random(o.seed), first_message()
    end, rounds, first, loads = time.monotonic() + o.seconds, 0, None, [0, 0]
    while not rounds or time.monotonic() < end:
        for _ in range(ROUND):
            attack(server.port, rng, hello)
        good = reload(server, certificates, rng)
        loads[good] += 1
        assert server.process.poll() is None, f"the server ended with {server.process.returncode}"
        until(lambda: answered(server.port) == certificates.good if good else answered(server.port),
              lambda: f"certificate {certificates.good} is not used", o.patience)
        if not good:
            certificates.put(rng.choice(certificates.made))
        rounds += 1
        first = first or held(server)
    until(lambda: held(server)[0] <= first[0] + ROOM_FILES, lambda: f"descriptors: {first[0]}, then {held(server)[0]}", o.patience)
    last = held(server)
    assert last[1] <= first[1] + (o.room << 20), f"memory: {first[1]}, then {last[1]}"
    return {"rounds": rounds, "connections": rounds * ROUND, "good certificates": loads[1], "spoilt ones": loads[0],
            "descriptors": (first[0], last[0]), "MiB": (first[1] >> 20, last[1] >> 20)}


def main():
    o = options()
    if not shutil.which("openssl"):
        print("openssl makes the certificates, and is not here: TLS is not fuzzed")
        return 77
    print(f"seed {o.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        certificates = Certificates(folder)
        with Server(o.server, "--tls-cert", certificates.cert, "--tls-key", certificates.key) as server:
            try:
                print(play(server, certificates, o))
                assert server.stop() == 0, "it does not end as it should"
            except Exception:
                print(server.errors()[-2000:], file=sys.stderr)
                raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
