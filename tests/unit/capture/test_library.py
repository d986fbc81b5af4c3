#!/usr/bin/env python3
"""Checks the file libgpufl.so: the libraries that it needs, the functions that it exports, and that it stays loaded.

    test_library.py LIBRARY HEADER [exports-only]
"""
import re
import subprocess
import sys

library, header = sys.argv[1:3]
ALLOWED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libz.so.1"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(ok, text):
    if not ok:
        print(f"test_library: {text}")
        sys.exit(1)


dynamic = output("readelf", "-dW", library)
needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
needed = {name for name in needed if not name.startswith("ld-linux")}  # the loader, for __tls_get_addr
check(needed <= ALLOWED, f"needs {sorted(needed - ALLOWED)}")
check("[libgpufl.so.0]" in dynamic, "SONAME is not libgpufl.so.0")
check(re.search(r"FLAGS_1\).*NODELETE", dynamic), "can be unloaded")

declared = set(re.findall(r"(?m)^GPUFL_API [^;(]*?(\w+)\(", open(header).read()))
symbols = output("nm", "-D", "--defined-only", library)
shown = {line.split()[-1].split("@")[0] for line in symbols.splitlines() if line.split()[-2] not in ("A",)}
check(declared, "no declarations found")
check(shown == declared, f"shown but not declared: {sorted(shown - declared)}; "
                         f"declared but not shown: {sorted(declared - shown)}")

# Thread-local memory of a library that is opened late is scarce.
sizes = re.findall(r"^\s*TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", output("readelf", "-lW", library), re.M)
check(not sizes or int(sizes[0], 16) <= 128, f"thread-local memory of {sizes} bytes")
print(f"test_library: {len(shown)} functions shown, needs {', '.join(sorted(needed))}")
