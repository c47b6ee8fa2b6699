"""Counts the instructions of a call: exact where nanoseconds are lost in noise."""
import re
import shutil
import subprocess

from . import against, machine
from .peers import Failure, environment
from .runner import OURS
from .side import Side

CALLS = 2000
TOOL = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def per_call(name, program, case, scratch):
    """The instructions of one call: those of 2 N calls less those of N calls, on one thread."""
    once, twice = (count(name, program, case, calls, scratch) for calls in (CALLS, 2 * CALLS))
    return (twice - once) / CALLS


def count(name, program, case, calls, scratch):
    """The instructions of a process that makes so many calls (and some to set up)."""
    if not shutil.which(TOOL[0]):
        raise Failure("--instructions needs valgrind, which is not installed")
    variables = {**environment(1, scratch), "HEADRACE_BENCH_CALLS": str(calls)}
    log = f"{scratch}/valgrind.txt"
    with Side(name, [*TOOL, f"--log-file={log}", program], variables) as side:
        side.measure(case, 1)
        if side.calls != calls:
            raise Failure(f"the benchmark of {name} was asked for {calls} calls and made "
                          f"{side.calls}; builds from before --instructions cannot be counted")
    with open(log) as file:
        return int(re.search(r"I +refs: +([\d,]+)", file.read())[1].replace(",", ""))


def run(benchmark, args, scratch):
    """A list of results, one for each case."""
    if not benchmark.counted:
        return []
    builds = {OURS: args.build, **({against.BEFORE: args.against} if args.against else {})}
    programs = {name: str(machine.build(folder, benchmark.target)) for name, folder in builds.items()}
    return [result(benchmark, case, {name: per_call(name, program, case, scratch)
                                     for name, program in programs.items()})
            for case in benchmark.cases if not args.case or case in args.case]


def result(benchmark, case, counts):
    if against.BEFORE in counts:
        one = against.compare(benchmark, case, [counts[OURS]], [counts[against.BEFORE]], None, 1)
    else:
        one = {"benchmark": benchmark.name, "case": case, "ours": counts[OURS], "peer_name": None,
               "peer": None, "ratio": None, "floor": None, "repeats": 1}
    return {**one, "unit": "instructions"}
