"""headrace bench, profile and roof."""
import json
import os
import unittest

import support

LIBRARY = support.TOOL.parent.parent / "lib/libheadrace.so"


class Bench(support.ToolTest):
    def test_report(self):
        report = self.json_of("bench", "mlp.hrg", "--batch", 5, "--seconds", 0.05, "--threads", 1,
                              "--json", "-")
        self.assertEqual(report["inputs"][0]["type"], "float32[5, 1, 4, 4]")
        self.assertEqual((report["signature"], report["threads"]), ("infer", 1))
        times = report["latency_ms"]
        ordered = [times[key] for key in ("min", "median", "p90", "p99", "max")]
        self.assertEqual(ordered, sorted(ordered))
        self.assertAlmostEqual(report["examples_per_second"], 5 * times["runs_per_second"])
        self.assertGreater(report["peak_memory_bytes"], 1 << 20)
        self.assertGreater(report["arena_bytes"], 0)

    def test_a_batch_is_one_for_all_inputs(self):
        text = self.ok("bench", "mlp.hrg", "--signature", "train", "--batch", 6, "--seconds", 0.05)
        for words in ("images float32[6, 1, 4, 4] from random", "labels int64[6] from random",
                      "learning_rate float32[] from 0", "examples a second", "peak memory"):
            self.assertIn(words, text)

    # A sanitizer must be the first library of a process, and the tool brings the other one first.
    @unittest.skipIf(os.environ.get("HEADRACE_TEST_SANITIZER"), "a sanitizer's library")
    def test_against_itself(self):
        for path in (LIBRARY, LIBRARY.parent):
            report = self.json_of("bench", "mlp.hrg", "--batch", 2, "--seconds", 0.1, "--rounds", 5,
                                  "--threads", 1, "--against", path, "--json", "-")
            self.assertEqual(report["other"]["library"], str(LIBRARY.resolve()))
            ratio = report["ratio"]
            self.assertLessEqual(ratio["low"], ratio["median"])
            self.assertLessEqual(ratio["median"], ratio["high"])
            self.assertEqual(report["rounds"], 5)
        text = self.ok("bench", "mlp.hrg", "--seconds", 0.1, "--against", LIBRARY)
        self.assertRegex(text, r"15 rounds in turn: .* times as fast as the other \(90 %: .*\): ")

    def test_against_what_is_no_library(self):
        (self.folder / "libheadrace.so").write_bytes(b"no library")
        bench = ["bench", "mlp.hrg", "--seconds", 0.1, "--against"]
        self.fails(1, "no library 'none'", *bench, "none")
        done = self.run_tool(*bench, ".")
        self.assertEqual(done.returncode, 1)
        self.assertIn("was not loaded", done.stderr)
        self.fails(1, "no signature 'x'", "bench", "mlp.hrg", "--signature", "x")
        self.fails(2, "--batch: expected a whole number from 1, got 0", "bench", "mlp.hrg", "--batch",
                   0)


class Profile(support.ToolTest):
    def profile(self, *more):
        return self.json_of("profile", "mlp.hrg", "--batch", 8, "--runs", 3, "--json", "-", *more)

    def test_sums(self):
        report = self.profile()
        self.assertEqual(sum(one["steps"] for one in report["kernels"]), len(report["steps"]))
        self.assertAlmostEqual(sum(one["ms"] for one in report["kernels"]),
                               sum(one["ms"] for one in report["steps"]))
        self.assertGreater(report["between_steps_ms"], 0)
        self.assertTrue(any(one["operations"] > 0 for one in report["steps"]))
        self.assertGreater(report["roof"]["operations"], 1e8)
        self.assertRegex(report["first"], "^Look first at .*\\.$")

    def test_tables(self):
        text = self.ok("profile", "mlp.hrg", "--batch", 8, "--runs", 2, "--rows", 1)
        for words in ("between steps", "GFLOP/s", "thread 0 works", "Look first at", "steps\n",
                      "node\n"):
            self.assertIn(words, text)

    def test_trace(self):
        self.profile("--signature", "train", "--trace", "trace.json", "--threads", 2)
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        kinds = {kind: [event for event in events if event["ph"] == kind] for kind in "MXC"}
        self.assertEqual([event["tid"] for event in kinds["M"]], [0, 1])
        slices = [event for event in kinds["X"] if event["tid"] == 0]
        for before, after in zip(slices, slices[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1e-6)
        self.assertEqual(len(kinds["C"]), len(slices) + 1)
        self.assertGreater(max(event["args"]["bytes"] for event in kinds["C"]), 0)

    def profile_ranks(self, ranks, *more):
        done = self.run_tool("launch", "-n", ranks, "--quiet", "--no-prefix", "--", support.TOOL,
                             "profile", "mirrored.hrg", "--signature", "train", "--batch", 8,
                             "--threads", 1, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_ranks(self):
        report = json.loads(self.profile_ranks(3, "--runs", 5, "--json", "-"))
        self.assertEqual([rank["rank"] for rank in report["ranks"]], [0, 1, 2])
        for rank in report["ranks"]:
            parts = [rank[name + "_ms"] for name in ("computes", "starts", "between_steps",
                                                     "waits_for_ranks", "waits_for_data")]
            self.assertAlmostEqual(sum(parts), rank["ms"])
            self.assertGreaterEqual(min(parts), 0)
            self.assertAlmostEqual(sum(rank["waits_for_rank_ms"]), rank["waits_for_ranks_ms"])
            self.assertEqual(rank["waits_for_rank_ms"][rank["rank"]], 0, "it waits for itself")
        # One host has one clock.
        for rank in report["ranks"][1:]:
            self.assertLessEqual(abs(rank["clock_shift_ns"]), rank["clock_uncertainty_ns"])
        text = self.profile_ranks(2, "--runs", 2)
        self.assertRegex(text, r"2 ranks on one clock, to within [0-9.]+ us")
        for words in ("Look first at", "waits for ranks", "waits for data"):
            self.assertEqual(text.count(words), 1, "rank 0 alone reports")

    def test_trace_of_ranks(self):
        self.profile_ranks(2, "--runs", 3, "--trace", "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        waits = 1000
        for rank in (0, 1):
            own = [event for event in events if event["pid"] == rank]
            names = {event["args"]["name"] for event in own if event["ph"] == "M"}
            self.assertEqual(names, {f"rank {rank}", "thread 0, runs the steps", "waits"})
            begins = {event["id"]: event for event in own if event["ph"] == "b"}
            ends = {event["id"]: event for event in own if event["ph"] == "e"}
            self.assertEqual(begins.keys(), ends.keys())
            self.assertGreaterEqual(len(begins), 2)
            for number, begin in begins.items():
                self.assertLess(begin["ts"], ends[number]["ts"])
            self.assertLessEqual({event["name"] for event in own if event["tid"] == waits and
                                  event["ph"] == "X"}, {f"rank {1 - rank}", "data"})
        # No operation ends on a rank before it has begun on both.
        both = [[event["ts"] for event in events if event["ph"] == "b" and event["pid"] == rank]
                for rank in (0, 1)]
        ended = [event["ts"] for event in events if event["ph"] == "e" and event["pid"] == 0]
        slack = 200  # microseconds by which the clocks may differ
        for begin, other, end in zip(*both, ended):
            self.assertLess(max(begin, other), end + slack)

    def test_roof(self):
        self.assertRegex(self.ok("roof"), r"^1 thread: [0-9.]+ GFLOP/s, [0-9.]+ GB/s\n$")


if __name__ == "__main__":
    support.main()
