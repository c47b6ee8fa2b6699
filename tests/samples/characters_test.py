"""samples/characters: learns a text that repeats itself, and goes on with it.

usage: characters_test.py PROGRAM
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
LINE = "one two three four five; "


def run(*options):
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True)


class Characters(unittest.TestCase):
    def test_learns_and_writes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text.txt"
            text.write_text(LINE * 40)
            saved = pathlib.Path(folder) / "model.hrg"
            options = ["--text", str(text), "--steps", "150", "--prompt", LINE[:10], "--length", "40",
                       "--temperature", "0", "--save", str(saved)]
            done = run(*options)
            self.assertEqual(done.returncode, 0, done.stderr)
            losses = [float(loss) for loss in re.findall(r"loss (\S+)", done.stdout)]
            self.assertLess(losses[-1], 0.2 * losses[0])
            self.assertIn((LINE * 3)[:50], done.stdout)
            self.assertGreater(saved.stat().st_size, 100000)
            short = [*options[:3], "5", *options[4:-2]]
            self.assertEqual(run(*short).stdout, run(*short).stdout)  # the same seed, the same words

    def test_wrong_options_are_named(self):
        for options, words in [(["--steps", "x"], "expects a number"), (["--text"], "got nothing"),
                               (["--text", "/no/such/text"], "cannot read"),
                               (["--prompt", "\N{SNOWMAN}"], "byte 0xE2"),
                               (["--loud", "1"], "unknown option")]:
            done = run(*options)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
