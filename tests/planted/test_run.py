#!/usr/bin/env python3
"""The texts of run.py's table, without running a program."""
import pathlib
import re
import tempfile
import unittest

import run
from table import CASES, HIP, Case


def case(must=(), **more):
    return Case("program.c", "fault", {rule: None for rule in must}, **more)


def result(of, fired, misses=(), disturbed=False):
    return run.Result(of, list(misses), [], set(fired), disturbed)


class Programs(unittest.TestCase):
    def test_those_of_hip_are_what_cmake_builds(self):
        text = (pathlib.Path(run.HERE) / "CMakeLists.txt").read_text()
        files = re.search(r"foreach\(file ([^)]*)\)\n  get_filename_component\(name \$\{file\} NAME_WE\)\n  add_executable\(planted-hip", text)
        self.assertEqual({name.partition(".")[0] for name in files[1].split()}, set(HIP))
        self.assertLessEqual(set(HIP), {one.program for one in CASES})


class Words(unittest.TestCase):
    def test_found_and_missed(self):
        of = case(["sync_line"])
        self.assertEqual(run.cell(result(of, ["sync_line"]), "sync_line"), "found")
        self.assertEqual(run.cell(result(of, []), "sync_line"), "**missed**")
        elsewhere = result(of, ["sync_line"], ["sync_line a.c:5: sync_line at b.c:7"])
        self.assertEqual(run.cell(elsewhere, "sync_line"), "**missed**")
        self.assertEqual(run.cell(result(of, []), "spills"), "")

    def test_what_was_not_planted(self):
        of = case(noise=("spills",), crowded=("late_launch",))
        self.assertEqual(run.cell(result(of, ["spills"]), "spills"), "noise")
        self.assertEqual(run.cell(result(of, ["late_launch"], disturbed=True), "late_launch"), "busy")
        self.assertEqual(run.cell(result(of, ["late_launch"]), "late_launch"), "**false**")
        self.assertEqual(run.cell(result(of, ["occupancy"], disturbed=True), "occupancy"), "**false**")

    def test_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.md"
            run.write_results(path, [result(case(["spills"]), ["spills"])])
            self.assertIn("| program.c fault | found |", path.read_text())


if __name__ == "__main__":
    unittest.main()
