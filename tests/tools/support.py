"""What the tests of the headrace command share: running it, small models, small data."""
import gzip
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL, MAKE_MODEL = (pathlib.Path(path).resolve() for path in sys.argv[1:3])


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])


class ToolTest(unittest.TestCase):
    """A folder with the models of make_model, which is the current one of every run."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-tool-"))
        self.addCleanup(shutil.rmtree, self.folder)
        subprocess.run([MAKE_MODEL, self.folder], check=True)

    def run_tool(self, *arguments, **options):
        return subprocess.run([TOOL, *map(str, arguments)], cwd=self.folder, timeout=120,
                              stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, text=True, **options)

    def ok(self, *arguments):
        """Standard output of a run that succeeds."""
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json_of(self, *arguments):
        return json.loads(self.ok(*arguments))

    def fails(self, status, saying, *arguments, **options):
        """A run that ends with `status` and one line on standard error that has `saying` in it."""
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(saying, done.stderr)
        return done

    def events(self, folder):
        """What the event files of a folder hold: (step, bytes of the event), oldest file first."""
        found = []
        for path in sorted((self.folder / folder).glob("events.out.tfevents.*")):
            data, at = path.read_bytes(), 0
            while at < len(data):
                size, = struct.unpack_from("<Q", data, at)
                event = data[at + 12:at + 12 + size]
                # Field 1 is the time, as 9 bytes; field 2 the step, here below 128.
                found.append((event[10] if event[9] == 0x10 else None, event))
                at += 12 + size + 4
        return found

    def damage(self, name, at, byte=None):
        """Flips the byte at `at`, or puts `byte` there."""
        path = self.folder / name
        data = bytearray(path.read_bytes())
        data[at] = data[at] ^ 0xFF if byte is None else byte
        path.write_bytes(data)

    def make_data(self, split="train", examples=96, seed=1):
        """IDX files of 4×4 images in the folder data: class k is bright in row k."""
        generator = random.Random(seed)
        labels = bytes(generator.randrange(4) for _ in range(examples))
        images = bytearray()
        for label in labels:
            for row in range(4):
                low, high = (150, 255) if row == label else (0, 100)
                images += bytes(generator.randrange(low, high) for _ in range(4))
        folder = self.folder / "data"
        folder.mkdir(exist_ok=True)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 0x803, examples, 4, 4) + bytes(images))
        with gzip.open(folder / f"{split}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 0x801, examples) + labels)
