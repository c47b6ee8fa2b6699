"""headrace verify, headrace doctor, and the program as a whole."""
import json
import os
import pathlib
import shutil
import unittest
from unittest import mock

import support


class Verify(support.ToolTest):
    def lines(self, status, *paths):
        done = self.run_tool("verify", *paths)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_whole_files(self):
        lines = self.lines(0, "mlp.hrg", "stripped.hrg")
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^ok +mlp.hrg: graph file, format 1.0, 3 signatures")
        self.assertIn("checksums right", lines[1])

    def test_what_is_wrong_is_said(self):
        whole = (self.folder / "mlp.hrg").read_bytes()
        (self.folder / "empty.hrg").write_bytes(b"")
        (self.folder / "cut.hrg").write_bytes(whole[:1000])
        (self.folder / "noise.hrg").write_bytes(os.urandom(5000))
        (self.folder / "flipped.hrg").write_bytes(whole)
        self.damage("flipped.hrg", 500)
        (self.folder / "weights.hrg").write_bytes(whole)
        self.damage("weights.hrg", len(whole) - 1)
        (self.folder / "newer.hrg").write_bytes(whole)
        self.damage("newer.hrg", 7, ord("2"))
        names = ["empty", "cut", "noise", "flipped", "weights", "newer", "nosuch"]
        lines = self.lines(1, *[name + ".hrg" for name in names], "mlp.hrg")
        expected = ["empty", "cut short", "not a Headrace graph file", "structure is damaged",
                    "tensors are damaged", "format version 2", "No such file"]
        for name, line, what in zip(names, lines, expected):
            self.assertTrue(line.startswith(f"BROKEN {name}.hrg: "), line)
            self.assertIn(what, line)
        self.assertTrue(lines[-1].startswith("ok"), lines[-1])

    def test_a_released_file_with_control_flow(self):
        path = pathlib.Path(__file__).parent.parent / "files/version_1_0.hrg"
        line, = self.lines(0, path)
        self.assertRegex(line, r"^ok +.*format 1.0.*checksums right; this build cannot run it: "
                               r"Gemm has no attribute 'negative_zero'")
        verdict, = self.json_of("verify", "--json", path)
        self.assertTrue(verdict["whole"])
        self.assertIn("Gemm has no attribute 'negative_zero'", verdict["unsupported"])
        shutil.copy(path, self.folder / "damaged.hrg")
        self.damage("damaged.hrg", 500)
        self.assertIn("structure is damaged", self.lines(1, "damaged.hrg")[0])

    def test_side_file(self):
        self.damage("stripped.bin", 1)
        self.assertIn("damaged", self.lines(1, "stripped.hrg")[0])
        (self.folder / "stripped.bin").unlink()
        self.assertIn("stripped.bin", self.lines(1, "stripped.hrg")[0])

    def test_folders_without_checkpoints(self):
        (self.folder / "nothing").mkdir()
        self.assertIn("not a checkpoint", self.lines(1, "nothing")[0])

    def test_json(self):
        self.damage("mlp.hrg", 500)
        done = self.run_tool("verify", "--json", "mlp.hrg", "types.hrg")
        self.assertEqual(done.returncode, 1)
        broken, whole = json.loads(done.stdout)
        self.assertEqual((broken["path"], broken["whole"]), ("mlp.hrg", False))
        self.assertIn("damaged", broken["error"])
        self.assertTrue(whole["whole"])


class Doctor(support.ToolTest):
    def test_findings(self):
        findings = self.json_of("doctor", "--json")
        by_name = {finding["name"]: finding for finding in findings}
        for name in ["version", "interface", "processors", "memory", "CPU:0", "a small product",
                     "oneDNN", "inproc", "shm", "ucx", "tcp", "fashion-mnist"]:
            self.assertIn(name, by_name)
        self.assertEqual(by_name["a small product"]["state"], "ok")
        for finding in findings:
            self.assertEqual("advice" in finding, finding["state"] != "ok", finding)
        usable = len(os.sched_getaffinity(0))
        self.assertIn(f"{usable} usable", by_name["processors"]["value"])
        text = self.ok("doctor")
        for finding in findings:
            self.assertIn(finding["name"], text)

    def test_onednn(self):
        def finding(place):
            with mock.patch.dict(os.environ, HEADRACE_ONEDNN=place):
                findings = self.json_of("doctor", "--json")
            return next(finding for finding in findings if finding["name"] == "oneDNN")

        if "+onednn" not in self.ok("--version"):
            self.assertEqual(finding("")["state"], "missing")
            return
        found = finding("")
        self.assertRegex(found["value"], r"^3\.\d+\.\d+, /.*libdnnl.*; used for")
        path = found["value"].split(", ")[1].split(";")[0]
        self.assertEqual(finding(path)["value"], found["value"])
        self.assertIn('"off"', finding("off")["value"])
        self.assertIn("cannot open", finding("/nowhere/libdnnl.so.3")["value"])

    # The loader says which libraries are opened.
    def test_onednn_is_opened_when_it_is_wanted(self):
        def opens(*arguments):
            with mock.patch.dict(os.environ, LD_DEBUG="files"):
                return "libdnnl" in self.run_tool(*arguments).stderr

        self.assertFalse(opens("run", "mlp.hrg"))
        self.assertEqual(opens("doctor"), "+onednn" in self.ok("--version"))


class Program(support.ToolTest):
    def test_help(self):
        for command in [[], ["inspect"], ["verify"], ["doctor"]]:
            text = self.ok(*command, "--help")
            self.assertIn("xample", text) if command else self.assertIn("Exit status", text)

    def test_wrong_use(self):
        self.fails(2, "--help")
        self.fails(2, "paint", "paint")
        self.fails(2, "--colour", "inspect", "--colour", "mlp.hrg")

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^\d+\.\d+\.\d+")


if __name__ == "__main__":
    support.main()
