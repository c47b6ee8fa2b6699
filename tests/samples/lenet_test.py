"""samples/lenet on tiny IDX files, as people run it: once, again, with odd names, wrongly.

usage: lenet_test.py LENET    (the sample's program)
"""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

LENET = pathlib.Path(sys.argv.pop(1)).resolve()


def write_split(folder, split, examples, seed):
    """28×28 images: class k is bright in the rows 2k and 2k + 1."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(seed)
    labels = bytes(generator.randrange(10) for _ in range(examples))
    images = bytearray()
    for label in labels:
        for row in range(28):
            images += bytes([220 if row // 2 == label else generator.randrange(40)]) * 28
    (folder / f"{split}-images-idx3-ubyte").write_bytes(
        struct.pack(">4I", 0x803, examples, 28, 28) + bytes(images))
    (folder / f"{split}-labels-idx1-ubyte").write_bytes(
        struct.pack(">2I", 0x801, examples) + labels)


class Lenet(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-lenet-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.make_data("data")

    def make_data(self, name):
        write_split(self.folder / name, "train", 96, seed=1)
        write_split(self.folder / name, "t10k", 30, seed=2)

    def lenet(self, *arguments, data="data", out="out"):
        return subprocess.run([LENET, "--data", data, "--out", out, "--batch", "16", "--threads",
                               "1", *map(str, arguments)], cwd=self.folder, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def trained(self, *arguments, **where):
        """What the program printed, and its JSON."""
        done = self.lenet(*arguments, "--json", "results.json", **where)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, json.loads((self.folder / "results.json").read_text())

    def test_trains_saves_exports_and_measures(self):
        done, results = self.trained("--epochs", 3)
        self.assertGreater(results["test_accuracy"], 0.3)
        self.assertGreater(results["images_per_second"], 0)
        self.assertGreater(results["peak_rss_bytes"], 1 << 20)
        self.assertEqual(results["epochs"], 3)
        self.assertIn("after 3 epochs", done.stdout)
        self.assertEqual(sorted(results["files"]),
                         ["checkpoints", "export", "model", "tensorboard"])
        for path in results["files"].values():
            self.assertTrue((self.folder / path).exists(), path)

    def test_event_files_have_scalars_the_graph_images_and_weights(self):
        self.trained("--epochs", 2)
        events = b"".join(path.read_bytes() for path in (self.folder / "out/tensorboard").iterdir())
        for tag, count in ((b"train/loss", 1), (b"eval/accuracy", 2), (b"SoftmaxCrossEntropyLoss", 1),
                           (b"\x89PNG", 8), (b"weights/conv1", 4), (b"weights/fc2", 4)):
            self.assertGreaterEqual(events.count(tag), count, tag)

    def test_goes_on_from_its_checkpoint(self):
        self.trained("--epochs", 1)
        done, results = self.trained("--epochs", 2)
        self.assertEqual(results["epochs"], 2)
        self.assertGreater(results["images_per_second"], 0)
        self.assertIn("going on from 'out/checkpoints/step-000006'", done.stderr)
        self.assertNotIn("Nothing was left", done.stdout)
        self.trained("--epochs", 1, out="one")
        self.assertIn("has 1 epoch already", self.trained("--epochs", 1, out="one")[0].stdout)

    def test_says_where_nothing_is_left_to_train(self):
        _, first = self.trained("--epochs", 3)
        for epochs in (3, 1):
            done, again = self.trained("--epochs", epochs)
            self.assertIn(f"'out/checkpoints' has 3 epochs already, --epochs asks for {epochs}",
                          done.stdout)
            self.assertIn("after 3 epochs", done.stdout)
            self.assertNotIn("images/s", done.stdout)
            self.assertNotIn("0%", done.stderr)
            self.assertIsNone(again["images_per_second"])
            self.assertEqual(again["epochs"], 3)
            self.assertEqual(again["test_accuracy"], first["test_accuracy"])

    def start_rank(self, rank, size, *arguments):
        """One process of several, as a launcher starts it."""
        told = {"HEADRACE_RANK": str(rank), "HEADRACE_SIZE": str(size),
                "HEADRACE_STORE": f"file:{self.folder / 'store'}"}
        return subprocess.Popen([LENET, "--data", "data", "--out", "out", "--threads", "1",
                                 "--batch", "16", *map(str, arguments)],
                                cwd=self.folder, env={**os.environ, **told},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_ranks_train_one_model(self):
        ranks = [self.start_rank(rank, 3, "--epochs", 4, "--json", f"{rank}.json")
                 for rank in range(3)]
        printed = [rank.communicate(timeout=120) for rank in ranks]
        for rank, (_, errors) in zip(ranks, printed):
            self.assertEqual(rank.returncode, 0, errors)
        self.assertIn("after 4 epochs", printed[0][0])
        self.assertEqual([out for out, _ in printed[1:]], ["", ""])
        results = json.loads((self.folder / "0.json").read_text())
        self.assertGreater(results["test_accuracy"], 0.3)
        # 96 images are two batches of 16 for each of 3 ranks.
        self.assertEqual([path.name for path in (self.folder / "out/checkpoints").glob("step-*")],
                         ["step-000008"])
        # Two ranks go on where three have stopped.
        ranks = [self.start_rank(rank, 2, "--epochs", 5) for rank in range(2)]
        printed = [rank.communicate(timeout=120) for rank in ranks]
        self.assertIn("going on from 'out/checkpoints/step-000008'", printed[0][1])
        self.assertIn("after 5 epochs", printed[0][0])

    def test_a_rank_that_is_killed_is_named(self):
        ranks = [self.start_rank(rank, 2, "--epochs", 100000) for rank in range(2)]
        time.sleep(2)
        ranks[1].kill()
        _, errors = ranks[0].communicate(timeout=60)
        ranks[1].communicate()
        self.assertEqual(ranks[0].returncode, 1)
        self.assertIn("rank 1", errors)

    def test_names_hold_any_character(self):
        data, out = "it's 100% $(touch hacked)?", 'out "quoted" \\ back\tslash'
        self.make_data(data)
        _, results = self.trained("--epochs", 1, data=data, out=out)
        self.assertEqual(results["files"]["model"], out + "/lenet.hrg")
        self.assertFalse((self.folder / "hacked").exists())

    def test_results_that_cannot_be_written_are_noticed_before_training(self):
        done = self.lenet("--epochs", 1, "--json", "missing/results.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--json: cannot write 'missing/results.json': No such file or directory",
                      done.stderr)
        self.assertFalse((self.folder / "out/checkpoints").exists())

    def test_data_without_examples(self):
        write_split(self.folder / "data", "t10k", 0, seed=2)
        done = self.lenet("--epochs", 1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no examples", done.stderr)


if __name__ == "__main__":
    unittest.main()
