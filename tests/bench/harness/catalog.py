"""What a benchmark is, and where they are found: NAME/benchmark.py sets BENCHMARK."""
import dataclasses
import runpy
import statistics
from typing import Callable, Optional


@dataclasses.dataclass
class Machine:
    """What this machine can do at most, with the threads of the run; measured by `headrace roof`."""
    flops: float  # float32 operations a second
    bytes: float  # bytes of memory a second, read and written


@dataclasses.dataclass
class Check:
    """How the sides of a sweep have to agree before they are timed."""
    count: int                       # of the numbers that each gives
    differ: Callable                 # differ(values, expected, those of the other peers), or None
    expected: str = "check"          # what the first peer is asked for, or "exact"
    error: Optional[Callable] = None  # error(values, expected), which goes into the report
    arbiter: str = ""                # a peer that is asked for "exact" if a side differs from it:
    as_near: Optional[Callable] = None  # as_near(values, expected, exact) has the last word


@dataclasses.dataclass
class Sweep:
    """A benchmark of many cells, whose cases are ROW/MODE/COLUMN (a network, what is done with it, a
    batch). Its sides answer CASE/time, CASE/peak and CASE/check (see Cells in peer.py)."""
    rows: list
    modes: list
    columns: list                    # numbers, rising
    peers_of: Callable               # peers_of(row, mode, column)
    check_of: Callable               # check_of(row, mode): a Check
    extra_sides: dict = dataclasses.field(default_factory=dict)  # {name: environment} of ours
    models: Optional[str] = None     # a program of the peers that writes what the sides read
    programs: dict = dataclasses.field(default_factory=dict)  # {peer: target}, if it is built here
    most_of_peak: dict = dataclasses.field(default_factory=dict)  # {mode: (peer, what of its peak)}

    @property
    def cases(self):
        return [f"{row}/{mode}/{column}" for row in self.rows for mode in self.modes
                for column in self.columns]


@dataclasses.dataclass
class Benchmark:
    name: str
    about: str
    unit: str
    cases: list
    peers: list                      # names: the file peer_NAME.py stands beside benchmark.py
    more_peers: list = dataclasses.field(default_factory=list)  # only where asked for
    higher_is_better: bool = False
    repeats: int = 5
    warm_up: bool = True             # one run of each side that does not count
    fresh_process: bool = False      # a new process for every run: memory, loading
    prepared: bool = False           # prepare.py writes what all sides read
    # Or mean, where the runs are samples (seeds), or min, where others only ever add time to what is
    # a few nanoseconds.
    statistic: str = "median"
    floor: Optional[Callable] = None  # floor(case, Machine) in the benchmark's unit
    floor_program: Optional[str] = None  # or a target of ours that measures it, in turn with the rest
    overhead: bool = False           # report time − floor in place of time
    units: dict = dataclasses.field(default_factory=dict)  # of cases that have their own
    ours: Optional[Callable] = None  # ours(case, source tree) instead of a program: things not timed
    counted: bool = False            # an overhead: --instructions counts those of a call
    # A peer is ENGINE-LANGUAGE, and ours is compared with it in that language: both are sides by the
    # script side_LANGUAGE, and both tell what they have computed.
    paired: bool = False
    prepare: Optional[Callable] = None  # prepare(build, scratch): makes what sides find in scratch
    sweep: Optional[Sweep] = None    # measured in parts, see sweep.py
    sides: Optional[str] = None      # another benchmark's folder, whose sides measure this one

    def unit_of(self, case):
        return self.units.get(case, self.unit)

    @property
    def target(self):
        """The name of our program."""
        return "bench_" + (self.sides or self.name).replace("-", "_")

    def middle(self, values):
        return min(values) if self.statistic == "min" else getattr(statistics, self.statistic)(values)


def load(folder):
    """All benchmarks below `folder` by name."""
    found = (runpy.run_path(str(path))["BENCHMARK"] for path in folder.glob("*/benchmark.py"))
    benchmarks = {benchmark.name: benchmark for benchmark in found}
    for name, benchmark in benchmarks.items():
        benchmark.folder = folder / (benchmark.sides or name)
    return dict(sorted(benchmarks.items()))
