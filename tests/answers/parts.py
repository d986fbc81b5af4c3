"""Parts of a session's channels as text: plain, or packed by gzip or zstd.

Recorded sessions are kept with zstd, in two thirds of gzip's size. Python has no zstd before 3.14, so libzstd itself is
used, with which the product is built."""
import ctypes
import ctypes.util
import gzip

LEVEL = 22  # of zstd: the smallest, and slow
UNKNOWN = 2**64 - 2  # ZSTD_CONTENTSIZE_UNKNOWN and _ERROR are the two largest numbers


def library():
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for name in ("ZSTD_compressBound", "ZSTD_compress", "ZSTD_decompress"):
        getattr(zstd, name).restype = ctypes.c_size_t
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    return zstd


def zstd_pack(data):
    """The data as one frame of zstd, with its size in the head."""
    zstd = library()
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    to = ctypes.create_string_buffer(room)
    size = zstd.ZSTD_compress(to, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), LEVEL)
    if zstd.ZSTD_isError(ctypes.c_size_t(size)):
        raise ValueError("zstd cannot pack the data")
    return to.raw[:size]


def zstd_unpack(data):
    """The data of one frame that has its size in the head."""
    zstd = library()
    room = zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    if room >= UNKNOWN:
        raise ValueError("not a frame of zstd that says its size")
    to = ctypes.create_string_buffer(max(room, 1))
    size = zstd.ZSTD_decompress(to, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)))
    if size != room:
        raise ValueError("a damaged frame of zstd")
    return to.raw[:room]


def unpacked(path):
    """The bytes of a part."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        return zstd_unpack(data)
    return gzip.decompress(data) if path.suffix == ".gz" else data


def lines_of(path):
    """The lines of a part as text."""
    return unpacked(path).decode().splitlines()
