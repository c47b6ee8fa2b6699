"""Runs a sweep: cell after cell, as many as there is time for. What was measured stands in a file
outside of the source tree, so that the same command goes on where it stopped."""
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time

from . import machine, runner, verdict
from .against import BEFORE
from .peers import VENV, Failure, environment, install
from .runner import OURS, Runner
from .side import Side, SideError

CELL_SECONDS = 20


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(base) / "headrace-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(*files):
    """Of what is in the files, short enough for a name."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()[:12]


class State:
    """{case: [runs]} in a file, see verdict.py. It is written after each cell."""

    def __init__(self, path, identity):
        self._path = pathlib.Path(path)
        self._all = {"identity": identity, "cells": {}}
        if self._path.exists():
            self._all = json.loads(self._path.read_text())
        if self._all["identity"] != identity:
            raise Failure(f"{path} was measured with {self._all['identity']}, and this is "
                          f"{identity}; name another --state, or remove the file")

    def runs(self, case):
        return self._all["cells"].get(case, [])

    def add(self, case, run):
        self._all["cells"].setdefault(case, []).append(run)
        beside = self._path.with_suffix(".part")
        beside.write_text(json.dumps(self._all, indent=1) + "\n")
        beside.rename(self._path)


def pending(cases, state, peers_of):
    """What is to be measured: what was not yet, and then what was behind once."""
    new = [case for case in cases if not state.runs(case)]
    again = [case for case in cases if len(state.runs(case)) == 1
             and verdict.is_behind(state.runs(case)[0], peers_of(case))]
    return new + again


def sample(cases, count, seed):
    """`count` of the cases in their order, or all."""
    if count is None or count >= len(cases):
        return cases
    drawn = set(random.Random(seed).sample(range(len(cases)), count))
    return [case for number, case in enumerate(cases) if number in drawn]


class SweepRunner(Runner):
    def __init__(self, benchmark, args):
        super().__init__(benchmark, args)
        self._sweep = benchmark.sweep
        self._cases = sample(self._cases, args.sample, args.seed)
        self._sides, self._commands, self._environment, self._limits = {}, {}, None, None

    def run(self):
        self._install()
        self._limits = self._machine() if self._benchmark.floor else None
        self._commands = {**self._programs(), **{peer: self._command(peer) for peer in self._peers}}
        state = self._state()
        self._environment = environment(self._args.threads, self._models())
        until = time.monotonic() + 60 * self._args.minutes
        try:
            for case in (todo := pending(self._cases, state, self._peers_of)):
                if time.monotonic() + CELL_SECONDS > until:
                    break
                self._progress(case, len(self._cases) - len(todo), len(self._cases), "all sides")
                state.add(case, self._cell(case))
        finally:
            for name in list(self._sides):
                self.drop(name)
        self._progress_done()
        if left := len(pending(self._cases, state, self._peers_of)):
            print(f"{self._benchmark.name}: {left} of {len(self._cases)} cells are left; the same "
                  "command goes on with them", file=sys.stderr)
        return [self._result(case, state.runs(case)) for case in self._cases if state.runs(case)]

    def _programs(self):
        ours = super()._programs()
        return {**ours, **({name: ours[OURS] for name in self._sweep.extra_sides} if ours else {})}

    def _install(self):
        for peer in self._peers:
            if peer != BEFORE and peer not in self._sweep.programs:
                install(peer)

    def _command(self, peer):
        if peer == BEFORE:
            return [str(machine.build(self._args.against, self._benchmark.target))]
        if peer in self._sweep.programs:
            return [str(machine.build(self._args.build, self._sweep.programs[peer]))]
        return super()._command(peer)

    def _choose_peers(self):
        return [BEFORE] if self._args.against else super()._choose_peers()

    def _peers_of(self, case):
        if self._args.against:
            return [BEFORE]
        return [peer for peer in self._sweep.peers_of(*parts(case)) if peer in self._peers]

    def _state(self):
        library = self._args.build / "lib/libheadrace.so"
        ours = self._commands.get(OURS)
        built = digest(library, pathlib.Path(ours[0])) if ours else "none"
        identity = {"built": built, "threads": self._args.threads, "peers": sorted(self._peers)}
        if self._args.against:
            identity[BEFORE] = digest(self._args.against / "lib/libheadrace.so")
        name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]
        return State(self._args.state or cache() / f"{self._benchmark.name}-{name}.json", identity)

    def _models(self):
        """The folder with what the sides read."""
        install("models")
        program = self._benchmark.folder.parent / self._sweep.models
        folder = cache() / f"models-{digest(*sorted(program.parent.glob('*_torch.py')))}"
        folder.mkdir(exist_ok=True)
        rows = sorted({parts(case)[0] for case in self._cases})
        missing = [row for row in rows if not (folder / f"{row}.done").exists()]
        if missing:
            print(f"writing {', '.join(missing)} to {folder}", file=sys.stderr)
            done = subprocess.run([VENV / "bin/python", program, folder, *missing],
                                  env=environment(self._args.threads, folder))
            if done.returncode != 0:
                raise Failure(f"{program} failed (see above)")
        return folder

    def _side(self, name):
        if name not in self._sides:
            own = {**self._environment, **self._sweep.extra_sides.get(name, {})}
            self._sides[name] = Side(name, self._commands[name], own)
        return self._sides[name]

    def drop(self, name):
        if name in self._sides:
            self._sides.pop(name).close()

    def _cell(self, case):
        """Measures it once; see verdict.py."""
        begin, computed = time.monotonic(), self._by_others()
        cell = Cell(self, case, [name for name in [OURS, *self._sweep.extra_sides,
                                                   *self._peers_of(case)] if name in self._commands])
        cell.check(self._sweep.check_of(*parts(case)[:2]), self._peers_of(case))
        cell.measure(self._repeats, self._sweep.extra_sides)
        capacity = os.cpu_count() * (time.monotonic() - begin)
        return {**cell.run, "others": max(0, self._by_others() - computed) / capacity}

    def _by_others(self):
        """Seconds that others than the sides have computed. (A side that ended counts among them.)"""
        return machine.busy_seconds() - sum(side.cpu_seconds() for side in self._sides.values())

    def ask(self, name, case, repeats):
        """What the side answers. One that failed starts anew the next time."""
        try:
            return self._side(name).measure(case, repeats)
        except SideError:
            self.drop(name)
            raise

    def _result(self, case, runs):
        peers = self._peers_of(case)
        run = verdict.latest(runs, peers)
        one = verdict.judge(run, peers)
        if self._args.against:
            one["worse"] = verdict.is_short(runs, peers)
        return {"benchmark": self._benchmark.name, "case": case, "unit": self._benchmark.unit,
                **one, "floor": self._limits and self._benchmark.floor(case, self._limits),
                "repeats": len(run["times"].get(OURS, [])),
                "short": verdict.is_short(runs, peers),
                "behind": len(runs) == 1 and verdict.is_behind(runs[0], peers), "runs": len(runs),
                "sides": run["times"],
                **{key: run[key] for key in ("peaks", "errors", "accuracy", "others")}}


class Cell:
    def __init__(self, asker, case, sides):
        self._ask, self._drop, self._case, self._sides = asker.ask, asker.drop, case, sides
        self.run = {"times": {}, "peaks": {}, "errors": {}, "accuracy": {}}

    def _try(self, name, what, repeats):
        """The side's answer; None after an error, which ends its part in this cell."""
        try:
            return self._ask(name, f"{self._case}/{what}", repeats)
        except SideError as error:
            self._fail(name, str(error))
            return None

    def _fail(self, name, sentence):
        self.run["errors"][name] = sentence
        self._sides.remove(name)

    def check(self, check, peers):
        """Lets every side run a first time, and compares what it computes with the first peer's."""
        answers = {name: self._try(name, "check", check.count) for name in list(self._sides)}
        of_peers = [answers[peer] for peer in peers if answers.get(peer)]
        expected = of_peers[0] if of_peers else None
        if check.expected != "check" and peers and peers[0] != BEFORE:
            expected = self._try(peers[0], check.expected, check.count)
        for name in list(self._sides) if expected else ():
            if check.error:
                self.run["accuracy"][name] = check.error(answers[name], expected)
            differs = check.differ(answers[name], expected, of_peers[1:])
            if differs and not self._is_as_near(check, answers[name], expected, peers[0]):
                self._fail(name, f"{name} computes something else: {answers[name][:4]} instead of "
                                 f"{expected[:4]}, {differs:.2g} of the largest")

    def _is_as_near(self, check, values, expected, peer):
        """Whether the peer is the check's arbiter, and its exact numbers are no nearer to what it
        computes else. It starts anew, since they have taken memory."""
        if peer != check.arbiter or not (exact := self._try(peer, "exact", check.count)):
            return False
        self._drop(peer)
        return check.as_near(values, expected, exact)

    def measure(self, repeats, once_only):
        """Alternations, of which at least one is complete. The sides `once_only` are in the first
        alone."""
        until = time.monotonic() + CELL_SECONDS
        for number in range(repeats):
            sides = [name for name in self._sides if number == 0 or name not in once_only]
            got = {name: self._time(name) for name in runner.rotated(sides, number)
                   if number == 0 or time.monotonic() < until}
            if number == 0 or len(got) == len(sides):
                for name, values in got.items():
                    self.run["times"].setdefault(name, []).extend(values or [])
        for name in list(self._sides):
            self.run["peaks"][name] = (self._try(name, "peak", 1) or [None])[0]

    def _time(self, name):
        time.sleep(runner.REST_SECONDS)
        return self._try(name, "time", 1)


def parts(case):
    row, mode, column = case.split("/")
    return row, mode, int(column)
