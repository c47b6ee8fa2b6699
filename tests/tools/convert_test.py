"""headrace convert: --check and --onnx. tests/conformance/onnx has conversions themselves."""
import json
import struct

import support


def field(number, payload):
    """A field of a protocol buffer: text and messages, or a number."""
    if isinstance(payload, int):
        return bytes([number << 3, payload])
    payload = payload.encode() if isinstance(payload, str) else payload
    assert len(payload) < 1 << 14
    size = [len(payload)] if len(payload) < 128 else [len(payload) & 127 | 128, len(payload) >> 7]
    return bytes([number << 3 | 2, *size]) + payload


def tensor(name, *values):
    return (field(1, bytes([len(values)])) + field(2, 1) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}f", *values)))


def neg(*nodes):
    """y = -x of three numbers, as ONNX; or of nodes: what each takes and makes, and its operator."""
    def info(name):
        shape = field(2, field(1, field(1, 3)))
        return field(1, name) + field(2, field(1, field(1, 1) + shape))
    nodes = [field(1, x) + field(2, y) + field(4, op)
             for x, y, op in nodes or [("x", "y", "Neg")]]
    graph = b"".join(field(1, node) for node in nodes) + field(2, "g") + field(11, info("x")) + field(12, info("y"))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


class Convert(support.ToolTest):
    def setUp(self):
        super().setUp()
        (self.folder / "neg.onnx").write_bytes(neg())
        if self.run_tool("convert", "neg.onnx", "neg.hrg").returncode != 0:
            self.skipTest("this build does not convert")

    def vectors(self, folder, expected):
        (self.folder / folder).mkdir(parents=True)
        (self.folder / folder / "input_0.pb").write_bytes(tensor("x", 1, -2, 0.5))
        (self.folder / folder / "output_0.pb").write_bytes(tensor("y", *expected))

    def test_vectors_that_agree(self):
        self.vectors("all/test_data_set_0", (-1, 2, -0.5))
        self.vectors("all/test_data_set_1", (-1.00001, 2, -0.5))
        text = self.ok("convert", "neg.onnx", "neg.hrg", "--check", "all")
        self.assertIn("ok  test_data_set_0  y float32[3]: largest error 0 of 2", text)
        self.assertIn("ok  test_data_set_1  y float32[3]: largest error 1e-05 of 2", text)

    def test_vectors_that_differ(self):
        self.vectors("set", (-1, 2.25, -0.5))
        done = self.run_tool("convert", "neg.onnx", "neg.hrg", "--check", "set", "--json")
        self.assertEqual(done.returncode, 1)
        check, = json.loads(done.stdout)["checks"]
        self.assertEqual((check["largest_error"], check["as_expected"]), (0.25, False))
        self.ok("convert", "neg.onnx", "neg.hrg", "--check", "set", "--tolerance", "0.2")

    def test_vectors_that_do_not_fit(self):
        self.vectors("set", (-1, 2))
        done = self.run_tool("convert", "neg.onnx", "neg.hrg", "--check", "set")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected float32[2]", done.stdout)
        (self.folder / "set/input_0.pb").unlink()
        self.fails(1, "no vector for the input 'x'", "convert", "neg.onnx", "neg.hrg", "--check",
                   "set")
        (self.folder / "empty").mkdir()
        self.fails(1, "has no test vectors", "convert", "neg.onnx", "neg.hrg", "--check", "empty")
        self.fails(1, "absent", "convert", "neg.onnx", "neg.hrg", "--check", "absent")

    def test_onnx_and_back(self):
        text = self.ok("convert", "--onnx", "neg.hrg", "again.onnx")
        self.assertIn("signature infer, 1 node of 1 operator", text)
        self.vectors("set", (-1, 2, -0.5))
        self.ok("convert", "again.onnx", "again.hrg", "--check", "set")
        report = self.json_of("convert", "--onnx", "neg.hrg", "again.onnx", "--json")
        self.assertEqual(report["operators"], {"Neg": 1})
        self.assertEqual(report["opsets"], {"ai.onnx": 17})

    def test_simplify(self):
        (self.folder / "more.onnx").write_bytes(neg(("x", "copy", "Identity"), ("copy", "y", "Neg"),
                                                    ("x", "unused", "Neg")))
        text = self.ok("convert", "more.onnx", "more.hrg", "--simplify")
        self.assertIn("3 nodes of 2 operators", text)
        self.assertIn("simplified to 1 node, 0 variables", text)
        self.vectors("set", (-1, 2, -0.5))
        report = self.json_of("convert", "more.onnx", "more.hrg", "--simplify", "--json", "--check",
                              "set")
        self.assertEqual(report["simplified"]["nodes"], 1)
        self.assertTrue(report["checks"][0]["as_expected"])
        self.assertEqual([path.name for path in self.folder.glob("more.hrg*")], ["more.hrg"])
        # What cannot be written leaves nothing behind.
        (self.folder / "folder.hrg").mkdir()
        self.fails(1, "folder.hrg", "convert", "more.onnx", "folder.hrg", "--simplify")
        self.assertEqual([path.name for path in self.folder.glob("folder.hrg*")], ["folder.hrg"])

    def test_command_lines(self):
        self.fails(2, "--simplify", "convert", "--onnx", "--simplify", "neg.hrg", "x.onnx")
        self.fails(2, "--onnx", "convert", "--onnx", "--constants", "neg.hrg", "x.onnx")
        self.fails(2, "--onnx", "convert", "neg.onnx", "neg.hrg", "--external-data")
        self.fails(2, "--tolerance", "convert", "neg.onnx", "neg.hrg", "--tolerance", "much")
        self.fails(1, "there is .onnx", "convert", "--onnx", "neg.hrg", "x.pt")


if __name__ == "__main__":
    support.main()
