"""A build with LeNet's operators alone trains LeNet to the bits of the full one and refuses others.

usage: reduced_test.py CMAKE BUILD LENET TOOL    (the full build, its sample and its command)

The programs are those of the full build; the library that they load is the reduced one.
"""
import ctypes
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, LENET, TOOL = sys.argv.pop(1), *(pathlib.Path(sys.argv.pop(1)).resolve() for _ in "123")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
REDUCED = BUILD / "reduced"


def called(*command, library=BUILD / "lib", fails=False, **options):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    done = subprocess.run([str(word) for word in command], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def write_images(folder):
    folder.mkdir()
    draw = random.Random(7)
    for split, count in (("train", 96), ("t10k", 30)):
        labels = bytes(draw.randrange(10) for _ in range(count))
        (folder / f"{split}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 0x803, count, 28, 28) + draw.randbytes(784 * count))
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + labels)


def options_of(build):
    """What the full build was configured with, as arguments."""
    lines = (build / "CMakeCache.txt").read_text().splitlines()
    return [f"-D{line}" for line in lines
            if line.startswith(("CMAKE_BUILD_TYPE:", "CMAKE_C_COMPILER:", "CMAKE_CXX_COMPILER:",
                                "HEADRACE_")) and not line.startswith("HEADRACE_KNOWS")]


class Library:
    """As much of the C interface as the tests below call."""

    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        for name in ("hr_status_message", "hr_text_data"):
            getattr(self.c, name).restype = ctypes.c_char_p
            getattr(self.c, name).argtypes = [ctypes.c_void_p]
        for name in ("hr_env_create", "hr_env_describe", "hr_graph_create", "hr_graph_op"):
            getattr(self.c, name).restype = ctypes.c_void_p  # a status

    def made(self, name, *arguments):
        out = ctypes.c_void_p()
        status = getattr(self.c, name)(*arguments, ctypes.byref(out))
        if status is not None:
            raise AssertionError(self.c.hr_status_message(status).decode())
        return out

    def env(self):
        self.made_env = self.made("hr_env_create", None)
        return self

    def operators(self):
        described = json.loads(self.c.hr_text_data(self.made("hr_env_describe", self.made_env)))
        return {".".join(filter(None, (op["domain"], op["name"]))) for op in described["operators"]}

    def refusal_of(self, op):
        graph = self.made("hr_graph_create", self.made_env)
        status = self.c.hr_graph_op(graph, op.encode(), None, 0, None, 1,
                                    ctypes.byref(ctypes.c_uint32()))
        return self.c.hr_status_message(status).decode()


class Reduced(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="headrace-reduced-")
        cls.folder = pathlib.Path(cls.temporary.name)
        write_images(cls.folder / "data")
        cls.lenet("full", BUILD / "lib")
        cls.names = cls.folder / "lenet.txt"
        cls.names.write_text(called(TOOL, "inspect", cls.folder / "full/lenet.hrg", "--operators"))
        called(CMAKE, "-S", SOURCE, "-B", REDUCED, "-G", "Ninja", *options_of(BUILD),
               "-DBUILD_SHARED_LIBS=ON", "-DHEADRACE_TESTS=OFF", "-DHEADRACE_TOOLS=OFF",
               f"-DHEADRACE_OPERATORS={cls.names}")
        called(CMAKE, "--build", REDUCED, "--target", "headrace")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def lenet(cls, out, library):
        called(LENET, "--data", "data", "--out", out, "--batch", 16, "--threads", 1, "--epochs", 2,
               library=library, cwd=cls.folder)

    def test_trains_to_the_same_bits(self):
        self.lenet("reduced", REDUCED / "lib")
        for name in sorted(path.name for path in (self.folder / "full").glob("*.hrg")):
            self.assertEqual((self.folder / "full" / name).read_bytes(),
                             (self.folder / "reduced" / name).read_bytes(), name)

    def test_has_what_was_chosen_and_nothing_else(self):
        text = (REDUCED / "generated/runtime/ops/chosen_operators.inc").read_text()
        chosen = set(re.findall(r'"([^"]+)"', text))
        env = Library(REDUCED / "lib/libheadrace.so").env()
        held = ("headrace.state.", "headrace.control.", "headrace.comm.", "headrace.data.")
        self.assertEqual({name for name in env.operators() if not name.startswith(held)},
                         {name for name in chosen if not name.startswith(held)})

    def test_another_operator_is_named_with_how_to_add_it(self):
        env = Library(REDUCED / "lib/libheadrace.so").env()
        for op in ("LSTM", "headrace.train.Adam"):
            self.assertIn(f"there is no operator {op} in this build, which leaves out what its "
                          "HEADRACE_OPERATORS does not name; add it there and build again",
                          env.refusal_of(op))
        told = called(TOOL, "run", SOURCE / "tests/files/version_1_0.hrg", "--signature", "infer",
                      fails=True, library=REDUCED / "lib")
        self.assertRegex(told, "Loop.* in this build, which leaves out")


if __name__ == "__main__":
    unittest.main()
