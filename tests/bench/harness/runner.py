"""Runs one benchmark: ours and the peers in turn, repeated, and what comes of it."""
import contextlib
from fnmatch import fnmatchcase as fnmatch
import sys
import tempfile
import time

from . import machine, peers
from .peers import ROOT, Failure
from .side import Side, SideError

# Idle threads of an OpenMP team spin for up to 0.2 s; let the last side's come to rest.
REST_SECONDS = 0.3
TOLERANCE = 1e-4  # of what the sides of a pair compute in float32
OURS = "headrace"
FLOOR = "floor"


def is_near(one, other):
    return abs(one - other) <= TOLERANCE * max(1, abs(one), abs(other))


def rotated(items, number):
    first = number % max(1, len(items))
    return items[first:] + items[:first]


class Runner:
    def __init__(self, benchmark, args):
        self._benchmark = benchmark
        self._args = args
        self._repeats = args.repeats or benchmark.repeats
        self._cases = [case for case in benchmark.cases
                       if not args.case or any(fnmatch(case, one) for one in args.case)]
        if not self._cases:
            raise Failure(f"{benchmark.name} has the cases {', '.join(benchmark.cases)}")
        self._peers = self._choose_peers()
        self._told = {}  # (side, case): version and result, of paired benchmarks

    def _choose_peers(self):
        wanted = self._args.peer
        if wanted is None:
            return self._benchmark.peers
        known = self._benchmark.peers + self._benchmark.more_peers
        unknown = [peer for peer in wanted if peer not in known + ["none"]]
        if unknown:
            raise Failure(f"{self._benchmark.name} has no peer {unknown[0]}; it has "
                          f"{', '.join(known) or 'none'}")
        return [peer for peer in wanted if peer != "none"]

    def run(self):
        """A list of results, one for each case and peer, as they go into the JSON."""
        self._install()
        limits = self._machine() if self._benchmark.floor else None
        programs = {} if self._benchmark.ours else self._programs()
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
            if self._benchmark.prepare:
                self._benchmark.prepare(self._args.build, scratch)
            environment = peers.environment(self._args.threads, scratch)
            if self._benchmark.prepared:
                peers.prepare(self._benchmark.folder, environment)
            commands = {**programs, **{peer: self._command(peer) for peer in self._peers}}
            try:
                values = self._measure(commands, environment)
            except SideError as error:
                raise Failure(str(error)) from error
        return [result for case in self._cases for result in self._results(case, values, limits)]

    def _install(self):
        for peer in self._peers:
            if not peers.language_side(peer, self._benchmark.folder):
                peers.install(peer)

    def _command(self, peer):
        side = peers.language_side(peer, self._benchmark.folder)
        if side is None:
            return peers.command(peer, self._benchmark.folder)
        return side(machine.prefix_of(self._args.build))

    def _ours_for(self, peer):
        """The side of ours that is compared with the peer."""
        return f"{OURS}-{peer.rpartition('-')[2]}" if self._benchmark.paired else OURS

    def _programs(self):
        if self._args.peers_only:
            return {}
        if self._benchmark.paired:
            machine.build(self._args.build, "headrace")
            return {side: self._command(side) for side in map(self._ours_for, self._peers)}
        targets = {OURS: self._benchmark.target}
        if self._benchmark.floor_program:
            targets[FLOOR] = self._benchmark.floor_program
        return {side: [str(machine.build(self._args.build, target))]
                for side, target in targets.items()}

    def _sources(self):
        """{side: the source tree that a benchmark without a program looks at}"""
        return {} if self._args.peers_only else {OURS: ROOT}

    def _machine(self):
        return machine.limits(self._args.build, self._args.threads)

    def _measure(self, commands, environment):
        """{(side, case): [values]}: every side once, then every side again, … Who starts changes."""
        values = {}
        rounds = self._repeats + self._benchmark.warm_up
        with contextlib.ExitStack() as stack:
            sides = {}
            for case in self._cases:
                for number in range(rounds):
                    for name, command in rotated(list(commands.items()), number):
                        self._progress(case, number, rounds, name)
                        got = self._once(stack, sides, name, command, environment, case)
                        if number >= self._benchmark.warm_up:
                            values.setdefault((name, case), []).extend(got)
                if self._benchmark.ours:
                    for name, source in self._sources().items():
                        values[name, case] = [self._benchmark.ours(case, source)]
        self._progress_done()
        return values

    def _once(self, stack, sides, name, command, environment, case):
        time.sleep(REST_SECONDS)
        environment = self._of_side(name, environment)
        if self._benchmark.fresh_process:
            with Side(name, command, environment) as side:
                return side.measure(case, 1)
        if name not in sides:
            sides[name] = stack.enter_context(Side(name, command, environment))
        values = sides[name].measure(case, 1)
        self._told[name, case] = sides[name].version, sides[name].result
        return values

    def _of_side(self, name, environment):
        return environment

    def _results(self, case, values, limits):
        floor = self._summary(values.get((FLOOR, case)), None)
        if limits:
            floor = self._benchmark.floor(case, limits)
        for peer in self._peers or [None]:
            ours = self._summary(values.get((self._ours_for(peer), case)), floor)
            theirs = self._summary(values.get((peer, case)), floor)
            version = self._check_pair(peer, case) if self._benchmark.paired and ours else ""
            yield {"benchmark": self._benchmark.name, "case": case,
                   "unit": self._benchmark.unit_of(case), "ours": ours, "peer_name": f"{peer} {version}" if version else peer,
                   "peer": theirs, "ratio": self._ratio(ours, theirs), "floor": floor,
                   "repeats": self._repeats}

    def _check_pair(self, peer, case):
        """Fails if the two sides have not computed the same; returns the peer's version."""
        (_, ours), (version, theirs) = self._told[self._ours_for(peer), case], self._told[peer, case]
        if len(ours) != len(theirs) or not all(map(is_near, ours, theirs)):
            raise Failure(f"{case}: {peer} and {self._ours_for(peer)} compute different things: "
                          f"{theirs[:3]} … and {ours[:3]} …")
        return version

    def _summary(self, values, floor):
        if not values:
            return None
        middle = self._benchmark.middle(values)
        return middle - floor if self._benchmark.overhead and floor else middle

    def _ratio(self, ours, theirs):
        if not ours or not theirs:
            return None
        return ours / theirs if self._benchmark.higher_is_better else theirs / ours

    def _progress(self, case, number, rounds, side):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{self._benchmark.name} {case}: {number + 1} of {rounds}, {side}")
            sys.stderr.flush()

    def _progress_done(self):
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
