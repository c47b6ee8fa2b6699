"""The models of the samples in ONNX, and what they are asked.

Run as a program (with a folder, and perhaps names), it writes for each NAME-infer.onnx,
NAME-BATCH-INPUT.pb (each input of a batch), and NAME.done.
"""
import pathlib
import sys

import numpy
import onnx
from onnx import numpy_helper

from harness import packages
from models import minilm_onnx

BATCHES = [1, 8]
OCR = "rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models"


def shipped(package, version, file):
    return onnx.load(packages.folder(package, version) / file)


def ocr(file):
    package, version, folder = OCR
    return shipped(package, version, f"{folder}/{file}")


def bytes_of_files(random, batch):
    return {"bytes": random.integers(0, 256, (batch, 2048)).astype(numpy.int32)}


def windows_of_sound(random, batch):
    """Of 32 ms at 16 kHz, behind 4 ms of the window before."""
    return {"input": random.uniform(-0.5, 0.5, (batch, 64 + 512)).astype(numpy.float32),
            "state": numpy.zeros((2, batch, 128), numpy.float32),
            "sr": numpy.array(16000, numpy.int64)}


def writing(height, width, line):
    """White pages with lines of black letters, so high, that are bars and gaps."""
    def make(random, batch):
        pages = numpy.ones((batch, 3, height, width), numpy.float32)
        for top in range(line // 4, height - line // 2, 2 * line):
            letters = random.uniform(0, 1, (batch, 1, line // 4, width // 4)) < 0.4
            part = pages[:, :, top:top + line // 4 * 2]
            part[letters.repeat(2, 2).repeat(4, 3)[..., :width].repeat(3, 1)] = -1
        return {"x": pages}
    return make


def texts(random, batch, length=128):
    words = random.integers(1000, 30000, (batch, length))
    return {"input_ids": words, "attention_mask": numpy.ones_like(words),
            "token_type_ids": numpy.zeros_like(words)}


# (the model, its inputs)
SAMPLES = {
    "filetype": (lambda: shipped("magika", "1.0.3", "magika/models/standard_v3_3/model.onnx"),
                 bytes_of_files),
    "voice": (lambda: shipped("silero-vad", "6.2.3", "silero_vad/data/silero_vad.onnx"),
              windows_of_sound),
    "ocr-finds": (lambda: ocr("ch_PP-OCRv4_det_infer.onnx"), writing(736, 736, 32)),
    "ocr-reads": (lambda: ocr("ch_PP-OCRv4_rec_infer.onnx"), writing(48, 320, 48)),
    "search": (minilm_onnx.with_float_weights, texts),
    "search-int8": (lambda: onnx.load(minilm_onnx.int8_path()), texts),
}


def write(name, folder):
    make, inputs = SAMPLES[name]
    onnx.save(make(), folder / f"{name}-infer.onnx")
    for batch in BATCHES:
        for key, array in inputs(numpy.random.default_rng(batch), batch).items():
            tensor = numpy_helper.from_array(array)
            (folder / f"{name}-{batch}-{key}.pb").write_bytes(tensor.SerializeToString())
    (folder / f"{name}.done").touch()


if __name__ == "__main__":
    for one in sys.argv[2:] or SAMPLES:
        write(one, pathlib.Path(sys.argv[1]))
