"""Runs the cases of a test file concurrently: for cases that wait for another program nearly all of their time.

Each case has to have its own folders, ports and processes. Cases of a class with a setUpClass share its objects, so
they run one after another. Standard library only."""
import concurrent.futures
import os
import sys
import time
import unittest

WORKERS = 2 if os.environ.get("GPUFL_SANITIZE") else 4  # under a sanitizer a case needs the processors most of the time


def cases_of(suite):
    for x in suite:
        if isinstance(x, unittest.TestSuite):
            yield from cases_of(x)
        else:
            yield x


def units(suite):
    """Suites that may run concurrently."""
    classes = {}
    for case in cases_of(suite):
        shares = type(case).setUpClass.__func__ is not unittest.TestCase.setUpClass.__func__
        classes.setdefault(type(case) if shares else case, []).append(case)
    return [unittest.TestSuite(x) for x in classes.values()]


def run(unit):
    result, begun = unittest.TestResult(), time.monotonic()
    names = [str(x) for x in unit]
    unit.run(result)
    return names, result, time.monotonic() - begun


def main(arguments):
    """arguments: the program's name, then names of cases; without names all of the file."""
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    names = arguments[1:]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    begun, bad, count, skipped = time.monotonic(), 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, x) for x in units(suite)]):
            names, result, took = done.result()
            count += result.testsRun
            skipped += len(result.skipped)
            for case, why in result.skipped:
                print(f"skipped {case}: {why}")
            faults = result.errors + result.failures
            for case, text in faults:
                print(f"{'=' * 70}\nFAIL: {case}\n{text}")
            bad += len(faults) + len(result.unexpectedSuccesses)
            print(f"{'FAIL' if faults else 'ok'} {took:6.2f} s  {', '.join(names)}", flush=True)
    print(f"\nRan {count} tests in {time.monotonic() - begun:.3f}s, {bad} failed, {skipped} skipped")
    sys.exit(1 if bad or not count else 0)
