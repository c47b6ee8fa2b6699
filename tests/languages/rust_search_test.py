"""How the crate headrace-sys finds the library: HEADRACE_DIR, then pkg-config, then HEADRACE_SOURCE.

usage: rust_search_test.py PREFIX    (the folder of an installed Headrace)
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PREFIX = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = (PREFIX / "lib/libheadrace.so").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATE = ROOT / "bindings/rust"


class Search(unittest.TestCase):
    """Each build is offline: the script of the build downloads nothing."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(
            prefix="headrace-rust-search-")))
        subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=CRATE, check=True)

    def installation(self, name):
        """A folder that looks like an installed Headrace, of no use but to be found."""
        folder = self.folder / self.id().rpartition(".")[2] / name
        for path in ("lib/pkgconfig", "include"):
            (folder / path).mkdir(parents=True)
        shutil.copy(LIBRARY, folder / "lib/libheadrace.so")
        (folder / "lib/pkgconfig/headrace.pc").write_text(
            f"Name: headrace\nDescription: a test\nVersion: 0.1.0\n"
            f"Libs: -L{folder}/lib -lheadrace\nCflags: -I{folder}/include\n")
        return folder

    def sources(self):
        """Sources that CMake installs at once: they copy the library."""
        folder = self.folder / "sources"
        folder.mkdir(exist_ok=True)
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(Small LANGUAGES NONE)\n"
            f"install(FILES {LIBRARY} DESTINATION lib RENAME libheadrace.so)\n")
        return folder

    def build(self, *, pkg_config=None, **variables):
        """Returns (exit status, what was printed, where the library was found)."""
        plain = {name: value for name, value in os.environ.items()
                 if name not in ("HEADRACE_DIR", "HEADRACE_SOURCE", "DOCS_RS")}
        target = self.folder / "target"
        shutil.rmtree(target, ignore_errors=True)
        done = subprocess.run(
            ["cargo", "build", "--quiet", "--offline", "-p", "headrace-sys", "--target-dir", target],
            cwd=CRATE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**plain, **{name: str(value) for name, value in variables.items()},
                 "PKG_CONFIG_LIBDIR": f"{pkg_config}/lib/pkgconfig" if pkg_config else "/nowhere",
                 "PKG_CONFIG_PATH": ""})
        said = "".join(one.read_text() for one in target.glob("debug/build/headrace-sys-*/output"))
        found = [line.rpartition("=")[2] for line in said.splitlines() if "rustc-link-search" in line]
        return done.returncode, done.stdout, found

    def test_a_folder_is_first(self):
        one, two = self.installation("one"), self.installation("two")
        status, said, found = self.build(pkg_config=two, HEADRACE_DIR=one, HEADRACE_SOURCE=self.sources())
        self.assertEqual((status, found), (0, [f"{one}/lib"]), said)

    def test_pkg_config_comes_before_sources(self):
        two = self.installation("two")
        status, said, found = self.build(pkg_config=two, HEADRACE_SOURCE=self.sources())
        self.assertEqual((status, found), (0, [f"{two}/lib"]), said)

    def test_sources_are_built(self):
        status, said, found = self.build(HEADRACE_SOURCE=self.sources())
        self.assertEqual(status, 0, said)
        self.assertRegex(found[0], "target/debug/build/headrace-sys-.*/out/installed/lib$")

    def test_without_any_it_says_what_to_set(self):
        status, said, _ = self.build()
        self.assertNotEqual(status, 0)
        for word in ("HEADRACE_DIR", "HEADRACE_SOURCE", "PKG_CONFIG_PATH"):
            self.assertIn(word, said)

    def test_wrong_folders_are_named(self):
        for name in ("HEADRACE_DIR", "HEADRACE_SOURCE"):
            status, said, _ = self.build(**{name: "/no/such/folder"})
            self.assertNotEqual(status, 0)
            self.assertIn(f"{name} is /no/such/folder", said)
        status, said, _ = self.build(HEADRACE_DIR=self.sources())
        self.assertNotEqual(status, 0)
        self.assertIn("there is no libheadrace in", said)

    def test_documentation_needs_no_library(self):
        self.assertEqual(self.build(DOCS_RS=1)[0], 0)


if __name__ == "__main__":
    if shutil.which("cargo") is None:
        print("skipped: there is no cargo")
        sys.exit(77)
    unittest.main()
