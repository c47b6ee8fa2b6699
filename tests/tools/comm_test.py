"""headrace comm bench, plan and dump."""
import json
import os
import subprocess
import time

import support

OPERATIONS = ["all_reduce", "broadcast", "reduce", "gather", "all_gather", "scatter",
              "reduce_scatter", "all_to_all", "barrier", "send"]


class Comm(support.ToolTest):
    def bench(self, ranks, *arguments):
        """The rows of a run on so many ranks."""
        self.ok("launch", "-n", ranks, "--", "headrace", "comm", "bench", "--seconds", 0.005,
                "--json", "rows.json", *arguments)
        return json.loads((self.folder / "rows.json").read_text())

    def test_every_operation_is_right(self):
        for in_place in [[], ["--in-place"]]:
            rows = self.bench(3, "--op", ",".join(OPERATIONS), "--max", "300K", "--factor", 200,
                              *in_place)
            self.assertEqual({row["operation"] for row in rows}, set(OPERATIONS))
            self.assertEqual({row["errors"] for row in rows}, {0})
            self.assertEqual({row["ranks"] for row in rows}, {3})

    def test_every_type_and_reduction_is_right(self):
        for dtype in ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64"]:
            for reduce in ["sum", "product", "min", "max", "average"]:
                rows = self.bench(2, "--dtype", dtype, "--reduce", reduce, "--max", "4K", "--min",
                                  "4K", "--op", "all_reduce,reduce_scatter")
                self.assertEqual([row["errors"] for row in rows], [0, 0], (dtype, reduce))

    def test_bandwidths(self):
        row = self.bench(4, "--min", "1M", "--max", "1M", "--transport", "shm")[0]
        self.assertEqual(row["bytes"], 1 << 20)
        self.assertEqual(row["count"], 1 << 18)
        self.assertAlmostEqual(row["algbw_gb_per_second"], row["bytes"] / row["seconds"] / 1e9)
        self.assertAlmostEqual(row["busbw_gb_per_second"], 1.5 * row["algbw_gb_per_second"])

    def test_table(self):
        text = self.ok("launch", "-n", 2, "--transport", "tcp", "--", "headrace", "comm", "bench",
                       "--max", "64", "--factor", 8, "--seconds", 0.005, "--algorithm",
                       "all_reduce=ring")
        self.assertIn("[0] # 2 ranks, transport tcp, float32, out of place", text)
        self.assertRegex(text, r"\[0\] +64 +16 +all_reduce +ring +[\d.]+ +[\d.]+ +[\d.]+ +0\n")
        self.assertNotIn("[1]", text)

    def test_wrong_use(self):
        for saying, *arguments in [
                ("there is no operation 'sum'; there are: send, recv, barrier", "--op", "sum"),
                ("there is no element type 'bool'", "--dtype", "bool"),
                ("there is no reduction 'mean'", "--reduce", "mean"),
                ("--min expects bytes such as 8, 64K or 1G, got '5x'", "--min", "5x"),
                ("--max expects bytes", "--max", "0"),
                ("--max expects bytes", "--max", "99999999999999999999"),
                ("--min 1K is more than --max 8", "--min", "1K", "--max", "8"),
                ("--factor: expected a whole number from 2, got 1", "--factor", "1"),
                ("--root 1 is not a rank of 1", "--root", "1")]:
            self.fails(2, saying, "comm", "bench", *arguments)
        self.fails(1, "no transport 'pigeon'", "comm", "bench", "--transport", "pigeon")
        self.fails(1, "needs two ranks", "comm", "bench", "--op", "send")
        self.fails(2, "subcommand", "comm")

    def test_plan(self):
        text = self.ok("comm", "plan", "-n", 3, "--transport", "tcp", "--max", "1M")
        self.assertIn("3 ranks\ncost model latency_seconds ", text)
        self.assertRegex(text, r"all_reduce +8 +recursive_doubling ")
        plan = self.json_of("comm", "plan", "--op", "all_reduce,broadcast", "--min", "1M", "--max",
                            "1M", "--algorithm", "broadcast=chain", "--json", "-")
        reduce, broadcast = plan["plans"]
        self.assertEqual(plan["ranks"], 2)
        self.assertEqual((reduce["operation"], reduce["bytes"]), ("all_reduce", 1 << 20))
        costs = {one["algorithm"]: one["seconds"] for one in reduce["estimates"]}
        self.assertEqual(min(costs, key=costs.get), reduce["algorithm"])
        self.assertEqual((broadcast["algorithm"], broadcast["pinned"]), ("chain", True))
        self.fails(1, "has no algorithm 'magic'", "comm", "plan", "--algorithm", "reduce=magic")

    def test_calibration(self):
        path = self.folder / "costs.txt"
        os.environ["HEADRACE_CALIBRATION"] = str(path)
        try:
            usual = self.json_of("comm", "plan", "--op", "all_reduce", "--max", "8", "--json", "-")
            self.assertEqual(usual["calibration"]["source"], "default")
            self.ok("comm", "calibrate", "--transport", "shm")
            text = path.read_text()
            self.assertRegex(text, r"(?s)^headrace calibration 1\nmachine \S+\nlink shm .*\nend\n$")
            plan = self.json_of("comm", "plan", "--op", "all_reduce", "--max", "8",
                                "--transport", "shm", "--json", "-")
            self.assertEqual(plan["calibration"]["source"], "file")
            latency = float(text.split("link shm ")[1].split()[0])
            self.assertEqual(plan["cost_model"]["latency_seconds"], latency)
            self.ok("launch", "-n", 2, "--", "headrace", "comm", "calibrate")
            both = path.read_text()
            self.assertIn("link shm " + text.split("link shm ")[1].split("\n")[0] + "\n", both)
            self.assertRegex(both, r"\nlink tcp .*\nend\n$")
            self.assertEqual(both.count("\nshared "), 1)
            self.assertEqual(both.count("\nreduce "), text.count("\nreduce "))
            self.fails(2, "expected inproc, shm, ucx or tcp, got auto", "comm", "calibrate",
                       "--transport", "auto")
            path.write_text(text.replace("link shm", "link shm -1"))
            self.assertIn("line 3 is invalid", self.ok("comm", "plan", "--max", "8"))
        finally:
            del os.environ["HEADRACE_CALIBRATION"]

    def test_plan_of_a_launch(self):
        text = self.ok("launch", "-n", 3, "--", "headrace", "comm", "plan", "--max", "8")
        self.assertIn("[0] 3 ranks\n", text)
        self.assertNotIn("[1]", text)

    def test_dump(self):
        folder = self.folder / "dumps"
        environment = {**os.environ, "HEADRACE_DUMP_FOLDER": str(folder)}
        # Rank 1 calls something else than the others: all get one cause, and write what they did.
        script = ("if [ $RANK = 1 ]; then set -- --min 64; fi; exec %s comm bench --max 64 "
                  "--seconds 0.01 $*" % support.TOOL)
        done = self.run_tool("launch", "-n", 3, "--", "sh", "-c", script, env=environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("called different operations", done.stderr)
        text = self.ok("comm", "dump", folder, "--last", 3)
        for rank in range(3):
            self.assertIn(f"dumps/world-0-{rank}.json: ", text)
        self.assertRegex(text, r"all_reduce\(sum, float32\[2\]\)")
        self.assertRegex(text, r"failed +all_reduce")
        self.assertRegex(text, r"group world-0, all its ranks\n +file +collectives called")
        one = folder / "world-0-2.json"
        records = self.json_of("comm", "dump", one, "--json", "-")[str(one)]
        self.assertEqual(records, json.loads(one.read_text()))

    def test_dump_of_running_ranks(self):
        folder = self.folder / "live"
        environment = {**os.environ, "HEADRACE_DUMP_FOLDER": str(folder)}
        command = [support.TOOL, "launch", "-n", "2", "--", support.TOOL, "comm", "bench",
                   "--max", "64", "--seconds", "60"]
        ranks = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            operation = ""
            for _ in range(200):
                if (folder / "world-0-1.flight").exists():
                    operation = self.ok("comm", "dump", folder)
                    if "all_reduce(sum" in operation:
                        break
                time.sleep(0.1)
            self.assertIn("all_reduce(sum", operation)
            self.assertIn("live/world-0-0.flight: ", operation)
            self.assertIn("group world-0, all its ranks", operation)
            self.assertIsNone(ranks.poll())
        finally:
            ranks.terminate()
            ranks.wait()

    def test_damaged_dumps(self):
        (self.folder / "empty").mkdir()
        self.fails(1, "no .flight and no .json files in 'empty'", "comm", "dump", "empty")
        self.fails(1, "cannot read 'nosuch'", "comm", "dump", "nosuch")
        for text in ["", "{}", "[1]", '[{"number": 1}]', '[{"number": "x"}]']:
            (self.folder / "bad.json").write_text(text)
            self.fails(1, "'bad.json' is not a file of a flight recorder", "comm", "dump", "bad.json")
        (self.folder / "bad.flight").write_text("[]")
        self.fails(1, "'bad.flight' is not a flight recorder's file", "comm", "dump", "bad.flight")


if __name__ == "__main__":
    support.main()
