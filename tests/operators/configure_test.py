"""What HEADRACE_OPERATORS leaves in a build.

usage: configure_test.py CMAKE
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv.pop(1)
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent


class Configure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace-operators-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def configure(self, operators, train="ON"):
        return subprocess.run(
            [CMAKE, "-S", HERE / "configured", "-B", self.folder / "build",
             f"-DHEADRACE_SOURCE={SOURCE}", f"-DHEADRACE_TRAIN={train}",
             f"-DHEADRACE_OPERATORS={operators}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def chosen(self, operators, train="ON"):
        done = self.configure(operators, train)
        self.assertEqual(done.returncode, 0, done.stdout)
        text = (self.folder / "build/generated/runtime/ops/chosen_operators.inc").read_text()
        return re.findall(r'"([^"]+)"', text)

    def refused(self, operators):
        done = self.configure(operators)
        self.assertNotEqual(done.returncode, 0)
        return re.sub(r"\s+", " ", done.stdout)

    def test_gradients_and_what_every_program_needs_come_along(self):
        chosen = self.chosen("Conv;headrace.train.SGD")
        for name in ("Conv", "headrace.grad.ConvGradInput", "headrace.grad.ConvGradWeight",
                     "headrace.train.SGD", "Cast", "Identity"):
            self.assertIn(name, chosen)
        for name in ("Softmax", "headrace.train.Adam", "LSTM"):
            self.assertNotIn(name, chosen)
        self.assertEqual(chosen, sorted(set(chosen)))

    def test_a_build_without_training_has_no_gradients(self):
        self.assertNotIn("headrace.grad.ConvGradWeight", self.chosen("Conv", train="OFF"))

    def test_compositions_come_along(self):
        chosen = self.chosen("QLinearConv", train="OFF")
        for name in ("QLinearConv", "Conv", "Round"):
            self.assertIn(name, chosen)

    def test_files_and_names_are_read_together(self):
        file = self.folder / "lenet.txt"
        file.write_text("# the operators of lenet.hrg\nMaxPool\nheadrace.state.Read\n")
        chosen = self.chosen(f"{file};Tanh")
        self.assertIn("headrace.grad.MaxPoolGrad", chosen)
        self.assertIn("headrace.grad.TanhGrad", chosen)

    def test_what_is_not_there_is_refused(self):
        self.assertIn("there is no operator 'Convolve'", self.refused("Add;Convolve"))
        self.assertIn("there is no file", self.refused("no/such.txt"))


if __name__ == "__main__":
    unittest.main()
