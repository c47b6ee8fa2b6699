"""How long a run takes in a language, against ONNX Runtime in that language. A side is the script
side_LANGUAGE PREFIX ENGINE, where the engine is headrace (the one in PREFIX) or onnxruntime. Each has
its input and output bound beforehand, if its interface can do that, and answers with microseconds,
its version, and what the run has computed. The models are in the scratch folder, for both engines."""
import pathlib
import shutil
import subprocess

from harness import machine, peers
from harness.catalog import Benchmark

MAGIKA = "magika/models/standard_v3_3/model.onnx"  # in the Python package


def output_of(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise peers.Failure(f"{' '.join(map(str, command))} failed (see above)")
    return done.stdout.strip()


def prepare(build, scratch):
    """Puts CASE.onnx and CASE.hrg into the scratch folder."""
    peers.install("onnxruntime")
    here, scratch = pathlib.Path(peers.ROOT) / "tests/bench/binding-latency", pathlib.Path(scratch)
    package = output_of(peers.ROOT / "samples/package", "magika", "1.0.3")
    shutil.copy(pathlib.Path(package) / MAGIKA, scratch / "magika.onnx")
    output_of(peers.VENV / "bin/python", here / "one_node.py", scratch / "one-node.onnx")
    machine.build(build, "headrace_onnx")
    headrace = machine.build(build, "headrace_tool").with_name("headrace")
    for model in scratch.glob("*.onnx"):
        output_of(headrace, "convert", "--constants", "--simplify", model, model.with_suffix(".hrg"))


BENCHMARK = Benchmark(
    name="binding-latency", about="a run of a small model in a language, against ONNX Runtime there",
    unit="us", cases=["one-node", "magika"], paired=True, prepare=prepare, repeats=9,
    peers=[f"onnxruntime-{language}" for language in ("python", "java", "rust", "go")])
