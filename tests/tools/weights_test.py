"""headrace weights: variables out to .safetensors and .npz files, and in again."""
import io
import json
import struct
import zipfile

import npy
import support


def read_safetensors(path):
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class Weights(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.variables = {v["name"]: v for v in self.json_of("weights", "list", "mlp.hrg",
                                                             "--json")}

    def export(self, name, *more):
        self.ok("weights", "export", "mlp.hrg", name, *more)
        return self.folder / name

    def test_lists_files_of_all_kinds(self):
        text = self.ok("weights", "list", "mlp.hrg")
        for name in self.variables:
            self.assertIn(name, text)
        for file in ["w.safetensors", "w.npz"]:
            self.export(file)
            listed = {w["name"]: (w["dtype"], w["dims"]) for w in
                      self.json_of("weights", "list", file, "--json")}
            self.assertEqual(listed, {name: (v["dtype"], v["dims"])
                                      for name, v in self.variables.items()})

    def test_both_formats_have_the_same_numbers(self):
        tensors = read_safetensors(self.export("w.safetensors"))
        self.assertEqual(tensors.keys(), self.variables.keys())
        with zipfile.ZipFile(self.export("w.npz")) as archive:
            self.assertIsNone(archive.testzip())
            for entry in archive.infolist():
                (self.folder / "one.npy").write_bytes(archive.read(entry))
                descr, shape, data = npy.read(self.folder / "one.npy")
                self.assertEqual((list(shape), data),
                                 tensors[entry.filename.removesuffix(".npy")][1:])

    def test_what_is_imported_is_what_was_exported(self):
        tensors = read_safetensors(self.export("w.safetensors"))
        for name, (dtype, shape, data) in tensors.items():
            tensors[name] = dtype, shape, bytes(reversed(data)) if dtype[0] != "F" else bytes(
                b ^ 1 for b in data)
        write_safetensors(self.folder / "other.safetensors", tensors)
        self.ok("weights", "import", "mlp.hrg", "other.safetensors", "new.hrg")
        self.ok("weights", "export", "new.hrg", "again.npz")
        self.ok("weights", "import", "mlp.hrg", "again.npz", "third.hrg")
        self.ok("weights", "export", "third.hrg", "again.safetensors")
        self.assertEqual(read_safetensors(self.folder / "again.safetensors"), tensors)

    def test_names_are_mapped_both_ways(self):
        first, *rest = self.variables
        (self.folder / "names.json").write_text(json.dumps({"theirs": first}))
        tensors = read_safetensors(self.export("w.safetensors", "--names", "names.json"))
        self.assertEqual(tensors.keys(), {"theirs", *rest})
        self.ok("weights", "import", "mlp.hrg", "w.safetensors", "new.hrg", "--names",
                "names.json")
        self.ok("weights", "export", "new.hrg", "again.safetensors", "--names", "names.json")
        self.assertEqual(read_safetensors(self.folder / "again.safetensors"), tensors)

    def refuses(self, *arguments):
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def test_everything_that_does_not_fit_is_named_at_once(self):
        tensors = read_safetensors(self.export("w.safetensors"))
        trainable = [name for name, v in self.variables.items() if v["trainable"]]
        lost, turned = trainable[:2]
        del tensors[lost]
        dtype, shape, data = tensors[turned]
        tensors[turned] = dtype, [*shape, 1], data
        tensors["stray"] = "I32", [1], bytes(4)
        write_safetensors(self.folder / "bad.safetensors", tensors)
        text = self.refuses("weights", "import", "mlp.hrg", "bad.safetensors", "new.hrg")
        for part in [f"variable '{lost}'", f"variable '{turned}' is float32", "'stray'"]:
            self.assertIn(part, text)
        self.assertFalse((self.folder / "new.hrg").exists())
        tensors[turned] = dtype, shape, data
        write_safetensors(self.folder / "bad.safetensors", tensors)
        text = self.ok("weights", "import", "mlp.hrg", "bad.safetensors", "new.hrg", "--partial")
        self.assertIn(f"{lost} stays as it was", text)

    def test_damaged_files(self):
        for name in ["w.safetensors", "w.npz"]:
            whole = self.export(name).read_bytes()
            for size in [0, 7, len(whole) // 2, len(whole) - 1]:
                (self.folder / name).write_bytes(whole[:size])
                self.assertIn(name, self.refuses("weights", "import", "mlp.hrg", name, "new.hrg"))
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr("a.npy", b"no array")
        (self.folder / "w.npz").write_bytes(archive.getvalue())
        self.fails(1, "w.npz/a.npy", "weights", "list", "w.npz")

    def test_command_lines(self):
        self.fails(1, ".safetensors or .npz", "weights", "export", "mlp.hrg", "w.bin")
        self.fails(1, "absent.json", "weights", "export", "mlp.hrg", "w.npz", "--names",
                   "absent.json")
        (self.folder / "bad.json").write_text('{"a": 3}')
        self.fails(1, "'a' is mapped to number", "weights", "export", "mlp.hrg", "w.npz",
                   "--names", "bad.json")
        (self.folder / "bad.json").write_text('{"a": "absent"}')
        self.assertIn("no variable 'absent'",
                      self.refuses("weights", "export", "mlp.hrg", "w.npz", "--names", "bad.json"))


if __name__ == "__main__":
    support.main()
