#!/usr/bin/env python3
"""Tests of the harness with sides that are shell one-liners."""
import argparse
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

from harness import against, catalog, instructions, machine, peers, report, runner
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

    def test_who_starts_changes(self):
        self.assertEqual(runner.rotated([1, 2, 3], 1), [2, 3, 1])
        self.assertEqual(runner.rotated([], 1), [])

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


class TwoBuilds(unittest.TestCase):
    def compared(self, ours, before, itself, **fields):
        benchmark = catalog.Benchmark(**{"name": "b", "about": "", "unit": "s", "cases": ["c"],
                                         "peers": [], **fields})
        return against.compare(benchmark, "c", ours, before, itself, len(ours))

    def test_worse_by_more_than_three_percent(self):
        one = self.compared([104] * 7, [100] * 7, [104] * 7)
        self.assertEqual((one["spread"], one["allowed"], one["worse"]), (0, 0.03, True))
        self.assertFalse(self.compared([102] * 7, [100] * 7, [102] * 7)["worse"])
        self.assertFalse(self.compared([50] * 7, [100] * 7, [50] * 7)["worse"])

    def test_the_spread_of_ours_against_itself_is_allowed(self):
        one = self.compared([100] * 7, [100] * 7, [112] * 7)
        self.assertAlmostEqual(one["spread"], 12 / 112)
        self.assertEqual(one["allowed"], one["spread"])
        self.assertFalse(one["worse"])

    def test_one_outlier_is_no_spread(self):
        self.assertLess(self.compared([10] * 8 + [99], [10] * 9, [10] * 9)["spread"], 0.01)

    def test_where_higher_is_better(self):
        self.assertTrue(self.compared([90] * 7, [100] * 7, [90] * 7, higher_is_better=True)["worse"])
        self.assertFalse(self.compared([110] * 7, [100] * 7, [110] * 7,
                                       higher_is_better=True)["worse"])

    def test_zeros(self):
        self.assertEqual(self.compared([0], [0], [0])["ratio"], 1)
        self.assertTrue(self.compared([5], [0], [5])["worse"])
        self.assertFalse(self.compared([0], [5], [0])["worse"])

    def test_each_build_has_its_own_program_and_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            before = pathlib.Path(folder)
            (before / "CMakeCache.txt").write_text("A:X=1\nCMAKE_HOME_DIRECTORY:INTERNAL=/before\n")
            against.check(before)
            args = argparse.Namespace(repeats=None, case=None, peer=None, peers_only=False,
                                      build=pathlib.Path("ours"), against=before)
            benchmark = catalog.Benchmark(name="a-b", about="", unit="s", cases=["c"], peers=["p"])
            with mock.patch.object(machine, "build", lambda build, target: build / target):
                one = against.Against(benchmark, args)
                self.assertEqual(one._programs(), {
                    "headrace": ["ours/bench_a_b"], "before": [f"{folder}/bench_a_b"],
                    "itself": ["ours/bench_a_b"]})
            self.assertEqual(one._sources()["before"], pathlib.Path("/before"))
            own = one._of_side("itself", {"HEADRACE_BENCH_SCRATCH": folder})
            self.assertEqual(own, {"HEADRACE_BENCH_SCRATCH": f"{folder}/itself"})
            self.assertTrue((before / "itself").is_dir())
            self.assertEqual(one._repeats, against.LEAST_REPEATS)
        with self.assertRaisesRegex(peers.Failure, "expects the folder of a build"):
            against.check(before)

    def test_table(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            report.print_table([self.compared([104] * 7, [100] * 7, [104] * 7)])
        self.assertRegex(out.getvalue(), r"104 +100 +before +0.9615 +- +7 +0.0 % +3.0 % +WORSE")


class Instructions(unittest.TestCase):
    def test_are_those_of_twice_the_calls_less_once(self):
        with mock.patch.object(instructions, "count",
                               lambda name, program, case, calls, scratch: 1000 + 7 * calls):
            self.assertEqual(instructions.per_call("a", "program", "c", "scratch"), 7)

    def test_a_side_that_counts_differently_is_refused(self):
        with tempfile.TemporaryDirectory() as scratch, \
             mock.patch.object(instructions.shutil, "which", lambda tool: tool), \
             mock.patch.object(instructions, "Side") as one:
            one.return_value.__enter__.return_value.calls = None
            with self.assertRaisesRegex(peers.Failure, "asked for 5 calls and made None"):
                instructions.count("a", "program", "c", 5, scratch)


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
