# SPDX-License-Identifier: MIT
"""Runs the suites of a build through `meson test`, one after the other, and counts; see tests/run."""

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]

# Tests at the same time, for two cores: mounted tests wait for the disk half of their time, and those
# of `fault` keep it busy.
JOBS = {"unit": 2, "cli": 3, "fs": 3, "fault": 2}
SANITIZED = ("unit", "fs")
TAP_LINE = re.compile(r"(not )?ok\b *\d* *(?:- *)?([^#]*?) *(?:# *(SKIP|TODO)\b *(.*))?$", re.IGNORECASE)


@dataclass
class Verdict:
    name: str  # SUITE/TEST or SUITE/TEST:FUNCTION
    result: str  # passed, failed or skipped
    reason: str = ""


def tests_of(build: Path) -> dict[str, list[str]]:
    """The names of the tests of each suite, in the order the suites are to run."""
    out = subprocess.run(
        ["meson", "introspect", "--tests", str(build)], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, list[str]] = {suite: [] for suite in JOBS}
    for test in json.loads(out):
        for suite in test["suite"]:
            project, _, name = suite.partition(":")
            if project == "fencefs" and name:
                found.setdefault(name, []).append(test["name"])
    return {suite: names for suite, names in found.items() if names}


def chosen(names: list[str], patterns: list[str]) -> list[str]:
    wanted = [pattern.partition(":")[0] for pattern in patterns]
    return [name for name in names if any(fnmatch.fnmatchcase(name, p) for p in wanted)]


def explain(record: dict):
    """Prints what a TAP test said of its failures, which meson keeps to itself."""
    failing = False
    for line in record.get("stdout", "").splitlines():
        if TAP_LINE.match(line):
            failing = line.startswith("not ")
        if failing:
            print(line)


def verdicts(suite: str, record: dict) -> list[Verdict]:
    """Those of one line of meson's log: of each function when the test prints TAP."""
    name = f"{suite}/{record['name']}"
    result = record["result"]
    found = []
    for line in record.get("stdout", "").splitlines():
        match = TAP_LINE.match(line)
        if match:
            failed, function, directive, reason = match.groups()
            is_skip = (directive or "").upper() == "SKIP"
            what = "skipped" if is_skip else "failed" if failed else "passed"
            found.append(Verdict(f"{name}:{function}", what, reason or ""))
    if result in ("OK", "EXPECTEDFAIL"):
        return found or [Verdict(name, "passed")]
    if result == "SKIP":
        plan = re.search(r"^1\.\.0 *# *SKIP *(.*)", record.get("stdout", ""), re.MULTILINE)
        return found or [Verdict(name, "skipped", plan[1] if plan else "")]
    if not any(verdict.result == "failed" for verdict in found):
        found.append(Verdict(name, "failed", result))
    return found


def run_suite(suite: str, names: list[str], args) -> list[Verdict]:
    log = args.build / "meson-logs" / f"{suite}.json"
    log.unlink(missing_ok=True)
    functions = [p.partition(":")[2] for p in args.names if ":" in p]
    env = dict(os.environ, FENCE_TIME_SCALE=str(args.scale), FENCE_BUILD=str(args.build))
    if functions:
        env["FENCE_TESTS"] = " ".join(functions)
    print(f"\n== {suite}", flush=True)
    subprocess.run(
        ["meson", "test", "-C", str(args.build), "--no-rebuild", "--print-errorlogs"]
        + ["--suite", f"fencefs:{suite}", "--logbase", suite]
        + ["--num-processes", str(JOBS.get(suite, 2)), "--timeout-multiplier", str(args.scale)]
        + names,
        env=env,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    found = []
    seen = Counter()
    if log.exists():
        with open(log, encoding="utf-8", errors="replace") as file:
            for line in file:
                record = json.loads(line)
                record["name"] = record["name"].rpartition(" / ")[2]  # meson may put suites before
                explain(record)
                seen[record["name"]] += 1
                found += verdicts(suite, record)
    found += [Verdict(f"{suite}/{n}", "failed", "did not run") for n in names if not seen[n]]
    return found


def may_skip() -> list[str]:
    lines = (SOURCE / "tests/may-skip").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def forbid_skips(found: list[Verdict]):
    """In CI a skip of what CI has is a failure."""
    allowed = may_skip()
    for verdict in found:
        names = (verdict.name, verdict.name.partition(":")[0], verdict.name.partition("[")[0])
        if verdict.result == "skipped" and not any(name in allowed for name in names):
            verdict.result = "failed"
            verdict.reason = f"skipped in CI: {verdict.reason}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--started", type=float, default=0, help="seconds spent before")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.build = args.build.resolve()

    start = time.monotonic() - args.started
    suites = tests_of(args.build)
    wanted = args.suite or [s for s in suites if not args.sanitized or args.names or s in SANITIZED]
    for suite in [s for s in wanted if s not in suites and s not in JOBS]:
        print(f"no suite {suite}; there are: {' '.join(suites)}", file=sys.stderr)
        return 2
    found: list[Verdict] = []
    for suite in [s for s in suites if s in wanted]:
        names = chosen(suites[suite], args.names) if args.names else suites[suite]
        if names:
            found += run_suite(suite, names, args)
    if args.names and not found:
        print(f"no test is named {' '.join(args.names)}", file=sys.stderr)
        return 2
    if os.environ.get("CI") == "true":
        forbid_skips(found)

    print()
    for result in ("skipped", "failed"):
        for verdict in found:
            if verdict.result == result:
                print(f"{result}: {verdict.name}" + (f" ({verdict.reason})" if verdict.reason else ""))
    count = Counter(verdict.result for verdict in found)
    print(f"total time: {time.monotonic() - start:.0f} s")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not found else 0


if __name__ == "__main__":
    sys.exit(main())
