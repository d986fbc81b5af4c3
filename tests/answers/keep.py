#!/usr/bin/env python3
"""Puts recorded programs into tests/data/answers, packed by zstd.

    tests/answers/keep.py DIR [NAME ...]

DIR is the folder that record.py wrote. Measurements and the parts of sessions are kept, and no messages of failed runs. A
program without measurements is refused; one that was kept before is replaced. Prints the size of each, and that of all
kept ones.
"""
import argparse
import pathlib
import shutil
import sys

import parts

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "answers"


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def keep(program, to):
    """Copies the measurements and the parts of the sessions, which are packed again."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    shutil.copy(program / "measured.json", to)
    for path in sorted(program.rglob("*.log*")):
        place = to / path.relative_to(program)
        place.parent.mkdir(parents=True, exist_ok=True)
        plain = place.with_suffix("") if path.suffix in (".gz", ".zst") else place
        plain.with_name(f"{plain.name}.zst").write_bytes(parts.zstd_pack(parts.unpacked(path)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    programs = [args.recorded / name for name in args.names] or sorted(path.parent for path in args.recorded.glob("*/measured.json"))
    lacking = [program.name for program in programs if not (program / "measured.json").is_file()]
    if lacking or not programs:
        sys.exit(f"not recorded: {' '.join(lacking) or args.recorded}")
    for program in programs:
        keep(program, DATA / program.name)
        print(f"{program.name}: {size_of(DATA / program.name) / 1024:.0f} KB")
    print(f"all: {sum(size_of(path) for path in DATA.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
