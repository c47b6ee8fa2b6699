"""Builds our side, and measures what the machine can do at most."""
import subprocess

from .catalog import Machine
from .peers import ROOT, Failure


def build(folder, target):
    """Builds `target` in `folder` (configured for Release where it is new); its program."""
    steps = [["cmake", "--build", str(folder), "--target", target]]
    if not (folder / "CMakeCache.txt").exists():
        steps[:0] = [[str(ROOT / "cmake/setup")],
                     ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                      "-DCMAKE_BUILD_TYPE=Release"]]
    for step in steps:
        done = subprocess.run(step, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Failure(f"{' '.join(step)} failed:\n{done.stdout[-4000:]}")
    return folder / "bin" / target


def limits(folder, threads):
    program = build(folder, "bench_floor")
    text = subprocess.run([str(program), str(threads)], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return Machine(*map(float, text.split()))
