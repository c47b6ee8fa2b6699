"""headrace run, and the .npy files that it reads and writes."""
import json
import struct

import npy
import support

# Element type of Headrace, of NumPy, of struct; three values that each can hold.
TYPES = [("float32", "<f4", "f", (1.5, -2.25, 1e30)), ("float64", "<f8", "d", (1.5, -2.25, 1e300)),
         ("float16", "<f2", "e", (1.5, -2.25, 65504.0)), ("int8", "|i1", "b", (-128, 0, 127)),
         ("int16", "<i2", "h", (-32768, 0, 32767)), ("int32", "<i4", "i", (-2**31, 0, 2**31 - 1)),
         ("int64", "<i8", "q", (-2**63, 0, 2**63 - 1)), ("uint8", "|u1", "B", (0, 1, 255)),
         ("uint16", "<u2", "H", (0, 1, 65535)), ("uint32", "<u4", "I", (0, 1, 2**32 - 1)),
         ("uint64", "<u8", "Q", (0, 1, 2**64 - 1)), ("bool", "|b1", "?", (False, True, True))]


class Run(support.ToolTest):
    def write(self, name, data):
        (self.folder / name).write_bytes(data)

    def test_random_inputs_and_summary(self):
        text = self.ok("run", "mlp.hrg", "--input", "images=random", "--shape", "images=5x1x4x4")
        self.assertIn("images float32[5, 1, 4, 4] from random", text)
        self.assertIn("scores float32[5, 4]: min 0.", text)
        self.assertIn("mean 0.25,", text)

    def test_seeds_decide(self):
        def scores(seed):
            return self.json_of("run", "mlp.hrg", "--input", "images=random", "--seed", seed,
                                "--json", "-")["outputs"][0]
        self.assertEqual(scores(3), scores(3))
        self.assertNotEqual(scores(3), scores(4))

    def test_every_type_goes_through(self):
        for dtype, descr, code, values in TYPES:
            for order in "<>":
                data = struct.pack(f"{order}3{code}", *values)
                self.write("in.npy", npy.array(descr.replace("<", order), (1, 3), data))
                self.ok("run", "types.hrg", "--signature", dtype, "--input", "x=in.npy",
                        "--output", "y=out.npy")
                expected = (descr, (1, 3), struct.pack(f"<3{code}", *values))
                self.assertEqual(npy.read(self.folder / "out.npy"), expected, dtype)

    def test_bfloat16_leaves_as_float32(self):
        self.ok("run", "types.hrg", "--signature", "bfloat16", "--input", "x=random",
                "--output", "y=out.npy")
        descr, _, data = npy.read(self.folder / "out.npy")
        self.assertEqual(descr, "<f4")
        self.assertTrue(all(0.5 <= x < 1 for x in struct.unpack("<3f", data)))

    def test_memory_order_and_versions(self):
        rows = struct.pack("<6f", 0, 1, 2, 3, 4, 5)
        columns = struct.pack("<6f", 0, 3, 1, 4, 2, 5)
        for version, fortran, data in [(1, False, rows), (2, False, rows), (3, True, columns)]:
            self.write("in.npy", npy.array("<f4", (2, 3), data, fortran, version))
            self.ok("run", "types.hrg", "--signature", "float32", "--input", "x=in.npy",
                    "--output", "y=out.npy")
            self.assertEqual(npy.read(self.folder / "out.npy"), ("<f4", (2, 3), rows))

    def test_text_output_is_exact(self):
        data = struct.pack("<6q", 1, 2, 2**63 - 1, -4, 5, 6)
        self.write("in.npy", npy.array("<i8", (2, 3), data))
        text = self.ok("run", "types.hrg", "--signature", "int64", "--input", "x=in.npy",
                       "--output", "y=-")
        self.assertIn("\n1 2 9223372036854775807\n-4 5 6\n", text)

    def test_damaged_npy_files(self):
        good = npy.array("<f4", (1, 3), bytes(12))
        cases = {
            "No such file": None,
            "ends within its first": b"\x93NUM",
            "not a .npy file": b"PK\x03\x04 this is a zip",
            "format 9": b"\x93NUMPY\x09\x00" + good[8:],
            "ends within its header": good[:40],
            "4294967295 bytes": b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
            "12 bytes of elements, 11 follow": good[:-1],
            "12 bytes of elements, 13 follow": good + b"x",
            "structured": npy.header("{'descr': [('a', '<f4')], 'fortran_order': False, "
                                     "'shape': (3,), }"),
            "type '|O'": npy.array("|O", (3,), bytes(24)),
            "type '<c8'": npy.array("<c8", (3,), bytes(24)),
            "type '<U4'": npy.array("<U4", (3,), bytes(48)),
            "unknown key 'more'": npy.header("{'more': 1}"),
            "keys descr": npy.header("{'descr': '<f4', 'shape': (3,)}"),
            "size of at least 0": npy.array("<f4", (-3,), b""),
            "True or False": npy.array("<f4", (3,), bytes(12), "maybe"),
            "64 dimensions": npy.array("<f4", (1,) * 65, bytes(4)),
            "more memory": npy.array("<f4", (2**62, 2**62), b""),
            "bytes of elements, 0 follow": npy.array("<f4", (2**40,), b""),
            "something follows": npy.header("{'descr': '<f4', 'fortran_order': False, "
                                            "'shape': (3,)} + exit()"),
            "does not describe an array": npy.header("import os"),
        }
        for saying, data in cases.items():
            if data is not None:
                self.write("bad.npy", data)
            done = self.fails(1, saying, "run", "mlp.hrg", "--input",
                              "images=" + ("no.npy" if data is None else "bad.npy"))
            self.assertIn(".npy'", done.stderr)

    def test_every_shortened_header_is_refused(self):
        good = npy.array("<f4", (1, 1, 4, 4), bytes(64))
        self.write("in.npy", good)
        self.ok("run", "mlp.hrg", "--input", "images=in.npy")
        for size in range(0, len(good), 7):
            self.write("in.npy", good[:size])
            self.fails(1, "in.npy", "run", "mlp.hrg", "--input", "images=in.npy")

    def test_wrong_inputs(self):
        self.write("in.npy", npy.array("<f4", (2, 3), bytes(24)))
        self.fails(1, "float32[2, 3]", "run", "mlp.hrg", "--input", "images=in.npy")
        self.write("in.npy", npy.array("<f8", (1, 1, 4, 4), bytes(128)))
        self.fails(1, "float64", "run", "mlp.hrg", "--input", "images=in.npy")
        self.fails(2, "images", "run", "mlp.hrg")
        self.fails(1, "no input 'image'; it has: images", "run", "mlp.hrg", "--input",
                   "image=random")
        self.fails(1, "no signature 'x'", "run", "mlp.hrg", "--signature", "x")
        self.fails(1, "no output 'score'; it has: scores", "run", "mlp.hrg", "--input",
                   "images=zeros", "--output", "score=-")
        self.fails(1, "no output 'y'; it has none", "run", "types.hrg", "--signature", "silent",
                   "--input", "x=zeros", "--output", "y=-")
        self.fails(2, "has its own", "run", "mlp.hrg", "--input", "images=in.npy", "--shape",
                   "images=1x1x4x4")
        self.fails(2, "twice", "run", "mlp.hrg", "--input", "images=zeros", "--input",
                   "images=random")
        zeros = ["run", "mlp.hrg", "--input", "images=zeros"]
        for given in ("-1", "abc", "1.5", "1x", "", "0x10"):
            self.fails(2, f"--repeat: expected a whole number from 0, got {given}; see", *zeros,
                       "--repeat", given)
        self.fails(2, "--threads: expected a whole number from 0 to 2147483647, got 3000000000",
                   *zeros, "--threads", "3000000000")
        self.fails(2, "--seed: expected a whole number from 0, got -1", *zeros, "--seed", "-1")
        self.assertEqual(self.json_of(*zeros, "--repeat", "010", "--json", "-")["latency_ms"]["runs"],
                         10)
        self.fails(2, "standard output", "run", "mlp.hrg", "--input", "images=zeros", "--output",
                   "scores=-", "--json", "-")
        self.fails(1, "there are: train, eval, infer", "run", "mlp.hrg", "--signature", "serve")
        self.fails(1, "float32", "run", "types.hrg", "--input", "x=random")

    def test_numbers_as_inputs(self):
        done = self.json_of("run", "mlp.hrg", "--signature", "train", "--input", "images=zeros",
                            "--input", "labels=random", "--input", "learning_rate=0.1", "--json", "-")
        self.assertEqual(done["inputs"][2]["type"], "float32[]")
        self.assertGreater(done["outputs"][0]["mean"], 0)
        text = self.ok("run", "mlp.hrg", "--input", "images=-2.5")
        self.assertIn("from -2.5", text)

    def test_says_which_checkpoint_it_restores(self):
        self.make_data()
        self.ok("train", "mlp.hrg", "--data", "idx:./data/train", "--set", "learning_rate=0.1",
                "--steps", 4, "--save-every", 2, "--checkpoint", "ck")
        run = ["run", "mlp.hrg", "--input", "images=zeros", "--checkpoint", "ck"]
        self.assertEqual(self.run_tool(*run).stderr,
                         "variables from 'ck/step-000004', step 4\n")
        tensors = next((self.folder / "ck/step-000004").glob("*.safetensors"))
        self.damage(tensors.relative_to(self.folder), -1)
        done = self.run_tool(*run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"step-000004.* is damaged(.|\n)*"
                                      r"variables from 'ck/step-000002', step 2\n")

    def test_repeat(self):
        done = self.json_of("run", "mlp.hrg", "--input", "images=zeros", "--repeat", 50,
                            "--threads", 1, "--json", "-")
        times = done["latency_ms"]
        self.assertEqual(times["runs"], 50)
        ordered = [times[key] for key in ("min", "median", "p90", "p99", "max")]
        self.assertEqual(ordered, sorted(ordered))
        self.assertIn("p99", self.ok("run", "mlp.hrg", "--input", "images=zeros", "--repeat", 3))

    def test_report_goes_to_a_file(self):
        self.ok("run", "mlp.hrg", "--input", "images=zeros", "--json", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["outputs"][0]["dims"], [1, 4])

    def test_full_disk_and_closed_folders(self):
        self.fails(1, "No space left", "run", "mlp.hrg", "--input", "images=zeros", "--output",
                   "scores=/dev/full")
        self.fails(1, "No space left", "run", "mlp.hrg", "--input", "images=zeros", "--json",
                   "/dev/full")
        self.fails(1, "'no/folder.npy'", "run", "mlp.hrg", "--input", "images=zeros", "--output",
                   "scores=no/folder.npy")
        with open("/dev/full", "w") as full:
            self.fails(1, "No space left", "run", "mlp.hrg", "--input", "images=zeros",
                       stdout=full)


if __name__ == "__main__":
    support.main()
