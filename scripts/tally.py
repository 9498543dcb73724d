#!/usr/bin/env python3
"""Counts test results for suites.sh in a file, a JSON object a suite.

    tally.py read FILE SUITE LOG REPEAT      LOG is meson's testlog.json
    tally.py passed|failed|skipped FILE SUITE NAME [REPEAT]
    tally.py sum FILE                        exit 1 if anything failed

A program of cmocka tests counts with each of its tests, any other program as one: a test that
skips itself inside of a program would else not be seen.
"""
import json
import re
import sys

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# cmocka's closing lines, and the lines that name a test.
CMOCKA_COUNT = re.compile(r"^\[  (PASSED |FAILED |SKIPPED) \] (\d+) test\(s\)", re.M)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] (?!\d+ test)(.+?)$", re.M)


def empty(suite):
    return {"suite": suite, PASSED: 0, FAILED: 0, SKIPPED: 0, "failures": []}


def add_program(entry, test, repeat):
    """Adds one line of meson's log."""
    count = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    output = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    for word, number in CMOCKA_COUNT.findall(output):
        count[word.strip().lower()] += int(number)
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        if not any(count.values()):
            count[PASSED] = 1
    elif test["result"] == "SKIP":
        if not any(count.values()):
            count[SKIPPED] = 1
    else:
        # A program that broke off never came to its closing lines.
        count[FAILED] = max(count[FAILED], 1)
        name = test["name"].split(" / ")[-1]
        inner = sorted(set(CMOCKA_FAILED.findall(output)))
        entry["failures"].append({
            "name": name + (": " + ", ".join(inner) if inner else ""),
            "result": test["result"],
            "repeat": f"{repeat} {name}",
        })
    for key, number in count.items():
        entry[key] += number


def read(suite, log, repeat):
    entry = empty(suite)
    try:
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                add_program(entry, json.loads(line), repeat)
    except FileNotFoundError:
        pass
    if not entry[PASSED] + entry[FAILED]:
        entry[FAILED] += 1
        entry["failures"].append({"name": "no test ran", "result": "ERROR", "repeat": repeat})
    return entry


def single(kind, suite, name, repeat=""):
    entry = empty(suite)
    entry[kind] = 1
    if kind == FAILED:
        entry["failures"].append({"name": name, "result": "FAIL", "repeat": repeat})
    return entry


def totals(entry):
    return f"{entry[PASSED]} passed, {entry[FAILED]} failed, {entry[SKIPPED]} skipped"


def sum_up(path):
    total = empty("all")
    with open(path, encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            print(f"{entry['suite']}: {totals(entry)}")
            for key in (PASSED, FAILED, SKIPPED):
                total[key] += entry[key]
            total["failures"] += [dict(f, suite=entry["suite"]) for f in entry["failures"]]
    for failure in total["failures"]:
        print(f"{failure['result']}: {failure['suite']} / {failure['name']}")
        print(f"    {failure['repeat']}")
    print()
    print(totals(total))
    return 1 if total[FAILED] or not total[PASSED] else 0


def main(argv):
    command, path = argv[1], argv[2]
    if command == "sum":
        return sum_up(path)
    entry = read(*argv[3:]) if command == "read" else single(command, *argv[3:])
    with open(path, "a", encoding="utf-8") as out:
        out.write(json.dumps(entry) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
