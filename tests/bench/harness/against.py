"""Compares two builds of ours, and one of them with itself, in turn."""
import pathlib
import random

from . import machine
from .peers import ROOT, Failure
from .runner import OURS, Runner

BEFORE = "before"
ITSELF = "itself"  # ours in a second process: what differs then is chance
LEAST_ALLOWED = 0.03
LEAST_REPEATS = 7  # for a spread that says something
SAMPLES = 1000


class Against(Runner):
    """Runs a benchmark of the build `args.build` and of the build `args.against`."""

    def __init__(self, benchmark, args):
        super().__init__(benchmark, args)
        deterministic = benchmark.repeats == 1
        self._repeats = args.repeats or (1 if deterministic else max(benchmark.repeats,
                                                                     LEAST_REPEATS))

    def _choose_peers(self):
        if self._benchmark.paired:
            raise Failure(f"{self._benchmark.name} has no program of ours that two builds could run; "
                          "leave --against out")
        return []

    def _programs(self):
        ours = super()._programs()[OURS]
        before = [str(machine.build(self._args.against, self._benchmark.target))]
        return {OURS: ours, BEFORE: before, ITSELF: ours}

    def _sources(self):
        return {OURS: ROOT, BEFORE: machine.source_of(self._args.against)}

    def _of_side(self, name, environment):
        """A scratch folder for each, since ranks meet there."""
        scratch = pathlib.Path(environment["HEADRACE_BENCH_SCRATCH"]) / name
        scratch.mkdir(exist_ok=True)
        return {**environment, "HEADRACE_BENCH_SCRATCH": str(scratch)}

    def _machine(self):
        return None  # floors say nothing about two builds

    def _results(self, case, values, limits):
        yield compare(self._benchmark, case, values.get((OURS, case)), values.get((BEFORE, case)),
                      values.get((ITSELF, case)), self._repeats)


def compare(benchmark, case, ours, before, itself, repeats):
    """One result. `worse` says that ours is worse by more than what is allowed: LEAST_ALLOWED, or
    the spread where that is larger."""
    middle = benchmark.middle
    both = ours + (itself or [])  # the same build
    spread = spread_of(middle, ours, itself) if itself else 0.0
    allowed = max(LEAST_ALLOWED, spread)
    ratio = ratio_of(middle(both), middle(before), benchmark.higher_is_better)
    return {"benchmark": benchmark.name, "case": case, "unit": benchmark.unit_of(case),
            "ours": middle(both), "peer_name": BEFORE, "peer": middle(before), "ratio": ratio,
            "floor": None, "repeats": repeats, "spread": spread, "allowed": allowed,
            "worse": ratio * (1 + allowed) < 1}


def ratio_of(ours, before, higher_is_better):
    """Above 1 ours is better; equal values, 0 included, are as good as each other."""
    if ours == before:
        return 1.0
    above, below = (ours, before) if higher_is_better else (before, ours)
    return above / below if below else float("inf")


def spread_of(middle, one, other):
    """By how much the middles of two runs of one build differ in nine of ten samples (a bootstrap
    with a fixed seed)."""
    draw = random.Random(1)
    differences = []
    for _ in range(SAMPLES):
        a, b = middle(draw.choices(one, k=len(one))), middle(draw.choices(other, k=len(other)))
        differences.append(abs(a / b - 1) if b else 0.0 if a == b else 1.0)
    return sorted(differences)[SAMPLES * 9 // 10]


def worse(results):
    return [one for one in results if one.get("worse")]


def check(folder):
    if not (folder / "CMakeCache.txt").exists():
        raise Failure(f"--against expects the folder of a build, which holds a CMakeCache.txt; "
                      f"{folder} does not")
