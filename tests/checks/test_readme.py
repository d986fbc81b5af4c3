#!/usr/bin/env python3
"""The README's report is what `gpufl report` prints for the recorded session, and every page for users of AMD's GPUs
says that nothing has run on such hardware.

    test_readme.py GPUFL REPOSITORY
"""
import pathlib
import re
import subprocess
import sys

gpufl, root = sys.argv[1], pathlib.Path(sys.argv[2])
page = (root / "README.md").read_text()
block = next((text for text in re.findall(r"^```\n(.*?)^```$", page, re.S | re.M) if "Where the time went" in text), None)
if block is None:
    sys.exit("test_readme: README.md has no report any more")
session = re.search(r"`gpufl report (examples/data/\S+)`", page)
if session is None:
    sys.exit("test_readme: README.md does not say which recorded session the report is of")
done = subprocess.run([gpufl, "report", str(root / session[1])], capture_output=True, text=True, check=True)
printed = iter(done.stdout.splitlines())
# The page has whole lines in their order; "…" replaces lines that it leaves out.
shown = [line for line in block.splitlines() if not line.startswith("$") and line.strip() != "…"]
missing = [line for line in shown if not any(line == other for other in printed)]
if missing or len(shown) < 5:
    sys.exit("test_readme: gpufl report does not print, in this order:\n" + "\n".join(missing or shown))
print(f"test_readme: {len(shown)} lines of the report are as in README.md")

WORDS = re.compile(r"\bAMD\b|\bHIP\b|\bROCm\b")
pages = [root / "README.md", root / "docs/README.md", root / "docs/amd.md", root / "docs/monitor.md",
         *(path for path in (root / "docs/man").glob("*.1") if WORDS.search(path.read_text())),
         *(path for path in (root / "docs/adr").glob("*.md") if re.search(r"amd|rocprofiler|hip", path.name))]
silent = [str(path.relative_to(root)) for path in pages if "not verified on hardware" not in " ".join(path.read_text().lower().split())]
if silent or len(pages) < 15:
    sys.exit(f"test_readme: of {len(pages)} pages about AMD's GPUs these do not say 'not verified on hardware': {silent}")
print(f"test_readme: {len(pages)} pages about AMD's GPUs say that nothing was verified on hardware")
