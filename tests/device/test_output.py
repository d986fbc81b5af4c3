#!/usr/bin/env python3
"""Tests how the cases of run.py compare outputs, with small texts."""
import unittest

from output import differences, printed_by, unlike

ALONE = """test_add (tests.Add) ... ok
test_copy (tests.Copy) ... /srv/numba/dispatcher.py:536: Warning: Grid size 1 will result in low use.
ok
made /tmp/tmpab12cd9x of process 4711
kernel at 0x7f1200
Ran 2 tests in 12.310s
"""


def changed(*pairs):
    text = ALONE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


class Printed(unittest.TestCase):
    def unlike(self, traced, *again):
        return unlike([printed_by(ALONE), *map(printed_by, again)], printed_by(traced, traced=True))

    def test_times_and_addresses_do_not_count(self):
        self.assertEqual(self.unlike(changed(("12.310s", "98.002s"), ("0x7f1200", "0x55aa10"))), [])

    def test_a_line_that_is_gone_or_new(self):
        self.assertEqual(self.unlike(changed(("kernel at 0x7f1200\n", ""))), ["kernel at #"])
        self.assertEqual(self.unlike(ALONE + "corrupted\n"), ["corrupted"])

    def test_a_line_that_is_printed_more_often(self):
        self.assertEqual(self.unlike(ALONE + "ok\n"), ["ok"])

    def test_another_value(self):
        self.assertEqual(self.unlike(changed(("Grid size 1 ", "Grid size 2 "))),
                         [f"test_copy (tests.Copy) ... /srv/numba/dispatcher.py:536: Warning: Grid size {n} will result in low use."
                          for n in (1, 2)])

    def test_the_order_does_not_count(self):
        lines = ALONE.splitlines()
        self.assertEqual(self.unlike("\n".join(reversed(lines))), [])

    def test_what_differs_alone_does_not_count(self):
        traced = changed(("tmpab12cd9x", "tmpzzzzzzzz"), ("4711", "12"))
        self.assertEqual(self.unlike(traced), ["made /tmp/tmpab12cd9x of process 4711", "made /tmp/tmpzzzzzzzz of process 12"])
        again = changed(("tmpab12cd9x", "tmp_9kqqqqq"), ("4711", "900"))
        self.assertEqual(self.unlike(traced, again), [])
        self.assertEqual(self.unlike(traced + "corrupted\n", again), ["corrupted"])

    def test_a_line_that_only_one_run_alone_has(self):
        again = ALONE + "a thread was late\n"
        self.assertEqual(self.unlike(again, again), [])
        self.assertEqual(self.unlike(ALONE, again), [])

    def test_lines_of_gpufl_are_its_own(self):
        said = changed(("test_add (tests.Add) ... ok", "test_add (tests.Add) ... gpufl: RangeProfiler: waits\nok"))
        self.assertEqual(self.unlike(said + "gpufl trace: the session is in run1\n"), [])
        self.assertEqual(self.unlike(ALONE + "the program says: gpufl: no\n"), ["the program says: gpufl: no"])
        self.assertEqual(unlike([printed_by(ALONE)], printed_by(said)), unlike([printed_by(said)], printed_by(ALONE)))
        self.assertNotEqual(unlike([printed_by(ALONE)], printed_by(said)), [])  # alone nothing is gpufl's


class Differences(unittest.TestCase):
    def test_samples(self):
        bare = [["kernel 0x10 took 12 us", "sum 1000"], ["kernel 0x20 took 9 us", "sum 1000"]]
        self.assertEqual(differences(bare, ["kernel 0x30 took 400 us", "sum 1000"]), "")
        self.assertIn("['sum 1000']", differences(bare, ["kernel 0x30 took 400 us", "sum 0"]))
        self.assertIn("other lines", differences(bare, ["kernel 0x30 took 400 us"]))
        self.assertIn("other lines", differences(bare, ["kernel 0x30 took 400 us", "sum 1000", "error"]))

    def test_a_program_that_prints_something_else_each_time(self):
        self.assertEqual(differences([["a"], ["a", "b"]], ["c"]), "")


if __name__ == "__main__":
    unittest.main()
