#!/usr/bin/env python3
"""systemd accepts the units of deploy/systemd, and rates each of them as hardened.

    test_units.py REPOSITORY PROGRAM...

The programs are the built ones; every option in a unit is an option of its program. Exits with 77 if systemd-analyze is
missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPOSURE_MOST = 20  # tenths; of 100

root, programs = pathlib.Path(sys.argv[1]), [pathlib.Path(p).resolve() for p in sys.argv[2:]]
if not shutil.which("systemd-analyze"):
    print("test_units: systemd-analyze is not installed (Debian: systemd)")
    sys.exit(77)


def analyze(*words):
    """Returns what systemd finds wrong."""
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=60, check=False)
    said = done.stderr + ("" if words[0] == "verify" else done.stdout)
    return said if done.returncode or (words[0] == "verify" and said) else ""


def options_of(program):
    text = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    return set(re.findall(r"--[a-z-]+", text))


wrong, units = [], sorted((root / "deploy/systemd").glob("*.service"))
with tempfile.TemporaryDirectory() as folder:
    for unit in units:
        text = unit.read_text()
        for program in programs:
            lines = re.findall(rf"^Exec\w+=/usr/bin/{program.name} (.*)$", text, re.M)
            text = text.replace(f"=/usr/bin/{program.name} ", f"={program} ")
            unknown = {option for line in lines for option in re.findall(r"--[a-z-]+", line)} - (options_of(program) if lines else set())
            if unknown:
                wrong.append(f"{unit.name}: {program.name} has no option {', '.join(sorted(unknown))}")
        copy = pathlib.Path(folder) / unit.name
        copy.write_text(text)
        if "=/usr/bin/" in text:
            wrong.append(f"{unit.name}: it starts a program that is not tested here")
        wrong += [f"{unit.name}: {said}" for said in (analyze("verify", "--man=no", str(copy)),
                                                      analyze("security", "--offline=true", f"--threshold={EXPOSURE_MOST}", str(copy))) if said]
# A drop-in belongs to the unit with which its name begins.
drops = sorted((root / "deploy/systemd").glob("*.conf"))
for drop in drops:
    unit = next(u for u in units if drop.name.startswith(u.stem + "-"))
    with tempfile.TemporaryDirectory() as folder:
        text = unit.read_text()
        for program in programs:
            text = text.replace(f"=/usr/bin/{program.name} ", f"={program} ")
        copy = pathlib.Path(folder) / unit.name
        copy.write_text(text)
        (pathlib.Path(folder) / f"{unit.name}.d").mkdir()
        shutil.copy(drop, pathlib.Path(folder) / f"{unit.name}.d")
        said = analyze("verify", "--man=no", str(copy))
        if said:
            wrong.append(f"{drop.name}: {said}")
if wrong or len(units) < 2:
    sys.exit("test_units: " + ("\n".join(wrong) or "units are missing"))
print(f"test_units: systemd takes {len(units)} units and {len(drops)} drop-ins, each unit with an exposure of at most {EXPOSURE_MOST / 10}")
