"""Modules for device_modules: PTX, and damaged forms of the cubins that the driver compiles from it. Comments
describe the kernels to the fake driver (tests/fake), on which the cases' own mechanics run, too."""
import struct

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
COUNTS = "    ld.param.u64 d1, [to];\n    cvta.to.global.u64 d1, d1;\n    red.global.add.u32 [d1], 1;\n"
FAULTS = "    mov.u64 d1, 8;\n    st.u32 [d1], r1;\n"
SPINS = """    mov.u64 d2, %globaltimer;
again:
    mov.u64 d3, %globaltimer;
    sub.u64 d3, d3, d2;
    setp.lt.u64 more, d3, {ns};
    @more bra again;
"""
READS_BIG = "    ld.global.u8 r1, [big];\n    red.global.add.u32 [d1], r1;\n"


def kernel(name, body, ns=2000):
    return (f"// fake: {name} registers=16 local=0 shared=0 ns={ns}\n.visible .entry {name}(.param .u64 to) {{\n"
            f"    .reg .pred more;\n    .reg .u32 r<3>;\n    .reg .u64 d<4>;\n    mov.u32 r1, 0;\n{body}    ret;\n}}\n")


def spinning(name, us):
    """A kernel that counts its launches, and runs for that long."""
    return kernel(name, COUNTS + SPINS.format(ns=us * 1000), us * 1000)


def faulting():
    return kernel("fault", FAULTS)


def many(mark, kernels):
    """Kernels whose names are the mark and a number of 5 digits."""
    return HEAD + "".join(kernel(f"{mark}{i:05}", COUNTS) for i in range(kernels))


def with_data():
    """A kernel, and a page of data of the device, whose first byte it reads: 0."""
    return HEAD + ".global .align 4 .b8 big[4096] = {0, 1, 2, 3};\n" + kernel("huge", COUNTS + READS_BIG)


# ---- ELF of 64 bits: the fields of its header, sections, segments and symbols ----

E_MACHINE, E_PHOFF, E_SHOFF, E_PHENTSIZE, E_SHENTSIZE = 18, 32, 40, 54, 58
SECTION, SEGMENT, SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IIQQQQQQ"), struct.Struct("<IBBHQQ")
SYMTAB, NOBITS, LOAD = 2, 8, 1


def sections(code):
    """(offset of the header, its fields) of each section; the last field is the name as text."""
    at, = struct.unpack_from("<Q", code, E_SHOFF)
    size, count, names = struct.unpack_from("<HHH", code, E_SHENTSIZE)
    all_ = [(at + i * size, list(SECTION.unpack_from(code, at + i * size))) for i in range(count)]
    start = all_[names][1][4]
    for _, fields in all_:
        begin = start + fields[0]
        fields.append(code[begin:code.index(b"\0", begin)].decode())
    return all_


def enlarged(code, mib):
    """The same cubin with so many MiB of data, as the compiler would have made it: everything after the data moves."""
    if not code.startswith(b"\x7fELF"):  # code of the fake driver
        return code + f"// fake-mib: {mib}\n".encode()
    found = sections(code)
    number, data = next((i, f) for i, (_, f) in enumerate(found) if f[10] == ".nv.global.init")
    end, more = data[4] + data[5], (mib << 20) - data[5]
    moved = lambda offset: offset + more if offset >= end else offset
    code = bytearray(code)
    for at, f in found:
        if f[1] == SYMTAB:
            for i in range(f[4], f[4] + f[5], SYMBOL.size):
                symbol = list(SYMBOL.unpack_from(code, i))
                if symbol[3] == number and symbol[1] & 15 == 1:  # an object
                    symbol[5] = mib << 20
                    SYMBOL.pack_into(code, i, *symbol)
        SECTION.pack_into(code, at, *f[:4], moved(f[4]) if f is not data else f[4], f[5] + (more if f is data else 0),
                          *f[6:10])
    segments, = struct.unpack_from("<Q", code, E_PHOFF)
    size, count = struct.unpack_from("<HH", code, E_PHENTSIZE)
    for at in range(segments, segments + size * count, size):
        p = list(SEGMENT.unpack_from(code, at))
        if p[0] == LOAD and p[2] <= data[4] < p[2] + p[5]:
            p[5], p[6] = p[5] + more, p[6] + more
        else:
            p[2] = moved(p[2])
        SEGMENT.pack_into(code, at, *p)
    for at in (E_PHOFF, E_SHOFF):
        struct.pack_into("<Q", code, at, moved(struct.unpack_from("<Q", code, at)[0]))
    return code[:end] + bytes(more) + code[end:]


def damaged(code):
    """(name of the damage, damaged code). Cubins keep their length, so that the driver does not read beyond their
    end."""
    half, (at, count) = len(code) // 2, (struct.unpack_from("<Q", code, E_SHOFF)[0], len(sections(code)))
    without = bytearray(code)
    without[at:at + count * SECTION.size] = bytes(count * SECTION.size)
    other = bytearray(code)
    struct.pack_into("<H", other, E_MACHINE, 62)  # x86-64
    yield "half of it is zeros", code[:half] + bytes(len(code) - half)
    yield "no headers of sections", bytes(without)
    yield "of another machine", bytes(other)
    yield "no instruction", (HEAD + kernel("once", "    no.such.instruction r1;\n")).encode()
