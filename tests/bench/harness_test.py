#!/usr/bin/env python3
"""Tests of the harness with sides that are shell one-liners."""
import argparse
import contextlib
import io
import math
import os
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock
from xml.etree import ElementTree

from harness import (against, catalog, heat_map, instructions, machine, peers, report, runner,
                     sweep, sweep_report, verdict)
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

    def test_pairs_are_compared_in_their_language(self):
        benchmark = catalog.Benchmark(name="b", about="", unit="s", cases=["c"], paired=True,
                                      peers=["p-go", "p-rust"])
        one = runner.Runner(benchmark, self.ARGS)
        commands = {}
        for name, value, result in (("headrace-go", 2, 1), ("headrace-rust", 3, 1), ("p-go", 8, 1),
                                    ("p-rust", 6, 1.5)):
            answer = f'{{"values": [{value}], "version": "7", "result": [{result}]}}'
            commands[name] = [sys.executable, "-c",
                              f"import sys\nfor line in sys.stdin: print('{answer}', flush=True)"]
        results = one._results("c", one._measure(commands, None), None)
        of_go = next(results)
        self.assertEqual((of_go["ours"], of_go["peer"], of_go["ratio"], of_go["peer_name"]),
                         (2, 8, 4, "p-go 7"))
        with self.assertRaisesRegex(runner.Failure, "p-rust and headrace-rust compute different"):
            next(results)

    def test_the_script_of_a_language_is_told_the_engine(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "side_go"
            script.touch()
            of = peers.language_side
            self.assertEqual(of("go", script.parent)("/x"), [str(script), "/x"])
            self.assertEqual(of("p-go", script.parent)("/x"), [str(script), "/x", "p"])
            self.assertIsNone(of("torch", script.parent))

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


def measured(ours, **theirs):
    return {"times": {"headrace": ours, **theirs}, "peaks": {}, "errors": {}, "accuracy": {},
            "others": 0}


class Verdicts(unittest.TestCase):
    FAST, SLOW = measured([1, 1.01], p=[2, 2.01]), measured([2, 2.01], p=[1, 1.01])
    UNSURE = measured([1.1, 0.9], p=[1, 1])

    def test_the_interval_is_students(self):
        # Logarithms of the ratios 0, 1 and 2 e's: mean 1, deviation 1; 2.92 / sqrt(3) = 1.686.
        low, high = verdict.interval([1, 1, 1], [1, math.e, math.e ** 2])
        self.assertAlmostEqual(math.log(low), 1 - 1.686, 3)
        self.assertAlmostEqual(math.log(high), 1 + 1.686, 3)
        self.assertIsNone(verdict.interval([1], [2]))

    def test_the_best_peer_counts(self):
        one = verdict.judge(measured([2, 2], p=[3, 3], q=[1, 1]), ["p", "q"])
        self.assertEqual((one["peer_name"], one["ratio"], one["high"]), ("q", 0.5, 0.5))
        one = verdict.judge(measured([2, 2], p=[3, 3], q=[1, 1]), ["p"])
        self.assertEqual((one["peer_name"], one["ratio"]), ("p", 1.5))

    def test_what_failed_has_no_ratio(self):
        self.assertIsNone(verdict.judge(measured([], p=[3, 3]), ["p"])["ratio"])
        self.assertIsNone(verdict.judge(measured([1, 1]), ["p"])["ratio"])

    def test_short_is_behind_for_sure_in_two_runs(self):
        self.assertFalse(verdict.is_short([self.SLOW], "p"))
        self.assertTrue(verdict.is_short([self.SLOW, self.SLOW], "p"))
        self.assertFalse(verdict.is_short([self.SLOW, self.FAST], "p"))
        self.assertFalse(verdict.is_short([self.SLOW, self.UNSURE], "p"))
        self.assertFalse(verdict.is_short([self.UNSURE, self.UNSURE], "p"))

    def test_one_alternation_is_not_judged(self):
        self.assertFalse(verdict.is_short([measured([2], p=[1])] * 2, "p"))

    def test_a_cliff_is_a_rise_that_the_peer_has_not(self):
        even = {1: 1, 2: 2, 4: 4, 8: 8}
        self.assertEqual(verdict.cliffs({1: 1, 2: 2, 4: 5.6, 8: 11.2}, even), [4])
        self.assertEqual(verdict.cliffs({1: 1, 2: 2, 4: 5, 8: 10}, even), [])
        self.assertEqual(verdict.cliffs({1: 1, 2: 2, 4: 5.6}, {1: 1, 2: 2, 4: 5.6}), [])
        self.assertEqual(verdict.cliffs({1: 1, 4: 5.6, 8: None}, even), [4])  # neighbours measured

    def test_scores_differ(self):
        self.assertIsNone(verdict.scores_differ([1, -2.001], [1, -2], []))
        self.assertAlmostEqual(verdict.scores_differ([1, -2.01], [1, -2], []), 0.005)
        self.assertIsNotNone(verdict.scores_differ([1, math.nan], [1, 2], []))
        self.assertIsNotNone(verdict.scores_differ([math.nan, 2], [1, 2], []))
        self.assertIsNotNone(verdict.scores_differ([1], [1, 2], []))

    def test_losses_differ(self):
        self.assertIsNone(verdict.losses_differ([7, 6.99, 6.971], [7, 6.99, 6.97], []))
        self.assertIsNotNone(verdict.losses_differ([7.1, 7.09, 7.07], [7, 6.99, 6.97], []))
        self.assertIsNotNone(verdict.losses_differ([7, 6.99, 6.98], [7, 6.99, 6.97], []))
        self.assertIsNotNone(verdict.losses_differ([7, 7, math.nan], [7, 7, 7], []))
        self.assertIsNone(
            verdict.losses_differ([6.91415882, 6.91415787], [6.91415882, 6.91415834], []))
        self.assertIsNotNone(verdict.losses_differ([6.914159, 6.914156], [6.914159, 6.914158], []))

    def test_losses_are_as_near_to_the_exact_ones(self):
        exact, peer = [7, 6.99, 6.95], [7, 6.99, 6.97]
        self.assertTrue(verdict.losses_as_near([7, 6.99, 6.925], peer, exact))
        self.assertFalse(verdict.losses_as_near([7, 6.99, 6.915], peer, exact))
        self.assertFalse(verdict.losses_as_near([7.1, 7.09, 7.05], peer, exact))
        self.assertFalse(verdict.losses_as_near([7, 6.99, math.nan], peer, exact))

    def test_the_worst_tensor_counts(self):
        error = verdict.rms_error(2)
        self.assertAlmostEqual(error([300, 400, 1.1, 1], [300, 400, 1, 1]), math.sqrt(0.005))
        self.assertIsNotNone(verdict.errs(error)([math.nan] * 4, [1] * 4, []))

    def test_peers_that_differ_allow_it(self):
        ours, one, other = [7, 6.99, 6.98], [7, 6.99, 6.97], [7, 6.99, 6.975]
        self.assertIsNone(verdict.losses_differ(ours, one, [other]))
        self.assertIsNotNone(verdict.losses_differ(ours, one, [one]))
        self.assertIsNotNone(verdict.losses_differ([7.1, 7.09, 7.07], one, [other]))


SPEEDS = """
import json, os, sys
value, agrees = float(sys.argv[1]), float(sys.argv[2])
for line in sys.stdin:
    case, repeats = line.split()
    cell, _, what = case.rpartition("/")
    open(os.environ["ASKED"], "a").write(f"{sys.argv[3]} {case}\\n")
    batch = int(cell.split("/")[2])
    got = [value * batch if what == "time" else agrees] * int(repeats)
    print(json.dumps({"error": "out of luck"} if value < 0 else {"values": got}), flush=True)
"""


class Sweeps(unittest.TestCase):
    def setUp(self):
        runner.REST_SECONDS = 0
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "asked").touch()

    def sweep(self, minutes=9, values=(1, 1), agree=(1, 1), check=None, **more):
        """Runs two cells with two alternations; the results, and what the sides were asked."""
        check = check or catalog.Check(2, verdict.scores_differ)
        kind = catalog.Sweep(rows=["net"], modes=["infer"], columns=[1, 2],
                             peers_of=lambda row, mode, column: ["p"],
                             check_of=lambda row, mode: check,
                             extra_sides={"portable": {"ASKED": os.devnull}})
        benchmark = catalog.Benchmark(name="b", about="", unit="ms", cases=kind.cases, peers=["p"],
                                      repeats=2, sweep=kind)
        args = argparse.Namespace(**{**dict(
            repeats=None, case=None, peer=None, peers_only=False, build=self.folder, threads=2,
            against=None, minutes=minutes, state=self.folder / "state.json", sample=None, seed=1),
            **more})
        one = sweep.SweepRunner(benchmark, args)
        asked = {"ASKED": str(self.folder / "asked")}
        command = {name: [sys.executable, "-c", SPEEDS, str(value), str(same), name]
                   for name, value, same in zip(("headrace", "p", "portable"), (*values, 1),
                                                (*agree, 1))}
        command["before"] = command["p"]
        with mock.patch.object(one, "_install"), mock.patch.object(one, "_models"), \
             mock.patch.object(one, "_programs", lambda: {name: command[name] for name
                                                          in ("headrace", "portable")}), \
             mock.patch.object(one, "_command", command.get), \
             mock.patch.object(one, "_state", lambda: sweep.State(args.state, "this build")), \
             mock.patch.object(sweep, "environment", lambda threads, folder: asked), \
             contextlib.redirect_stderr(io.StringIO()) as said:
            results = one.run()
        self.said = said.getvalue()
        return results, (self.folder / "asked").read_text().splitlines()

    def test_sides_agree_and_then_take_turns(self):
        results, asked = self.sweep(values=(1, 3))
        self.assertEqual([one["ratio"] for one in results], [3, 3])
        self.assertEqual([one["ours"] for one in results], [1, 2])
        self.assertEqual(results[0]["sides"], {"headrace": [1, 1], "p": [3, 3], "portable": [1]})
        self.assertEqual(asked[:8], [f"{side} net/infer/1/{what}" for side, what in (
            ("headrace", "check"), ("p", "check"), ("headrace", "time"), ("p", "time"),
            ("p", "time"), ("headrace", "time"), ("headrace", "peak"), ("p", "peak"))])

    def test_goes_on_where_it_stopped(self):
        results, _ = self.sweep(minutes=0)
        self.assertEqual(results, [])
        self.assertIn("2 of 2 cells are left", self.said)
        self.sweep()
        before = (self.folder / "asked").read_text().splitlines()
        results, after = self.sweep()
        self.assertEqual(len(results), 2)
        self.assertEqual(before, after)  # nothing was measured again

    def test_two_builds(self):
        for _ in range(2):
            results, _ = self.sweep(values=(3, 1), against=self.folder)
        self.assertEqual([one["peer_name"] for one in results], ["before"] * 2)
        self.assertEqual(against.worse(results), results)
        results, _ = self.sweep(values=(1, 3), against=self.folder, state=self.folder / "other")
        self.assertEqual(against.worse(results), [])

    def test_what_was_behind_is_measured_once_more(self):
        results, _ = self.sweep(values=(3, 1))
        self.assertEqual([(one["short"], one["behind"]) for one in results], [(False, True)] * 2)
        self.assertIn("2 of 2 cells are left", self.said)
        results, _ = self.sweep(values=(3, 1))
        self.assertEqual([(one["short"], one["behind"]) for one in results], [(True, False)] * 2)
        self.assertEqual(self.said, "")

    def test_another_build_is_another_sweep(self):
        self.sweep()
        with self.assertRaisesRegex(peers.Failure, "measured with this build, and this is another"):
            sweep.State(self.folder / "state.json", "another")

    def test_a_side_that_computes_something_else_is_not_timed(self):
        results, asked = self.sweep(agree=(1.1, 1))
        self.assertIsNone(results[0]["ratio"])
        self.assertIn("headrace computes something else", results[0]["errors"]["headrace"])
        self.assertNotIn("headrace net/infer/1/time", asked)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            sweep_report.print_all(self.kind(), results)
        self.assertIn("FAILED", out.getvalue())

    def kind(self):
        return catalog.Sweep(["net"], ["infer"], [1, 2], None, None)

    def test_errors_stand_beside_the_peers(self):
        error = verdict.rms_error(2)
        check = catalog.Check(2, verdict.errs(error), "exact", error)
        results, asked = self.sweep(agree=(1 + 1e-5, 1), check=check)
        self.assertIn("p net/infer/1/exact", asked)
        self.assertAlmostEqual(results[0]["accuracy"]["headrace"], 1e-5)
        self.assertEqual((results[0]["accuracy"]["p"], results[0]["errors"]), (0, {}))
        results, _ = self.sweep(agree=(1 + 1e-3, 1), check=check, state=self.folder / "other.json")
        self.assertIn("headrace", results[0]["errors"])

    def test_an_arbiter_has_the_last_word(self):
        for near in (True, False):
            check = catalog.Check(2, verdict.scores_differ, arbiter="p",
                                  as_near=lambda values, expected, exact: near)
            results, asked = self.sweep(agree=(1.1, 1), check=check, state=self.folder / str(near))
            self.assertIn("p net/infer/1/exact", asked)
            self.assertEqual("headrace" in results[0]["errors"], not near)
            self.assertEqual(results[0]["sides"]["p"], [1, 1])

    def test_a_side_that_fails_costs_its_part_only(self):
        results, _ = self.sweep(values=(1, -1))
        self.assertEqual(results[0]["errors"], {"p": "p: out of luck"})
        self.assertEqual(results[0]["sides"], {"headrace": [1, 1], "portable": [1]})

    def test_what_other_programs_compute_is_told(self):
        with mock.patch.object(machine, "busy_seconds", mock.Mock(side_effect=range(0, 800, 200))):
            results, _ = self.sweep()
        self.assertGreater(results[0]["others"], 1)  # 200 s in less than that
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            sweep_report.print_all(self.kind(), results)
        self.assertIn("measure on a quiet one", out.getvalue())
        with Side("a", [sys.executable, "-c", "for i in range(10**7): pass\ninput()"], None) as one:
            while one.cpu_seconds() < 0.1:
                pass

    def test_samples_are_drawn_by_their_seed(self):
        cases = [str(number) for number in range(100)]
        drawn = sweep.sample(cases, 24, 1)
        self.assertEqual(drawn, sweep.sample(cases, 24, 1))
        self.assertNotEqual(drawn, sweep.sample(cases, 24, 2))
        self.assertEqual(len(drawn), 24)
        self.assertEqual(drawn, sorted(drawn, key=int))
        self.assertEqual(sweep.sample(cases, None, 1), cases)

    def test_peaks_beyond_what_they_may_be_are_named(self):
        kind = catalog.Sweep(["net"], ["infer"], [1, 2, 4], None, None,
                             most_of_peak={"infer": ("p", 0.7)})
        cells = [{"case": f"net/infer/{batch}", "peaks": {"headrace": ours, "p": theirs}}
                 for batch, ours, theirs in ((1, 5, 10), (2, 9, 10), (4, 1, None))]
        beyond, text = sweep_report.peaks(kind, cells, "infer")
        self.assertEqual(beyond, {"net/infer/2": 0.9})
        self.assertIn("in 1 of 2 cells, 0.9 times in net/infer/2", text)
        self.assertEqual(sweep_report.peaks(kind, cells[2:], "infer"),
                         ({}, "infer: no peak memory of p"))

    def test_tables_and_picture(self):
        self.sweep(values=(3, 1))
        results, _ = self.sweep(values=(3, 1))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            sweep_report.print_all(self.kind(), results)
        self.assertRegex(out.getvalue(), r"net/infer/1 +3 +1 +1 +0.3333 +0.33-0.33 +1 +SHORT")
        self.assertRegex(out.getvalue(), r"\nnet +0.33! +0.33!\n")
        self.assertIn("2 short; p: our time / its 3,", out.getvalue())
        self.assertIn("cliffs: none", out.getvalue())
        drawing = ElementTree.fromstring(heat_map.svg(self.kind(), results))
        self.assertEqual([one.text for one in drawing.iter("{http://www.w3.org/2000/svg}text")
                          if one.text.startswith("0")], ["0.33", "0.33"])
        self.assertEqual(heat_map.colour(1), "#ffffff")
        self.assertNotEqual(heat_map.colour(2), heat_map.colour(0.5))


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
