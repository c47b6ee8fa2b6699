"""samples/heat: agrees with plain loops, draws a picture, and says what is wrong with its options.

usage: heat_test.py PROGRAM
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PROGRAM = sys.argv.pop(1)


def run(*options):
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True)


def pixels(path):
    """Width, height and the rows of a PNG, whose checksums are checked."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, stream, header = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        (crc,) = struct.unpack(">I", data[at + 8 + size:at + 12 + size])
        assert crc == zlib.crc32(kind + body)
        header = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else header
        stream += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height = header[:2]
    rows = zlib.decompress(stream)
    assert len(rows) == height * (1 + 3 * width)
    return width, height, [rows[y * (1 + 3 * width) + 1:(y + 1) * (1 + 3 * width)]
                           for y in range(height)]


class Heat(unittest.TestCase):
    def test_agrees_with_plain_loops_and_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "plate.png"
            done = run("--size", "96", "--steps", "300", "--frames", "3", "--check", "--out",
                       str(picture))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("mean temperature"), 3)
            width, height, rows = pixels(picture)
            self.assertEqual((width, height), (96, 96))
            hot, cold = rows[33][3 * 29:3 * 30], rows[2][3 * 93:3 * 94]
            self.assertGreater(sum(hot), 2 * sum(cold))

    def test_wrong_options_are_named(self):
        for options, words in [(["--size", "x"], "--size expects a number"),
                               (["--steps"], "got 'nothing'"), (["--cold"], "unknown option"),
                               (["--size", "8", "--steps", "1", "--out", "/no/such/folder/x.png"],
                                "could not write")]:
            done = run(*options)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
