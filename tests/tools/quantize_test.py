"""headrace quantize: a trained classifier in fewer bits, what that costs, and what is refused."""
import json

import support


class Quantize(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.make_data("train", 96)
        self.make_data("test", 40, seed=2)
        self.ok("train", "mlp.hrg", "--data", "idx:./data/train", "--batch", 16, "--set",
                "learning_rate=0.1", "--epochs", 10, "--export", "serve.hrg",
                "--export-signature", "infer", "--export-signature", "eval")

    def test_every_way_keeps_the_answers(self):
        for way in (["--dynamic"], ["--dynamic", "--per-tensor"], ["--weights-only"],
                    ["--static", "--data", "idx:./data/train", "--batches", 3],
                    ["--static", "--data", "idx:./data/train", "--percentile", "99.9"],
                    ["--static", "--data", "idx:./data/train", "--entropy"],
                    ["--weights-only", "--embeddings"], ["--to", "float16"],
                    ["--to", "bfloat16"], ["--to", "bfloat16", "--activations"]):
            report = self.json_of("quantize", "serve.hrg", "small.hrg", *way, "--batch", 16,
                                  "--signature", "infer", "--compare", "idx:./data/test", "--json")
            scores, = report["outputs"]
            self.assertEqual(scores["examples"], 40)
            self.assertGreater(scores["same_largest"], 0.9, way)
            self.assertTrue(0 < scores["error"] < 0.05, (way, scores))
            self.assertEqual(len(report["products"]), 2)
            self.assertLess(report["bytes_after"], 0.6 * report["bytes_before"])
            signatures = self.json_of("inspect", "small.hrg", "--json")["model"]["signatures"]
            self.assertEqual([s["name"] for s in signatures], ["infer"])

    def test_rounded_activations_cost_accuracy(self):
        errors = []
        for way in ([], ["--activations"]):
            report = self.json_of("quantize", "serve.hrg", "small.hrg", "--to", "bfloat16", "--batch",
                                  16, "--signature", "infer", "--compare", "idx:./data/test",
                                  "--json", *way)
            errors.append(report["outputs"][0]["error"])
        self.assertLess(errors[0], errors[1])

    def test_metrics_before_and_after(self):
        report = self.json_of("quantize", "serve.hrg", "small.hrg", "--static", "--data",
                              "idx:./data/train", "--signature", "eval", "--batch", 16,
                              "--compare", "idx:./data/test", "--json")
        loss, = (output for output in report["outputs"] if output["name"] == "loss")
        self.assertAlmostEqual(loss["before"], loss["after"], delta=0.1)
        self.assertNotEqual(loss["before"], loss["after"])
        text = self.ok("quantize", "serve.hrg", "small.hrg", "--dynamic", "--signature", "eval",
                       "--batch", 16, "--compare", "idx:./data/test")
        self.assertIn("signature eval, dynamic", text)
        self.assertRegex(text, r"loss: error .* before, .* after \(40 examples\)")

    def test_the_same_as_onnx(self):
        self.ok("quantize", "serve.hrg", "small.hrg", "--dynamic", "--signature", "infer")
        if self.run_tool("convert", "--onnx", "small.hrg", "small.onnx").returncode != 0:
            self.skipTest("this build does not convert")
        self.ok("convert", "small.onnx", "again.hrg", "--constants")
        one, other = (self.json_of("run", name, "--input", "images=random", "--shape",
                                   "images=5x1x4x4", "--json", "-")["outputs"]
                      for name in ("small.hrg", "again.hrg"))
        self.assertEqual([o["mean"] for o in one], [o["mean"] for o in other])

    def test_what_is_refused(self):
        usage = (([], "give one of"), (["--dynamic", "--static"], "give one of"),
                 (["--static"], "needs the data"), (["--dynamic", "--batches", 2], "about --static"),
                 (["--dynamic", "--entropy"], "about --static"),
                 (["--static", "--data", "idx:./data/train", "--percentile", "99", "--entropy"],
                  "one of --percentile"),
                 (["--to", "float16", "--activations"], "bfloat16"),
                 (["--to", "int4"], "float16 or bfloat16"),
                 (["--dynamic", "--data", "idx:./data/train"], "--static"),
                 (["--to", "float16", "--per-tensor"], "8 bits"))
        for wrong, words in usage:
            self.fails(2, words, "quantize", "serve.hrg", "small.hrg", "--signature", "infer", *wrong)
        failures = ((["--dynamic", "--nodes", "conv*"], "conv*"),
                    (["--static", "--data", "idx:./data/train", "--percentile", "20"], "above 50"),
                    (["--static", "--data", "idx:./data/none"], "none"))
        for wrong, words in failures:
            self.fails(1, words, "quantize", "serve.hrg", "small.hrg", "--signature", "infer", *wrong)
        self.fails(1, "nothing to quantize", "quantize", "types.hrg", "small.hrg", "--dynamic",
                   "--signature", "float32")
        self.assertFalse((self.folder / "small.hrg").exists())

    def test_data_of_another_shape(self):
        (self.folder / "rows.csv").write_text("images,labels\n1,0\n2,1\n")
        self.fails(1, "images", "quantize", "serve.hrg", "small.hrg", "--static", "--data",
                   "csv:rows.csv", "--signature", "infer")


if __name__ == "__main__":
    support.main()
