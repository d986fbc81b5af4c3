"""scripts/suite: a test that fails while others run and passes alone is named; one that fails twice, crashes or has a sanitizer's report counts as failed.

Usage: test_suite.py SCRIPTS"""
import os
import subprocess
import sys
import tempfile
import unittest

SUITE = os.path.join(sys.argv[1], "suite")
ONCE = "test -e been || { touch been; %s; }"  # at the first run only


class Suite(unittest.TestCase):
    def run_suite(self, *options, parts=((),), **commands):
        """The exit status of the last part, the output of all parts, and the names of unsteady tests."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as f:
                for name, command in commands.items():
                    f.write(f'add_test({name} "sh" "-c" [=[{command}]=])\n'
                            f'set_tests_properties({name} PROPERTIES TIMEOUT 2 WORKING_DIRECTORY "{folder}")\n')
            unsteady = os.path.join(folder, "unsteady")
            said = ""
            for part in parts:
                done = subprocess.run([SUITE, *part, folder, "2", unsteady, *options], capture_output=True, text=True, timeout=60, check=False)
                said += f"{done.stdout}{done.stderr}status {done.returncode}\n"
            names = ""
            if os.path.exists(unsteady):
                with open(unsteady, encoding="utf-8") as f:
                    names = f.read()
            return done.returncode, said, names

    def test_all_pass(self):
        code, said, names = self.run_suite(a="echo fine", b="true")
        self.assertEqual((code, names), (0, ""), said)
        self.assertIn("100% tests passed", said)

    def test_it_fails_twice(self):
        code, said, names = self.run_suite(a="true", b="echo why; false")
        self.assertEqual((code, names), (1, ""))
        self.assertEqual(said.count("why"), 2)

    def test_it_passes_alone(self):
        for fault in ("echo why; exit 1", "echo why; exec sleep 30"):
            code, said, names = self.run_suite(a="true", b=ONCE % fault)
            self.assertEqual((code, names), (0, "b\n"), said)
            self.assertIn("why", said)
            self.assertIn("once more, alone: b", said)

    def test_it_passes_alone_of_those_that_were_chosen(self):
        """ctest numbers the tests that its options select, so the second run has other numbers."""
        code, said, names = self.run_suite("-E", "^(a|c.d)$", **{"a": "false", "b": "true", "c.d": "false", "e.f": ONCE % "exit 1"})
        self.assertEqual((code, names), (0, "e.f\n"), said)
        self.assertRegex(said, r"1/1 Test #\d+: e\.f \.+ +Passed")

    def test_a_crash_and_a_report_are_never_taken_back(self):
        for fault in ("kill -SEGV $$", "kill -ABRT $$", "echo 'WARNING: ThreadSanitizer: data race'; exit 66",
                      "echo 'x.c:3:4: runtime error: shift'; exit 1"):
            code, said, names = self.run_suite(a="true", b=ONCE % fault)
            self.assertEqual((code, names), (1, ""), said)
            self.assertNotIn("once more", said)

    def test_leaks_after_a_failed_case_are_no_report_of_their_own(self):
        leak = "echo '==7==ERROR: LeakSanitizer: detected memory leaks'; echo 'SUMMARY: AddressSanitizer: 40 byte(s) leaked in 1 allocation(s).'; exit 1"
        code, said, names = self.run_suite(a="true", b=ONCE % f"echo '[  FAILED  ] takes_turns'; {leak}")
        self.assertEqual((code, names), (0, "b\n"), said)
        overflow = "echo 'SUMMARY: AddressSanitizer: heap-buffer-overflow'; exit 1"
        for fault in (leak, f"echo '[  FAILED  ] takes_turns'; {overflow}"):
            code, said, names = self.run_suite(a="true", b=ONCE % fault)
            self.assertEqual((code, names), (1, ""), said)
            self.assertNotIn("once more", said)

    def test_the_second_run_waits_for_its_own_call(self):
        parts = (["--first"], ["--again"])
        code, said, names = self.run_suite(parts=parts, a="true", b=ONCE % "echo why; exit 1")
        self.assertEqual((code, names), (0, "b\n"), said)
        first, again = said.split("status 0\n", 1)
        self.assertIn("why", first)
        self.assertNotIn("once more", first)
        self.assertIn("once more, alone: b", again)
        code, said, names = self.run_suite(parts=parts, a="true", b="false")
        self.assertEqual((code, names), (1, ""), said)
        code, said, names = self.run_suite(parts=parts, a="true")
        self.assertEqual((code, names), (0, ""), said)
        self.assertNotIn("once more", said)
        code, said, names = self.run_suite(parts=parts[:1], a="true", b=ONCE % "kill -SEGV $$")
        self.assertEqual((code, names), (1, ""), said)
        self.assertNotIn("once more", said)

    def test_no_test_is_an_error(self):
        code, said, names = self.run_suite("-R", "nothing", a="true")
        self.assertEqual((code, names), (1, ""), said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
