#!/usr/bin/env python3
"""Prints the slowest tests of a run, and the time that each program took in all.

  scripts/slowest_tests.py FOLDER [COUNT]     FOLDER holds what GTEST_OUTPUT=json:FOLDER/ wrote; COUNT: 20
"""
import collections
import json
import pathlib
import sys


def times(folder):
    """(seconds, program, suite.test)"""
    for path in pathlib.Path(folder).glob("*.json"):
        program = path.stem.split(".")[0]
        # GoogleTest numbers the files of a program's later runs: test_io_1.json.
        program = program.rstrip("0123456789").rstrip("_") or program
        try:
            suites = json.loads(path.read_text())["testsuites"]
        except (OSError, ValueError, KeyError):
            continue  # a program that crashed
        for suite in suites:
            for test in suite["testsuite"]:
                yield float(test["time"].rstrip("s")), program, f"{suite['name']}.{test['name']}"


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    found = sorted(times(sys.argv[1]), reverse=True)
    programs = collections.Counter()
    for seconds, program, _ in found:
        programs[program] += seconds
    print(f"tests: {len(found)}, {sum(programs.values()):.0f} s of processor time")
    print("  " + ", ".join(f"{program} {seconds:.0f} s" for program, seconds in programs.most_common()))
    print(f"the {min(count, len(found))} slowest:")
    for seconds, program, test in found[:count]:
        print(f"  {seconds:6.1f} s  {program} {test}")


if __name__ == "__main__":
    main()
