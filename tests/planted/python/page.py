"""A training loop that looks rows up in a mapped file whose pages are taken away between steps, as on a host that is
short of memory: each page must be read from the disk again; clean: the pages stay."""
import mmap
import os
import tempfile

from gpu import MS, check, cuda, kernel, launch, open_gpu, stream

PAGEOUT = 21  # MADV_PAGEOUT, which mmap has no name for
ROWS = 400    # of a page each


def look_up(table):
    total = 0
    for row in range(0, len(table), mmap.PAGESIZE):
        total += table[row]  # PLANTED: py-page
    return total


def train(steps, table, keep):
    spin, s = kernel("spin"), stream()
    for _ in range(steps):
        launch(spin, s, MS)
        if not keep:
            table.madvise(PAGEOUT)
        look_up(table)
    check(cuda.cuStreamSynchronize(s))  # PLANTED: py-page-end


with tempfile.TemporaryFile() as file:
    file.write(os.urandom(ROWS * mmap.PAGESIZE))
    file.flush()
    os.fsync(file.fileno())  # a page that was not written yet cannot be taken away
    rows = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    rows.madvise(mmap.MADV_RANDOM)  # no page is read before it is needed
    for _ in range(2):  # pages in use, for which threads wait again when they have lost them
        rows.madvise(PAGEOUT)
        look_up(rows)
        look_up(rows)
    train(20, rows, open_gpu())
