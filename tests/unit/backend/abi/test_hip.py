"""HIP's functions as the backend takes them from rocprofiler-sdk, against HIP's own header, if this machine has it.

rocprofiler-sdk passes a call's arguments as a struct with a member for each parameter. The test makes such structs
from the header's prototypes, and the C compiler says where their members are: calls.def must name the stream's offset
and the size's. The kinds of graph nodes are compared as well. Exit status 77: HIP's header is not installed.
"""
import os
import re
import subprocess
import sys
import tempfile

COMPILER, INCLUDE, SOURCE = sys.argv[1:]
TRACE = os.path.join(SOURCE, "src/backend/amd/trace")
HEADER = "hip/hip_runtime_api.h"
FIRST_TRACED = 6  # HIP's major version from which on rocprofiler-sdk traces; kinds of nodes had other numbers before
LEAST_CHECKED = 40  # functions: a reader of prototypes that finds none would pass


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def calls():
    """Rows of calls.def: name, offset of the size, offset of the stream, flags."""
    row = re.compile(r"^CALL\((\w+), (\w+), (\w+), (\w+), ([^,]+), (\w+), ([^)]+)\)", re.M)
    return [(m[1], m[4], m[6], m[7]) for m in row.finditer(read(os.path.join(TRACE, "calls.def")))]


def parameters(text):
    """The parameters of a prototype, each as the text of a declaration."""
    text = re.sub(r"__dparm\([^)]*\)|\b__restrict__\b", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    return [] if text in ("", "void") else [p.strip() for p in text.split(",")]


def prototypes(header):
    """Parameters by function, as the installed header declares them, without comments."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", read(header), flags=re.S)
    found = {}
    for m in re.finditer(r"\bhipError_t\s+(hip\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", text):
        found.setdefault(m[1], parameters(m[2]))
    return found


def member(declaration):
    """The name of a parameter."""
    return re.search(r"(\w+)\s*(?:\[\s*\])?$", declaration)[1]


def is_stream(declaration):
    return re.match(r"(?:const )?hipStream_t \w+$", declaration) is not None


def is_size(declaration):
    return re.match(r"(?:const )?(?:size_t|unsigned long|unsigned int|uint64_t) \w+$", declaration) is not None


def check_of(name, size_at, stream_at, parts):
    """C of one function: the struct of its arguments, and what must hold of it."""
    lines = [f"struct args_{name} {{"] + [f"    {p.replace('[]', '[1]')};" for p in parts] + ["};"]
    streams = [member(p) for p in parts if is_stream(p)]
    if stream_at != "NONE":
        if not streams:
            return None, f"{name}: calls.def has a stream at {stream_at}, the header has none"
        lines.append(f'_Static_assert(offsetof(struct args_{name}, {streams[0]}) == {stream_at}, "{name}: stream");')
    if size_at != "NONE":
        sizes = [member(p) for p in parts if is_size(p)]
        places = " || ".join(f"offsetof(struct args_{name}, {s}) == {size_at}" for s in sizes) or "0"
        lines.append(f'_Static_assert({places}, "{name}: size");')
    return "\n".join(lines), None


def graph_nodes():
    """The numbers of hip_graphs.c for kinds of nodes."""
    text = read(os.path.join(TRACE, "hip_graphs.c"))
    return {n: int(v) for n, v in re.findall(r"\b(HIP_NODE_\w+) = (\d+)", text)}


def node_checks(header):
    nodes = graph_nodes()
    kinds = re.findall(r"\b(hipGraphNodeType\w+)\s*(?:=|,|\})", re.search(
        r"typedef enum hipGraphNodeType \{(.*?\})", re.sub(r"/\*.*?\*/|//[^\n]*", "", read(header), flags=re.S), re.S)[1])
    kinds = [k for k in kinds if k not in ("hipGraphNodeTypeCount",)]
    lines = [f'_Static_assert({nodes["HIP_NODE_KERNEL"]} == hipGraphNodeTypeKernel, "kernel nodes");',
             f'_Static_assert({nodes["HIP_NODE_GRAPH"]} == hipGraphNodeTypeGraph, "child graphs");']
    # HIP_NODE_LAST is the last kind of the newest header; an older one has fewer kinds.
    lines += [f'_Static_assert({k} <= {nodes["HIP_NODE_LAST"]}, "{k}");' for k in kinds]
    return "\n".join([f"#if HIP_VERSION_MAJOR >= {FIRST_TRACED}", *lines, "#endif"])


def main():
    header = os.path.join(INCLUDE, HEADER)
    if not INCLUDE or not os.path.exists(header):
        print("skipped: HIP's headers are not installed (Debian: libamdhip64-dev)")
        return 77
    known = prototypes(header)
    checks, absent, wrong, count = [], [], [], 0
    for name, size_at, stream_at, _ in calls():
        if name not in known:
            absent.append(name)
            continue
        text, why = check_of(name, size_at, stream_at, known[name])
        count += 1
        if why:
            wrong.append(why)
        else:
            checks.append(text)
    source = "\n".join(["#include <stddef.h>", f"#include <{HEADER}>", "#include <hip/hip_version.h>", node_checks(header), *checks, ""])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "check.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(source)
        done = subprocess.run([COMPILER, "-std=gnu11", "-w", "-fsyntax-only", "-D__HIP_PLATFORM_AMD__", "-D__HIP_PLATFORM_HCC__",
                               "-isystem", INCLUDE, path], capture_output=True, text=True, check=False)
    wrong += [line for line in done.stderr.splitlines() if "error:" in line]
    old = re.search(r"HIP_VERSION_MAJOR (\d+)", read(os.path.join(INCLUDE, "hip/hip_version.h")))
    print(f"HIP {old[1]}; kinds of graph nodes are " + ("checked" if int(old[1]) >= FIRST_TRACED else "not checked: too old"))
    print(f"{count} functions checked; not in this header: {', '.join(absent) or 'none'}")
    print("\n".join(wrong))
    return 1 if wrong or done.returncode or count < LEAST_CHECKED else 0


sys.exit(main())
