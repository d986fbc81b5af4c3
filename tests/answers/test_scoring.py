#!/usr/bin/env python3
"""The suite's own rules: what counts as right, as clean and as the predicted gain, and how a run ends that cannot
continue."""
import gzip
import pathlib
import sys
import tempfile
import unittest

import keep
import parts
import record
import replay


def finding(**cells):
    return {"id": "late_launch", "file": "/tmp/x/pandas_features.py", "line": 20, "function": "features", "title": "Late",
            "text": "The host was late.", "part_of": None, "gives_back_ns": 2_000_000_000, "gives_back_share": 0.4,
            "severity": "HIGH", "place": "pandas_features.py:20", **cells}


def report(*findings):
    answer = {"insight": 0, "cause": findings[0]["id"], "place": findings[0]["place"], "share": 0.4} if findings else None
    return {"answer": answer, "insights": list(findings), "time": {"whole_ns": 4_000_000_000, "devices": 1}}


class Scoring(unittest.TestCase):
    entry = {"causes": ["late_launch", "idle_cause"], "functions": ["features"], "lines": [], "says": None, "serves": False}
    measured = {"bare": {"work_s": 5.0, "p99_s": 0.10}, "traced": {"work_s": 5.0}, "cured": {"work_s": 3.0, "p99_s": 0.05}}

    def judge(self, *findings, **entry):
        return replay.judge_fault(replay.Truth("pandas_features", {**self.entry, **entry}), report(*findings), self.measured)

    def test_right_by_cause_and_line(self):
        row = self.judge(finding())
        self.assertTrue(row["right"] and row["line"] and row["gain"])

    def test_wrong_cause(self):
        self.assertFalse(self.judge(finding(id="launch_storm"))["right"])

    def test_wrong_line(self):
        row = self.judge(finding(function="other"))
        self.assertFalse(row["right"] or row["line"])

    def test_line_of_another_file(self):
        self.assertFalse(self.judge(finding(file="/tmp/x/other.py"))["right"])

    def test_right_by_words_alone(self):
        row = self.judge(finding(function=None, text="while pandas ran"), says="pandas")
        self.assertTrue(row["right"])
        self.assertFalse(row["line"])

    def test_line_named_by_the_sentence(self):
        text = "The lock was held at pandas_features.py:19 in features()."
        self.assertTrue(self.judge(finding(place=None, file=None, function=None, line=None, text=text))["line"])
        self.assertFalse(self.judge(finding(function="other", text=text))["line"])  # it has a place of its own

    def test_second_finding_is_not_the_answer(self):
        row = self.judge(finding(id="launch_storm", function=None), finding())
        self.assertFalse(row["right"])
        self.assertEqual(row["place"], 2)

    def test_no_answer(self):
        row = self.judge()
        self.assertFalse(row["right"] or row["line"] or row["gain"])

    def test_gain_adds_idle_lines_only_once(self):
        row = self.judge(finding(gives_back_ns=1_400_000_000), finding(id="idle_cause", gives_back_ns=1_000_000_000),
                         finding(part_of=0), finding(text="pandas", place=None, function=None), says="pandas")
        self.assertAlmostEqual(row["predicted"], 2.4 / 5)

    def test_gain_of_p99(self):
        row = self.judge(finding(), serves=True)
        self.assertAlmostEqual(row["gained"], 0.5)
        self.assertAlmostEqual(row["predicted"], 0.5)

    def test_gain_of_tiny_launches_and_late_ones_at_a_line(self):
        row = self.judge(finding(id="launch_storm", gives_back_ns=1_000_000_000), finding(gives_back_ns=500_000_000),
                         causes=["launch_storm", "late_launch"])
        self.assertAlmostEqual(row["predicted"], 0.3)

    def test_gain_too_large(self):
        self.assertFalse(self.judge(finding(gives_back_ns=3_100_000_000))["gain"])

    def test_gain_unknown_without_cure(self):
        truth = replay.Truth("pandas_features", self.entry)
        self.assertIsNone(replay.judge_fault(truth, report(finding()), {"bare": {"work_s": 1}})["gain"])

    def test_clean(self):
        nothing = {"insight": None, "cause": "nothing_to_win"}
        for whole, clean, calm in ((report(), True, True), (report(finding()), False, False),
                                   (report(finding(severity="LOW")), False, True),
                                   ({**report(finding(gives_back_share=0)), "answer": nothing}, True, True),
                                   ({**report(finding()), "answer": nothing}, True, False)):
            row = replay.judge_clean({}, whole)
            self.assertEqual((row["clean"], row["calm"]), (clean, calm))

    def test_a_finding_that_a_cure_showed_is_calm(self):
        self.assertTrue(replay.judge_clean({"true": ["late_launch"]}, report(finding()))["calm"])
        self.assertFalse(replay.judge_clean({"true": ["sync_line"]}, report(finding()))["calm"])

    def test_held_out_programs_count_apart(self):
        programs = {"a": {}, "b": {"held_out": True}, "c": {"held_out": True, "clean": True}, "d": {"held_out": True}}
        row = {"by": None, "truth": "t", "answer": "x", "no_line": 0, "known": True}
        rows = [{**row, "name": "a", "right": True, "line": True, "gain": None},
                {**row, "name": "b", "right": False, "line": None, "gain": False},
                {**row, "name": "c", "clean": True, "calm": False}]
        known, held = replay.parted(rows, programs)
        self.assertEqual([r["name"] for r in known], ["a"])
        self.assertEqual(replay.scores(known)["right"], (1, 1))
        page = "\n".join(("head", replay.BEGIN, "old", replay.END, "middle", replay.HELD_OUT, "old", replay.END, "tail"))
        page = replay.page_of(page, rows, programs)
        first, apart = page.split("middle")
        self.assertNotIn("old", page)
        self.assertTrue(page.startswith("head\n") and page.endswith("\ntail"))
        self.assertEqual([name for name in "abc" if f"| `{name}` |" in first], ["a"])
        self.assertEqual([name for name in "abc" if f"| `{name}` |" in apart], ["b", "c"])
        self.assertIn("- right: 1 of 1", first)
        self.assertIn("Held out: 3 programs, ", apart)
        self.assertIn("right 0/1, line 0/0, gain 0/1, clean 1/1, calm 0/1, known 2/2 (2 are recorded).", apart)
        self.assertEqual(page, replay.page_of(page, rows, programs))

    def test_held_out_programs_without_a_session(self):
        self.assertEqual(list(replay.held_out([], {"a": {"held_out": True}, "b": {"held_out": True}})),
                         ["Held out: 2 programs, written and their truth committed before the first analysis; none is recorded."])

    def test_page_without_a_mark(self):
        with self.assertRaisesRegex(SystemExit, "lacks"):
            replay.page_of(f"{replay.BEGIN}\n{replay.END}", [], {})

    def test_every_program_has_a_truth_that_is_in_it(self):
        programs = replay.json.loads((replay.HERE / "programs.json").read_text())
        sources = {path.stem: path.read_text() for path in (replay.HERE / "programs").rglob("*.py")}
        self.assertEqual(set(sources), set(programs))
        for name, entry in programs.items():
            if entry.get("clean"):
                continue
            truth = replay.Truth(name, entry)
            self.assertGreaterEqual(len(truth.lines), len(entry["lines"]), name)
            for function in truth.functions:
                self.assertIn(f"def {function.split('.')[-1]}(", sources[name])
            self.assertTrue(truth.has_line or truth.says, name)


class Running(unittest.TestCase):
    def run_text(self, text, limit=30):
        with tempfile.TemporaryDirectory() as folder:
            return record.run([sys.executable, "-c", text], pathlib.Path(folder), limit)

    def test_clocks_are_the_last_object(self):
        self.assertEqual(self.run_text('print("{}"); print(\'{"work_s": 2}\'); print("bye")')["work_s"], 2)

    def test_missing_package_is_skipped(self):
        with self.assertRaisesRegex(record.Skipped, "no_such_package"):
            self.run_text("import no_such_package")

    def test_missing_gpu_is_skipped(self):
        with self.assertRaisesRegex(record.Skipped, "one GPU"):
            self.run_text('print(\'{"skip": "one GPU"}\')')

    def test_failure_keeps_its_messages(self):
        with self.assertRaisesRegex(record.Failed, "what went wrong"):
            self.run_text('raise SystemExit("what went wrong")')

    def test_endless_run_is_ended(self):
        with self.assertRaisesRegex(record.Failed, "not done after"):
            self.run_text("import threading; threading.Event().wait()", limit=0.5)

    def test_parts_are_packed(self):
        with tempfile.TemporaryDirectory() as folder:
            part = pathlib.Path(folder, "id", "scope.1.log")
            part.parent.mkdir()
            part.write_text("{}\n" * 1000)
            self.assertLess(record.pack(pathlib.Path(folder)), 1000)
            self.assertEqual([p.name for p in part.parent.iterdir()], ["scope.1.log.gz"])

    def test_parts_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            part, to = pathlib.Path(folder, "from", "id", "scope.1.log.gz"), pathlib.Path(folder, "to")
            part.parent.mkdir(parents=True)
            text = "".join(f'{{"row": {k}}}\n' for k in range(1000))
            part.write_bytes(gzip.compress(text.encode()))
            (part.parent.parent / "measured.json").write_text("{}")
            (part.parent.parent / "failed.txt").write_text("a path of the machine")
            keep.keep(part.parent.parent, to)
            kept = to / "id" / "scope.1.log.zst"
            self.assertEqual(sorted(p.name for p in to.rglob("*") if p.is_file()), ["measured.json", kept.name])
            self.assertEqual(parts.lines_of(kept), text.splitlines())
            kept.write_bytes(kept.read_bytes()[:-6])
            with self.assertRaisesRegex(ValueError, "damaged"):
                parts.lines_of(kept)
            kept.write_bytes(b"{}")
            with self.assertRaisesRegex(ValueError, "not a frame"):
                parts.lines_of(kept)


if __name__ == "__main__":
    unittest.main()
