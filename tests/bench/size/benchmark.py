import pathlib
import subprocess
import tempfile

from harness.catalog import Benchmark
from harness.peers import Failure

COMMON = ["-DCMAKE_BUILD_TYPE=MinSizeRel", "-DHEADRACE_TESTS=OFF", "-DHEADRACE_TOOLS=OFF",
          "-DHEADRACE_ONEDNN=OFF", "-DHEADRACE_COMM=OFF"]
ONE_DEVICE = "-DHEADRACE_PLUGINS=OFF"
OPTIONS = {"core": ["-DHEADRACE_CPU=OFF", "-DHEADRACE_TRAIN=OFF", "-DHEADRACE_ML=OFF", ONE_DEVICE],
           "core-with-plugins": ["-DHEADRACE_CPU=OFF", "-DHEADRACE_TRAIN=OFF"],
           "train": []}


def call(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")


def stripped_bytes(case, source):
    build = source / f"build-size-{case}"
    call("cmake", "-S", source, "-B", build, "-G", "Ninja", *COMMON, *OPTIONS[case])
    call("cmake", "--build", build, "--target", "headrace")
    with tempfile.NamedTemporaryFile() as stripped:
        call("strip", "-o", stripped.name, (build / "lib/libheadrace.so").resolve())
        return pathlib.Path(stripped.name).stat().st_size


BENCHMARK = Benchmark(
    name="size", about="stripped library: the core (files, graphs, sessions), the core with plugins and "
                       "several devices, that with the portable CPU and training",
    unit="bytes", cases=["core", "core-with-plugins", "train"], peers=[], repeats=1, ours=stripped_bytes)
