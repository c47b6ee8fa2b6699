"""What the tests of samples with real models share: packages, conversions and ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def skip(reason):
    print(f"skipped: {reason}; cmake/setup tests installs what is missing")
    sys.exit(77)


try:
    import numpy  # noqa: F401
    import onnxruntime
except ImportError as error:
    skip(error)


def package(name, version):
    """The folder of a package's content."""
    done = subprocess.run([ROOT / "samples/package", name, version], capture_output=True, text=True)
    if done.returncode != 0:
        skip(f"{name} {version} could not be had: {done.stderr.strip()[-200:]}")
    return pathlib.Path(done.stdout.strip())


def convert(tool, model, target, *options):
    """Converts a model with the program headrace."""
    subprocess.run([tool, "convert", *options, str(model), str(target)], check=True,
                   stdout=subprocess.DEVNULL)
    return target


def session(path, optimized=True):
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = max(1, (os.cpu_count() or 2) // 2)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
