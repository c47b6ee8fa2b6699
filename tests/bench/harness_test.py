#!/usr/bin/env python3
"""Tests of the harness with sides that are shell one-liners."""
import argparse
import pathlib
import re
import sys
import unittest

from harness import catalog, runner
from harness.side import Side, SideError

ANSWER = "import sys\nfor line in sys.stdin: print('{\"values\": [%s]}', flush=True)"


def side(value):
    return [sys.executable, "-c", ANSWER % value]


class Sides(unittest.TestCase):
    def test_answers(self):
        with Side("a", side("1.5, 2"), None) as one:
            self.assertEqual(one.measure("case", 2), [1.5, 2])
            self.assertEqual(one.measure("case", 2), [1.5, 2])

    def test_errors_are_passed_on(self):
        with Side("a", [sys.executable, "-c", "input(); print('{\"error\": \"no data\"}')"],
                  None) as one:
            with self.assertRaisesRegex(SideError, "a: no data"):
                one.measure("case", 1)

    def test_a_side_that_dies_is_named(self):
        with Side("a", [sys.executable, "-c", "raise SystemExit(3)"], None) as one:
            with self.assertRaisesRegex(SideError, "a ended with status 3"):
                one.measure("case", 1)


class Results(unittest.TestCase):
    ARGS = argparse.Namespace(repeats=3, case=None, peer=None, peers_only=False)

    def setUp(self):
        runner.REST_SECONDS = 0

    def results(self, values, limits=None, **fields):
        benchmark = catalog.Benchmark(**{"name": "b", "about": "", "unit": "s", "cases": ["c"],
                                         "peers": ["p"], **fields})
        return list(runner.Runner(benchmark, self.ARGS)._results("c", values, limits))[0]

    def test_bigger_ratio_is_better_for_us(self):
        values = {("headrace", "c"): [1, 2, 9], ("p", "c"): [8, 6, 7]}
        one = self.results(values)
        self.assertEqual((one["ours"], one["peer"], one["ratio"]), (2, 7, 3.5))
        one = self.results(values, higher_is_better=True)
        self.assertEqual(one["ratio"], 2 / 7)

    def test_overhead_is_above_the_floor(self):
        machine = catalog.Machine(flops=1, bytes=1)
        one = self.results({("headrace", "c"): [2], ("p", "c"): [6]}, machine, overhead=True,
                           floor=lambda case, machine: 1)
        self.assertEqual((one["ours"], one["peer"], one["ratio"], one["floor"]), (1, 5, 5, 1))

    def test_what_was_not_measured_is_null(self):
        one = self.results({("p", "c"): [6]})
        self.assertIsNone(one["ours"])
        self.assertIsNone(one["ratio"])

    def test_sides_take_turns(self):
        benchmark = catalog.Benchmark(name="b", about="", unit="s", cases=["c"], peers=[])
        one = runner.Runner(benchmark, self.ARGS)
        values = one._measure({"headrace": side(1), "p": side(2)}, None)
        self.assertEqual(values, {("headrace", "c"): [1] * 3, ("p", "c"): [2] * 3})

    def test_unknown_names_are_refused(self):
        benchmark = catalog.Benchmark(name="b", about="", unit="s", cases=["c"], peers=["p"])
        args = argparse.Namespace(**{**vars(self.ARGS), "peer": ["q"]})
        with self.assertRaisesRegex(runner.Failure, "has no peer q; it has p"):
            runner.Runner(benchmark, args)


class Documentation(unittest.TestCase):
    def test_names_benchmarks_that_exist(self):
        here = pathlib.Path(__file__).resolve().parent
        known = catalog.load(here)
        page = (here.parent.parent / "docs/benchmarks.md").read_text()
        commands = re.findall(r"`tests/bench/run ((?:[a-z0-9-]+ ?)+)`", page)
        named = {name for command in commands for name in command.split() if name[0] != "-"}
        self.assertEqual(named - known.keys(), set())
        self.assertEqual(known.keys() - named, set(), "not in docs/benchmarks.md")


if __name__ == "__main__":
    unittest.main()
