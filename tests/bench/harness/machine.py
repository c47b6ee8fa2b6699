"""Builds our side, and measures what the machine can do at most."""
import json
import os
import pathlib
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


def prefix_of(folder):
    """A folder that looks like an installation of what was built."""
    prefix = folder / "bench-prefix"
    (prefix / "lib/pkgconfig").mkdir(parents=True, exist_ok=True)
    links = {path.name: path for path in (folder / "lib").glob("libheadrace*.so*")}
    links["pkgconfig/headrace.pc"] = folder / "headrace.pc"
    links["../include"] = source_of(folder) / "capi/include"
    for name, target in links.items():
        link = prefix / "lib" / name
        link.unlink(missing_ok=True)
        link.symlink_to(target.resolve())
    return prefix


def source_of(folder):
    """The source tree of a build."""
    key = "CMAKE_HOME_DIRECTORY:INTERNAL="
    lines = (folder / "CMakeCache.txt").read_text().splitlines()
    return pathlib.Path(next(line[len(key):] for line in lines if line.startswith(key)))


def busy_seconds():
    """What all cores have computed so far, for whomever."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, interrupts, soft = map(int, file.readline().split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def limits(folder, threads):
    build(folder, "headrace_tool")
    roof = json.loads(subprocess.run(
        [str(folder / "bin/headrace"), "roof", "--threads", str(threads), "--json", "-"],
        check=True, text=True, stdout=subprocess.PIPE).stdout)
    return Machine(flops=roof["operations"], bytes=roof["bytes"])
