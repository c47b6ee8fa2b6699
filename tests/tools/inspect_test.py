"""headrace inspect."""
import os
import shutil
import subprocess
import unittest

import support


class Inspect(support.ToolTest):
    def test_text_has_every_part(self):
        text = self.ok("inspect", "mlp.hrg")
        for part in ["1.0, written by headrace", "ai.onnx", "author: the tests",
                     "float32[batch, 1, 4, 4]", "batch, any size",
                     "trainable parameters: 340 in 4 variables",
                     "others (state): 340 in 4 variables", "RandomUniform, graph 1",
                     "axis=1", "headrace.train.SGD@1", "writes fc1/weight, fc1/weight/momentum",
                     "float32[] (constant)"]:
            self.assertIn(part, text)

    def test_operators_of_others_are_shown(self):
        text = self.ok("inspect", "custom.hrg")
        for part in ["org.example.Twist@1", "Relu", "float32[3]"]:
            self.assertIn(part, text)
        self.assertIn("Twist", self.ok("inspect", "custom.hrg", "--dot"))
        for refuse in [["run", "custom.hrg"], ["inspect", "custom.hrg", "--plan", "run"]]:
            self.fails(1, "there is no operator org.example.Twist", *refuse)

    def test_signature_cuts_the_graph_down(self):
        text = self.ok("inspect", "mlp.hrg", "--signature", "infer")
        self.assertIn("Softmax@13", text)
        for absent in ["SGD", "momentum", "labels", "learning_rate"]:
            self.assertNotIn(absent, text)
        whole = self.json_of("inspect", "mlp.hrg", "--json")["graph"]["nodes"]
        part = self.json_of("inspect", "mlp.hrg", "--json", "--signature", "infer")["graph"]["nodes"]
        self.assertLess(len(part), len(whole))
        self.assertTrue(all(node in whole for node in part), "numbers and names stay")

    def test_json_agrees_with_itself(self):
        everything = self.json_of("inspect", "mlp.hrg", "--json")
        model, graph = everything["model"], everything["graph"]
        self.assertEqual(model["nodes"], len(graph["nodes"]))
        self.assertEqual(model["values"], len(graph["values"]))
        self.assertEqual([s["name"] for s in model["signatures"]], ["train", "eval", "infer"])
        images = model["signatures"][2]["inputs"][0]
        self.assertEqual((images["dtype"], images["dims"]), ("float32", ["batch", 1, 4, 4]))
        self.assertEqual(everything["file"]["bytes"], (self.folder / "mlp.hrg").stat().st_size)
        weight = next(v for v in model["variables"] if v["name"] == "fc1/weight")
        self.assertEqual((weight["bytes"], weight["trainable"]), (16 * 16 * 4, True))

    def test_other_graphs(self):
        text = self.ok("inspect", "mlp.hrg", "--graph", "1")
        self.assertIn("RandomUniform@1", text)
        self.assertNotIn("Softmax@13", text)
        self.fails(1, "no graph 99", "inspect", "mlp.hrg", "--graph", "99")
        self.fails(1, "graph 1", "inspect", "mlp.hrg", "--graph", "1", "--signature", "infer")

    def test_stripped_file_shows_numbers(self):
        text = self.ok("inspect", "stripped.hrg", "--signature", "infer")
        self.assertIn("side file stripped.bin", text)
        self.assertIn("(Softmax)", text)
        self.assertRegex(text, r"in +%\d+, %\d+")

    def test_dot_is_drawn(self):
        dot = self.ok("inspect", "mlp.hrg", "--dot")
        self.assertTrue(dot.startswith("digraph"))
        self.assertIn("infer: scores", dot)
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=dot, text=True, check=True,
                           stdout=subprocess.DEVNULL)

    def test_plan(self):
        text = self.ok("inspect", "mlp.hrg", "--plan", "train", "--shape", "images=8x1x4x4",
                       "--shape", "labels=8")
        for part in ["float32[8, 1, 4, 4]", "CPU:0", "arena of", "gemm", "writes variables"]:
            self.assertIn(part, text)
        self.assertRegex(text, r"peak of .* at step \d+ \(.*\), held by\n(.*\n)* +512 bytes +\S+ +steps \d+ to \d+")
        plan = self.json_of("inspect", "mlp.hrg", "--plan", "train", "--shape", "images=8x1x4x4",
                            "--shape", "labels=8", "--json")["plan"]
        peak = plan["regions"][0]["executable"]["peak"]
        self.assertGreater(peak["bytes"], 0)
        self.assertEqual(sum(holder["bytes"] for holder in peak["holders"]) + peak["other_bytes"],
                         peak["bytes"])
        for holder in peak["holders"]:
            self.assertLessEqual(holder["first_step"], peak["step"], holder)
            self.assertGreaterEqual(holder["last_step"], peak["step"], holder)
        one = self.json_of("inspect", "mlp.hrg", "--plan", "infer", "--json")["plan"]
        self.assertEqual(one["inputs"][0]["type"], "float32[1, 1, 4, 4]")
        self.assertEqual(one["writes_variables"], 0)

    def test_placement(self):
        text = self.ok("inspect", "mlp.hrg", "--placement", "infer")
        self.assertIn("CPU:0", text)
        self.assertNotIn("copies", text)
        toy = os.environ["HEADRACE_TEST_PLUGINS"] + "/libheadrace_toy_accelerator.so"
        placed = ["--plugin", toy, "--device", "TOY:0"]
        text = self.ok("inspect", "mlp.hrg", "--placement", "infer", *placed)
        self.assertRegex(text, r"TOY:0 +Relu")
        self.assertRegex(text, r"CPU:0 +Softmax .*TOY:0 was wanted")
        self.assertRegex(text, r"TOY:0 +CPU:0 +64 +Relu:0")
        self.assertIn("toy_relu", self.ok("inspect", "mlp.hrg", "--plan", "infer", *placed))
        devices = {node["device"] for node in self.json_of(
            "inspect", "mlp.hrg", "--plan", "infer", "--json", *placed)["plan"]["placement"]}
        self.assertEqual(devices, {"CPU:0", "TOY:0"})
        self.fails(1, "there are: CPU:0, TOY:0, TOY:1", "inspect", "mlp.hrg", "--plan", "infer",
                   "--plugin", toy, "--device", "TOY:9")
        self.fails(1, "plugin 'atlantis'", "inspect", "mlp.hrg", "--plugin", "atlantis")
        self.fails(2, "--device", "inspect", "mlp.hrg", "--device", "CPU:0")

    def test_wrong_use(self):
        self.fails(1, "nosuch.hrg", "inspect", "nosuch.hrg")
        self.fails(1, "signature 'inferr'; did you mean 'infer'", "inspect", "mlp.hrg",
                   "--signature", "inferr")
        self.fails(1, "there are: train, eval, infer", "inspect", "mlp.hrg", "--plan", "serve")
        self.fails(1, "has no input 'img'", "inspect", "mlp.hrg", "--plan", "infer", "--shape",
                   "img=1x1")
        self.fails(1, "images", "inspect", "mlp.hrg", "--plan", "infer", "--shape", "images=7x3")
        for shape in ["images=1xx4", "images=ax4", "images", "images=", "images=-1", "=3"]:
            self.fails(2, "--shape", "inspect", "mlp.hrg", "--plan", "infer", "--shape", shape)
        self.fails(2, "--plan", "inspect", "mlp.hrg", "--shape", "images=1x1x4x4")
        self.fails(2, "--plan", "inspect", "mlp.hrg", "--memory-limit", "1M")
        train = ["inspect", "mlp.hrg", "--plan", "train", "--shape", "images=8x1x4x4",
                 "--shape", "labels=8"]
        self.fails(1, "memory_limit is 1024 bytes, and the plan needs", *train,
                   "--memory-limit", "1K")
        self.fails(2, "--memory-limit expects bytes", *train, "--memory-limit", "x")
        self.fails(1, "pin takes words such as layout=plain", *train, "--pin", "layout=square")
        self.ok("inspect", "--plan", "infer", "--shape", "images=1x1x4x4", "mlp.hrg")
        self.fails(2, "--dot", "inspect", "mlp.hrg", "--dot", "--json")
        self.fails(2, "FILE", "inspect")

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            for form in ["--text", "--json", "--dot"]:
                self.fails(1, "No space left", "inspect", "mlp.hrg", form, stdout=full)


if __name__ == "__main__":
    support.main()
