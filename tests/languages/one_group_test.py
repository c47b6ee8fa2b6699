"""samples/one_group: programs in several languages train as one group, and end as one.

usage: one_group_test.py PREFIX    (the folder of an installed Headrace)
"""
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PREFIX = pathlib.Path(sys.argv.pop(1)).resolve()
RUN = pathlib.Path(__file__).resolve().parents[2] / "samples/one_group/run"


def write_data(folder, examples):
    """28×28 images in IDX files: class k is bright in the rows 2k and 2k + 1."""
    generator = random.Random(1)
    labels = bytes(generator.randrange(10) for _ in range(examples))
    images = b"".join(bytes([220 if row // 2 == label else generator.randrange(40)]) * 28
                      for label in labels for row in range(28))
    (folder / "train-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, examples, 28, 28) + images)
    (folder / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, examples) + labels)


class OneGroup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="headrace-one-group-data-")
        cls.addClassCleanup(cls.folder.cleanup)
        write_data(pathlib.Path(cls.folder.name), 640)

    def one_group(self, *arguments):
        return subprocess.run([RUN, PREFIX, "--data", f"idx:{self.folder.name}/train", *arguments],
                              timeout=800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_learns_with_equal_weights(self):
        done = self.one_group("--steps", "40")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\d+ steps, loss .*, [0-9a-f]{8} are the weights on all ranks")
        ranks = re.search(r"^(.*): 40 steps", done.stdout, re.MULTILINE)[1].split(", ")
        self.assertEqual(len(ranks), 4)

    def test_ends_with_one_cause(self):
        for victim in range(4):
            done = self.one_group("--kill", str(victim))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("failure: UNAVAILABLE", done.stdout)

    def test_unknown_ranks(self):
        self.assertIn("no program in cobol", self.one_group("--ranks", "c,cobol").stdout)
        self.assertIn("no rank 7", self.one_group("--kill", "7").stdout)


if __name__ == "__main__":
    unittest.main()
