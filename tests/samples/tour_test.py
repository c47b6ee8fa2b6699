"""samples/tour in C: what its lines say, as the README of the tour describes them. The tours of the
other languages are compared with it by the part `languages` of tests/run.

usage: tour_test.py FOLDER    (of the samples' programs)
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()


def run(program, *arguments):
    return subprocess.run([PROGRAMS / program, *arguments], capture_output=True, text=True,
                          check=False)


def numbers(bits):
    return [struct.unpack(">f", bytes.fromhex(word))[0] for word in bits.split()]


class Tour(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace-tour-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "model.hrg"
        self.assertEqual(run("make_model", self.model).returncode, 0)

    def tour(self, name):
        out = self.folder / name
        out.mkdir()
        result = run("tour", self.model, out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return [line.split(": ") for line in result.stdout.splitlines()]

    def test_lines(self):
        lines = self.tour("first")
        self.assertEqual([name for name, _ in lines],
                         ["loaded", "variables", "untrained"] + 15 * ["loss"] +
                         ["trained", "step", "restored", "served", "failure"])
        said = dict(lines)
        self.assertEqual((said["variables"], said["step"], said["failure"]),
                         ("6", "15", "INVALID_ARGUMENT"))
        self.assertEqual(said["restored"], said["trained"])
        self.assertEqual(said["served"], said["trained"])
        self.assertEqual((len(numbers(said["loaded"])), len(numbers(said["trained"]))), (8, 6))
        for name in ("loaded", "untrained", "trained"):
            self.assertAlmostEqual(sum(numbers(said[name])), 2, places=5)
        losses = [numbers(bits)[0] for name, bits in lines if name == "loss"]
        self.assertLess(sum(losses[-3:]), 0.7 * sum(losses[:3]))
        self.assertEqual(self.tour("second"), lines)

    def test_a_missing_model_is_named(self):
        result = run("tour", self.folder / "none.hrg", self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("NOT_FOUND", result.stderr)


if __name__ == "__main__":
    unittest.main()
