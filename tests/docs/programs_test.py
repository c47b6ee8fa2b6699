"""Compiles and runs every complete program that README.md and docs/ show, exactly as it stands.

usage: programs_test.py CC CXX LIBHEADRACE    (the compilers, the shared library)
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
COMPILERS = {"c": (sys.argv.pop(1), "-std=c11"), "cpp": (sys.argv.pop(1), "-std=c++17")}
LIBRARY = pathlib.Path(sys.argv.pop(1)).resolve()


def programs(page):
    """The blocks of a Markdown page, with their languages, that have a main function."""
    blocks = re.findall(r"^```(c|cpp)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if re.search(r"^int main\(", block[1], re.MULTILINE)]


class Programs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_program(self, language, text):
        """What it prints, run in a folder of its own."""
        compiler, standard = COMPILERS[language]
        source = f"program.{language}"
        (self.folder / source).write_text(text)
        folder = LIBRARY.parent
        subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Werror", source, "-o", "program",
                        f"-I{ROOT}/capi/include", f"-L{folder}", f"-Wl,-rpath,{folder}",
                        "-lheadrace"], cwd=self.folder, check=True)
        done = subprocess.run([self.folder / "program"], cwd=self.folder, timeout=300, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_readme_trains(self):
        ((language, program),) = programs(ROOT / "README.md")
        self.assertLess(program.count("\n"), 30)
        loss, steps = re.fullmatch(r"loss (\S+) after (\S+) steps\n",
                                   self.run_program(language, program)).groups()
        self.assertLess(float(loss), 1)  # ln 10 before training
        self.assertEqual(int(steps), 60000 // 64 + 1)
        (manifest,) = self.folder.glob("out/step-*/manifest.json")
        self.assertEqual(json.loads(manifest.read_text())["step"], int(steps))

    def test_sketch_of_devices(self):
        """What docs/devices.md plans stands beside today's headers: no name is taken."""
        page = (ROOT / "docs" / "devices.md").read_text()
        (sketch,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        for language, (compiler, standard) in COMPILERS.items():
            source = self.folder / f"sketch.{language}"
            source.write_text(f"#include <headrace/headrace.h>\n{sketch}")
            subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                            f"-I{ROOT}/capi/include", source], check=True)

    def test_readme_checks_errors(self):
        """Without its data set it says why and fails."""
        ((language, program),) = programs(ROOT / "README.md")
        with self.assertRaisesRegex(AssertionError, "no such place"):
            self.run_program(language, program.replace("idx:fashion-mnist/", "idx:no such place/"))

    def test_programs_of_the_pages(self):
        found = 0
        for page in sorted((ROOT / "docs").glob("*.md")):
            for language, program in programs(page):
                with self.subTest(page=page.name):
                    loss = re.search(r"loss (\S+)", self.run_program(language, program))
                    self.assertLess(float(loss[1]), 1)
                found += 1
        self.assertGreater(found, 0)


if __name__ == "__main__":
    if not DATA.exists():
        print(f"skipped: there is no {DATA}; install dataset-fashion-mnist")
        sys.exit(77)
    unittest.main()
