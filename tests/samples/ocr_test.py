"""samples/ocr reads a page, and sees and reads what ONNX Runtime sees and reads with the networks.

usage: ocr_test.py OCR HEADRACE
"""
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import real_model

import numpy
import onnx
from PIL import Image

sys.path.insert(0, str(real_model.ROOT / "samples/ocr"))
import page  # noqa: E402

PROGRAM, TOOL = sys.argv[1:3]
PACKAGE = real_model.package("rapidocr-onnxruntime", "1.4.4") / "rapidocr_onnxruntime/models"
DETECTOR, RECOGNIZER = PACKAGE / "ch_PP-OCRv4_det_infer.onnx", PACKAGE / "ch_PP-OCRv4_rec_infer.onnx"


def resampled(pixels, box, height, width):
    """The part of a page as [3, height, width], mixed of four neighbours, from -1 to 1."""
    def between(first, last, count, size):
        place = (numpy.arange(count, dtype="float32") + 0.5) / numpy.float32(count)
        at = numpy.clip(first + place * (last - first) - 0.5, 0, size - 1)
        below = numpy.floor(at)
        return below.astype(int), numpy.minimum(below + 1, size - 1).astype(int), at - below

    left, top, right, bottom = numpy.asarray(box, "float32")
    y, y1, down = between(top, bottom, height, pixels.shape[0])
    x, x1, along = between(left, right, width, pixels.shape[1])
    along, down = along[None, :, None], down[:, None, None]
    above = pixels[y][:, x] * (1 - along) + pixels[y][:, x1] * along
    below = pixels[y1][:, x] * (1 - along) + pixels[y1][:, x1] * along
    return ((above * (1 - down) + below * down) / 127.5 - 1).transpose(2, 0, 1)


def characters():
    metadata = {entry.key: entry.value for entry in onnx.load(RECOGNIZER).metadata_props}
    return ["", *metadata["character"].split("\n"), " "]


def decoded(chances, known):
    best = chances.argmax(1)
    kept = (best != 0) & (best != numpy.concatenate([[-1], best[:-1]]))
    return "".join(known[i] for i in best[kept]).strip(), chances.max(1)[kept].mean()


class Ocr(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.models = [real_model.convert(TOOL, model, self.folder / f"{model.stem}.hrg")
                       for model in (DETECTOR, RECOGNIZER)]
        text = (real_model.ROOT / "samples/ocr/text.txt").read_text(encoding="utf-8")
        image, self.lines = page.render(text)
        self.page = self.folder / "a page?,.png"
        image.save(self.page)
        self.pixels = numpy.asarray(image)[:, :, ::-1].astype("float32")

    def ocr(self, *arguments):
        return subprocess.run([PROGRAM, "--detector", self.models[0], "--recognizer", self.models[1],
                               *arguments], capture_output=True, text=True)

    def read(self, *arguments):
        done = self.ocr("--json", *arguments, self.page)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_reads_what_is_on_the_page_and_draws_it(self):
        drawn = self.folder / "drawn.png"
        read = "\n".join(line["text"] for line in self.read("--out", drawn))
        wanted = "\n".join(" ".join(line.split()) for line in self.lines)
        matcher = difflib.SequenceMatcher(None, read, wanted, autojunk=False)
        self.assertGreater(matcher.ratio(), 0.98, read)
        green = (numpy.asarray(Image.open(drawn)).astype(int) @ [-1, 1, 0] > 100).sum(1)
        self.assertGreater((green > 100).sum(), 2 * len(self.lines))

    def test_sees_what_onnx_runtime_sees(self):
        self.read("--map", self.folder / "map.npy")
        got = numpy.load(self.folder / "map.npy")
        height, width = self.pixels.shape[:2]
        fed = resampled(self.pixels, (0, 0, width, height), *got.shape)
        self.assertEqual(got.shape, (round(height / 32) * 32, round(width / 32) * 32))
        wanted, plain = (real_model.session(DETECTOR, optimized=way).run(None, {"x": fed[None]})[0][0, 0]
                         for way in (True, False))
        # At the edges of letters the network is so steep that ONNX Runtime with and without its
        # optimizations differs by 2e-4.
        tolerance = max(1e-4, abs(wanted - plain).max())
        numpy.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance)

    def test_reads_what_onnx_runtime_reads(self):
        lines, known, peer = self.read(), characters(), real_model.session(RECOGNIZER)
        boxes = numpy.array([line["box"] for line in lines], "float32")
        high, wide = boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]
        widths = numpy.ceil(numpy.float32(48) * wide / high).astype(int)
        order = numpy.argsort(widths, kind="stable")
        for first in range(0, len(order), 6):
            some = order[first:first + 6]
            fed = numpy.zeros((len(some), 3, 48, max(320, widths[some].max())), "float32")
            for row, i in enumerate(some):
                fed[row, :, :, :widths[i]] = resampled(self.pixels, boxes[i], 48, widths[i])
            (chances,) = peer.run(None, {"x": fed})
            for row, i in enumerate(some):
                text, score = decoded(chances[row], known)
                self.assertEqual(lines[i]["text"], text)
                self.assertAlmostEqual(lines[i]["score"], float(score), delta=1e-4)

    def test_what_is_wrong_is_named(self):
        (self.folder / "text.png").write_text("no picture at all")
        swapped = ["--recognizer", self.models[0], self.page]
        for arguments, words in [(["/no/such.png"], "/no/such.png"), ([], "a page are needed"),
                                 ([self.folder / "text.png"], "text.png"), (["a", "b"], "got 'b', too"),
                                 (swapped, "does not say which characters"),
                                 (["--out", "/no/such/x.png", self.page], "could not write"),
                                 (["--quick", self.page], "unknown option '--quick'")]:
            done = self.ocr(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
