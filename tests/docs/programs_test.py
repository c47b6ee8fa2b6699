"""Compiles and runs every complete C program that README.md and docs/ show, exactly as it stands.

usage: programs_test.py CC LIBHEADRACE    (the C compiler, the shared library)
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
CC, LIBRARY = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)).resolve()


def programs(page):
    """The C blocks of a Markdown page that have a main function."""
    blocks = re.findall(r"^```c\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if re.search(r"^int main\(", block, re.MULTILINE)]


class Programs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_program(self, text):
        """What it prints, run in a folder of its own."""
        (self.folder / "program.c").write_text(text)
        folder = LIBRARY.parent
        subprocess.run([CC, "-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program",
                        f"-I{ROOT}/capi/include", f"-L{folder}", f"-Wl,-rpath,{folder}",
                        "-lheadrace"], cwd=self.folder, check=True)
        done = subprocess.run([self.folder / "program"], cwd=self.folder, timeout=300, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_readme_trains(self):
        (program,) = programs(ROOT / "README.md")
        self.assertLess(program.count("\n"), 30)
        loss, steps = re.fullmatch(r"loss (\S+) after (\S+) steps\n",
                                   self.run_program(program)).groups()
        self.assertLess(float(loss), 1)  # ln 10 before training
        self.assertEqual(int(steps), 60000 // 64 + 1)
        (manifest,) = self.folder.glob("out/step-*/manifest.json")
        self.assertEqual(json.loads(manifest.read_text())["step"], int(steps))

    def test_readme_checks_errors(self):
        """Without its data set it says why and fails."""
        (program,) = programs(ROOT / "README.md")
        with self.assertRaisesRegex(AssertionError, "no such place"):
            self.run_program(program.replace("idx:fashion-mnist/", "idx:no such place/"))

    def test_programs_of_the_pages(self):
        for page in sorted((ROOT / "docs").glob("*.md")):
            for program in programs(page):
                with self.subTest(page=page.name):
                    self.run_program(program)


if __name__ == "__main__":
    if not DATA.exists():
        print(f"skipped: there is no {DATA}; install dataset-fashion-mnist")
        sys.exit(77)
    unittest.main()
