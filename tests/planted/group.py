"""A control group with a CPU limit, for a program that the limit must stop. The group has priority over other groups,
so that only the limit stops the program, also on a busy machine. This needs root and a hierarchy of groups in which the
limit can be set."""
import contextlib
import os
import pathlib

PERIOD_US = 100_000
TOPS = (pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup"))


class Group:
    """A control group, which the constructor makes; OSError if that is refused. Its processes run for quota_us of each
    PERIOD_US; None: no limit."""

    def __init__(self, quota_us):
        for top in TOPS:
            self.path = top / f"gpufl-planted-{os.getpid()}"
            try:
                self.path.mkdir()
            except OSError:
                continue
            try:
                self._limit(quota_us)
                return
            except OSError:
                self.path.rmdir()
        raise OSError("no control group with a CPU limit can be made here")

    def _limit(self, quota_us):
        if (self.path / "cpu.cfs_quota_us").exists():
            (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota_us or -1))
            (self.path / "cpu.shares").write_text("65536")
        else:
            (self.path / "cpu.max").write_text(f"{quota_us or 'max'} {PERIOD_US}")
            (self.path / "cpu.weight").write_text("10000")

    def enter(self):
        """Moves this process into the group: a child calls it before it executes a program."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        """Removes the group, after its programs have ended."""
        with contextlib.suppress(OSError):
            self.path.rmdir()


def can_limit():
    """Returns True if a group with a limit can be made here."""
    try:
        Group(PERIOD_US).close()
    except OSError:
        return False
    return True
