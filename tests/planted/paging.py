"""Finds out if pages of a program can be taken away on this machine, so that they must be read from a disk again. That needs
no privileges, but a file on a disk, and a kernel that says how long threads waited for memory."""
import mmap
import os
import pathlib
import resource
import tempfile

PAGEOUT = 21  # MADV_PAGEOUT: Python's mmap has no name for it
PAGES = 16


def can_page():
    """Returns True if pages of a file in the folder for temporary files are read from a disk again."""
    if not pathlib.Path("/proc/pressure/memory").exists():
        return False
    with tempfile.TemporaryFile() as file:
        file.write(bytes(PAGES * mmap.PAGESIZE))
        file.flush()
        os.fsync(file.fileno())
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
            pages.madvise(mmap.MADV_RANDOM)
            sum(pages[::mmap.PAGESIZE])
            try:
                pages.madvise(PAGEOUT)
            except OSError:
                return False
            before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
            sum(pages[::mmap.PAGESIZE])
            return resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before >= PAGES // 2
