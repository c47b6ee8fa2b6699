"""headrace train: a classifier that learns, stopping and going on, and what can be wrong."""
import gzip
import json
import os
import pty
import signal
import struct
import subprocess
import time

import support

RATE = ["--set", "learning_rate=0.1"]


class Train(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.make_data("train", 96)
        self.make_data("test", 40, seed=2)

    def train(self, *arguments, model="mlp.hrg", data="idx:./data/train"):
        return self.ok("train", model, "--data", data, "--batch", 16, *RATE, *arguments)

    def test_learns_evaluates_and_exports(self):
        self.train("--epochs", 20, "--evaluate", "eval", "--evaluate-data", "idx:./data/test",
                   "--evaluate-every", 60, "--checkpoint", "out/ck", "--events", "out/ev",
                   "--save-every", 50, "--export", "serve.hrg", "--export-signature", "infer",
                   "--export-signature", "eval", "--json", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((report["steps"], report["epochs"], report["stopped"]), (120, 20, False))
        self.assertGreater(report["evaluation"]["accuracy"], 0.9)
        steps = sorted(path.name for path in (self.folder / "out/ck").glob("step-*"))
        self.assertEqual(steps, ["step-000050", "step-000100", "step-000120"])
        self.assertTrue(list((self.folder / "out/ev").glob("events.out.tfevents.*")))
        self.assertEqual(self.run_tool("verify", "out/ck", "serve.hrg").returncode, 0)
        served = self.json_of("inspect", "serve.hrg", "--json")["model"]
        self.assertEqual([s["name"] for s in served["signatures"]], ["infer", "eval"])
        nodes = self.json_of("inspect", "serve.hrg", "--json", "--signature", "infer")["graph"]
        order = [node["name"] for node in nodes["nodes"]]
        self.assertLess(order.index("fc1"), order.index("fc2"), "an export keeps the order")
        self.assertEqual([n["id"] for n in nodes["nodes"]],
                         sorted(n["id"] for n in nodes["nodes"]))
        one = self.json_of("run", "serve.hrg", "--input", "images=random", "--json", "-")
        other = self.json_of("run", "mlp.hrg", "--input", "images=random", "--checkpoint", "out/ck",
                             "--json", "-")
        self.assertEqual(one["outputs"], other["outputs"])

    def test_a_schedule_in_place_of_the_learning_rate(self):
        given = ["--data", "idx:./data/train", "--batch", 16, "--checkpoint", "out/ck"]
        schedule = ["--schedule", "linear base=0.1 steps=12 end=0.01 warmup=2"]
        first = self.ok("train", "mlp.hrg", *given, *schedule, "--steps", 7, "--json", "-")
        report = json.loads(first)
        self.assertAlmostEqual(report["learning_rate"], 0.1 - 0.09 * 4 / 10, places=6)
        done = self.ok("train", "mlp.hrg", *given, *schedule, "--steps", 12, "--resume")
        self.assertIn("learning rate 0.019\n", done)
        for wrong, words in ((["--schedule", "cosine base=1"], "needs steps="),
                             ([*schedule, "--schedule-input", "rate"], "has no input 'rate'")):
            self.assertIn(words, self.run_tool("train", "mlp.hrg", *given[:4], *wrong).stderr)

    def test_keeps_the_best_and_stops_early(self):
        evaluate = ["--evaluate", "eval", "--evaluate-data", "idx:./data/test",
                    "--evaluate-every", 3, "--checkpoint", "out/ck"]
        done = self.train("--epochs", 50, *evaluate, "--best", "max:loss", "--patience", 2,
                          "--export", "serve.hrg", "--json", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertTrue(report["stopped_early"])
        self.assertEqual(report["best"]["metric"], "loss")
        self.assertEqual(report["steps"], report["best"]["step"] + 6)
        self.assertIn(", stopped early", done)
        kept = [path.name for path in (self.folder / "out/ck/best").glob("step-*")]
        self.assertEqual(kept, ["step-%06d" % report["best"]["step"]])
        served = self.json_of("run", "serve.hrg", "--input", "images=random", "--json", "-")
        best = self.json_of("run", "mlp.hrg", "--input", "images=random", "--checkpoint",
                            "out/ck/best", "--json", "-")
        self.assertEqual(served["outputs"], best["outputs"])
        for wrong, words in ((["--best", "f1", *evaluate, "--resume"], "no metric 'f1'"),
                             (["--best", "loss"], "--best needs --evaluate"),
                             (["--patience", 3], "--patience needs --best")):
            self.assertIn(words, self.run_tool("train", "mlp.hrg", "--data", "idx:./data/train",
                                               *RATE, *wrong).stderr)

    def test_plain_lines_where_there_is_no_terminal(self):
        done = self.run_tool("train", "mlp.hrg", "--data", "idx:./data/train", *RATE)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("\r", done.stderr)
        self.assertIn("100% 3/3", done.stderr)
        self.assertIn("step 3, 1 epoch complete, loss ", done.stdout)

    def test_a_bar_shows_no_speed_that_was_not_measured(self):
        done = self.run_tool("train", "mlp.hrg", "--data", "idx:./data/train", *RATE, "--steps", 1)
        self.assertIn("100% 1/1  in 0:0", done.stderr)
        self.assertNotIn("examples/s", done.stderr)

    def test_a_bar_on_a_terminal(self):
        leader, follower = pty.openpty()
        subprocess.run([support.TOOL, "train", "mlp.hrg", "--data", "idx:./data/train", *RATE],
                       cwd=self.folder, stderr=follower, stdout=subprocess.DEVNULL, check=True,
                       timeout=60)
        os.close(follower)
        self.assertIn(b"[====", os.read(leader, 10000))
        os.close(leader)

    def test_resumed_is_as_if_never_stopped(self):
        self.train("--steps", 30, "--checkpoint", "whole")
        self.train("--steps", 13, "--checkpoint", "parts")
        self.assertIn("going on", self.run_tool(
            "train", "mlp.hrg", "--data", "idx:./data/train", "--batch", 16, *RATE, "--steps", 30,
            "--checkpoint", "parts", "--resume").stderr)
        name = next((self.folder / "whole/step-000030").glob("*.safetensors")).name
        whole, parts = ((self.folder / top / "step-000030" / name).read_bytes()
                        for top in ("whole", "parts"))
        self.assertEqual(whole, parts)

    def test_more_epochs_later(self):
        self.train("--epochs", 1, "--checkpoint", "ck")
        self.train("--epochs", 3, "--checkpoint", "ck", "--resume")
        self.assertTrue((self.folder / "ck/step-000018").is_dir())

    def test_a_short_training_leaves_a_curve_and_the_graph(self):
        self.train("--steps", 20, "--events", "out/ev", "--checkpoint", "ck")
        events = self.events("out/ev")
        for tag in (b"train/loss", b"train/examples_per_second"):
            self.assertEqual([step for step, event in events if tag in event],
                             list(range(1, 21)))
        self.assertEqual(sum(b"Placeholder" in event for _, event in events), 1)
        self.train("--steps", 20, "--events", "out/none", "--checkpoint", "ck", "--resume")
        self.assertFalse([event for _, event in self.events("out/none") if b"train/" in event])

    def test_nothing_left_to_train(self):
        self.train("--epochs", 3, "--checkpoint", "ck")
        for limit, more in ((["--epochs", 3], "--epochs"), (["--epochs", 1], "--epochs"),
                            (["--steps", 18], "--steps")):
            text = self.train(*limit, "--checkpoint", "ck", "--resume", "--json", "report.json")
            self.assertIn("step 18, 3 epochs complete: nothing was left to train; give more "
                          + more, text)
            report = json.loads((self.folder / "report.json").read_text())
            self.assertEqual((report["steps"], report["epochs"]), (18, 3))
            self.assertIsNone(report["loss"])
            self.assertIsNone(report["examples_per_second"])

    def test_a_signal_stops_with_a_checkpoint(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            folder = self.folder / f"ck{number}"
            command = [support.TOOL, "train", "mlp.hrg", "--data",
                       "idx:./data/train?repeat=forever", "--batch", "2", *RATE, "--save-every",
                       "1000", "--keep", "2", "--checkpoint", folder]
            with subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as process:
                deadline = time.monotonic() + 60
                while not list(folder.glob("step-*[0-9]")) and time.monotonic() < deadline:
                    time.sleep(0.01)
                process.send_signal(number)
                output, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertIn("--resume", errors)
            step = int(output.split()[1].rstrip(","))
            self.assertTrue((folder / f"step-{step:06}").is_dir(), output)
            self.assertEqual(self.run_tool("verify", folder).returncode, 0)
            done = self.run_tool("train", "mlp.hrg", "--data", "idx:./data/train", "--batch", 2,
                                 *RATE, "--steps", step + 5, "--checkpoint", folder, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"step {step + 5},", done.stdout)

    def test_fields_of_other_names(self):
        bind = ["--bind", "x=images", "--bind", "y=labels"]
        text = self.train("--epochs", 20, *bind, "--evaluate", "eval", "--evaluate-data",
                          "idx:./data/test", model="renamed.hrg")
        self.assertIn("accuracy", text)
        self.fails(1, "input 'x' (float32[batch, 1, 4, 4]) of signature 'train' has no value: "
                   "the data set gives images, labels", "train", "renamed.hrg", "--data",
                   "idx:./data/train", *RATE)
        self.fails(1, "no field 'pixels'", "train", "renamed.hrg", "--data", "idx:./data/train",
                   *RATE, "--bind", "x=pixels")

    def test_wrong_use(self):
        train = ["train", "mlp.hrg", "--data", "idx:./data/train"]
        self.fails(1, "learning_rate=NUMBER", *train)
        self.fails(1, "no signature 'fit'", *train, *RATE, "--signature", "fit")
        self.fails(1, "no signature 'test'", *train, *RATE, "--evaluate", "test",
                   "--evaluate-data", "idx:./data/test")
        self.fails(1, "idx:./nowhere/train", "train", "mlp.hrg", "--data", "idx:./nowhere/train",
                   *RATE)
        self.fails(1, "like 'idx:FOLDER/train?batch=64', got 'foo'", "train", "mlp.hrg", "--data",
                   "foo", *RATE)
        self.fails(1, "unknown kind of data set 'punchcards'", "train", "mlp.hrg", "--data", "punchcards:x", *RATE)
        self.fails(1, "no folder 'no'", *train, *RATE, "--export", "no/serve.hrg")
        self.fails(1, "--json: there is no folder 'no'", *train, *RATE, "--checkpoint", "ck",
                   "--json", "no/report.json")
        self.assertFalse((self.folder / "ck").exists())
        self.fails(1, "no signature 'x'", *train, *RATE, "--export", "serve.hrg",
                   "--export-signature", "x")
        self.fails(2, "NAME=NUMBER", *train, "--set", "learning_rate=fast")
        self.fails(2, "give only one", *train, *RATE, "--epochs", 1, "--steps", 1)
        self.fails(2, "go together", *train, *RATE, "--evaluate", "eval")
        self.fails(2, "--checkpoint", *train, *RATE, "--resume")
        self.fails(2, "batch already", "train", "mlp.hrg", "--data", "idx:./data/train?batch=8",
                   "--batch", 16, *RATE)
        for option in ("--epochs", "--steps", "--batch", "--save-every", "--keep",
                       "--evaluate-every"):
            self.fails(2, f"{option}: expected a whole number from 1, got 0; see", *train, *RATE,
                       option, 0)
        self.fails(2, "--data", "train", "mlp.hrg")

    def test_checkpoints_are_not_overwritten_unasked(self):
        self.train("--steps", 2, "--checkpoint", "ck")
        self.fails(1, "add --resume", "train", "mlp.hrg", "--data", "idx:./data/train", *RATE,
                   "--checkpoint", "ck")

    def test_resuming_what_does_not_fit(self):
        self.train("--steps", 2, "--checkpoint", "ck")
        tensors = next((self.folder / "ck/step-000002").glob("*.safetensors"))
        self.damage(tensors.relative_to(self.folder), -1)
        done = self.run_tool("verify", "ck")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is damaged: its checksum", done.stdout)
        self.fails(1, "no checkpoint in 'ck' is complete", "train", "mlp.hrg", "--data",
                   "idx:./data/train", *RATE, "--checkpoint", "ck", "--resume")

    def test_what_was_trained_outlives_a_failing_evaluation(self):
        labels = self.folder / "data/test-labels-idx1-ubyte.gz"
        labels.write_bytes(gzip.compress(struct.pack(">2I", 0x801, 40) + bytes([200] * 40)))
        done = self.run_tool("train", "mlp.hrg", "--data", "idx:./data/train", *RATE,
                             "--checkpoint", "ck", "--evaluate", "eval", "--evaluate-data",
                             "idx:./data/test")
        self.assertEqual(done.returncode, 1)
        self.assertIn("200", done.stderr.splitlines()[-1])
        self.assertTrue((self.folder / "ck/step-000003").is_dir())

    def test_a_rate_that_is_too_large(self):
        done = self.run_tool("train", "mlp.hrg", "--data", "idx:./data/train", "--set",
                             "learning_rate=1e38", "--epochs", 50)
        self.assertEqual(done.returncode, 1)
        self.assertIn("lower the learning rate", done.stderr.splitlines()[-1])

    def test_nothing_is_saved_without_a_folder(self):
        self.train("--steps", 2)
        self.assertEqual(list(self.folder.glob("step-*")), [])


if __name__ == "__main__":
    support.main()
