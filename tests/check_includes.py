#!/usr/bin/env python3
"""Checks who includes whom: the arrows between the parts of Headrace point one way only.

usage: check_includes.py [ROOT]

Prints one line for every include that points the wrong way, and for every path that this script names
and that does not exist; exits 1 if there is one.
"""
import pathlib
import re
import sys

ROOMS = ["base", "device", "comm", "graph", "format", "ops", "transform", "plugin", "engine",
         "lowering", "session", "data", "train", "cluster"]
CORE = {f"runtime/{room}" for room in ROOMS[:ROOMS.index("session") + 1]}

# Libraries of others, by the beginning of the include, and who may use them. The core, base to
# session, depends on FlatBuffers alone.
THIRD_PARTY = {
    "flatbuffers/": {f"runtime/{room}" for room in ROOMS[ROOMS.index("format"):]} | {"backends/cpu"},
    "hwy/": {"backends/cpu"},
    "emmintrin.h": {"runtime/data"},
    "oneapi/dnnl/": {"backends/cpu"},
    "nlohmann/": {"runtime/data", "runtime/train", "runtime/cluster", "tools", "samples"},
    "zlib.h": {"runtime/data", "runtime/train"},
    "CLI/": {"tools", "samples"},
    "uv.h": {"transport/tcp"},
    "openssl/": {"transport/tcp", "tests/conformance"},
    "protozero/": {"converters/onnx"},
    "ucp/": {"transport/ucx", "tests/conformance"},
    "ucs/": {"transport/ucx"},
    "mpi.h": {"tests/bench"},
    "jpeglib.h": {"decoders/images"},
    "png.h": {"decoders/images"},
    "jni.h": {"bindings/java"},
    "nanobind/": {"bindings/python"},
}
# C++ headers have no extension; these are the ones of C, POSIX and the compilers that we use.
SYSTEM = re.compile(
    r"[a-z_0-9]+|(sys|linux|netinet|arpa|net|mach|windows)/.*|"
    r"(assert|complex|ctype|cxxabi|dirent|dlfcn|elf|endian|errno|fcntl|fenv|float|immintrin|arm_neon|"
    r"inttypes|limits|link|locale|malloc|math|netdb|poll|pthread|sched|semaphore|setjmp|signal|getopt|spawn|"
    r"stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|threads|time|"
    r"ucontext|unistd|wchar|windows|winsock2)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".cuh", ".inc"}
FOLDERS = ["capi", "runtime", "backends", "transport", "converters", "decoders", "bindings", "tools", "samples", "tests"]
# See the public headers only, and files of their own.
OUTSIDE = ("bindings", "tools", "samples", "tests/capi", "tests/bench", "tests/install")
# The public headers that the inside may include: C structs that both sides of the boundary share.
SHARED = {"headrace/plugin.h", "headrace/plugin_backend.h", "headrace/plugin_converter.h",
          "headrace/plugin_decoder.h", "headrace/plugin_group.h",
          "headrace/plugin_transport.h"}
# What sees none of the other public headers.
INSIDE = ("runtime/", "backends/", "transport/", "converters/", "decoders/")
# Transports that are plugins, and the transports whose files they may include.
PLUGINS = {"transport/net": {"transport/tcp"}, "transport/ucx": set()}
# May include every backend and transport.
REGISTERS = {"capi/src/register.cc", "capi/src/linked_plugins.cc"}


def listed_paths():
    """Every path that this script names."""
    users = set().union(*THIRD_PARTY.values())
    headers = {f"capi/include/{header}" for header in SHARED}
    rooms = {f"runtime/{room}" for room in ROOMS}
    return users | headers | rooms | {*FOLDERS, *OUTSIDE, *REGISTERS} | PLUGINS.keys() | set().union(
        *PLUGINS.values())


def missing(root):
    """A line for each listed path that does not exist."""
    return [f"{path}: listed by tests/check_includes.py, but it does not exist"
            for path in sorted(listed_paths()) if not (root / path).exists()]


def part_of(path):
    """The part a path belongs to: runtime/base, backends/cpu, capi/src, tools, tests/unit, …"""
    pieces = path.split("/")
    one_level = {"tools", "samples"}
    return pieces[0] if pieces[0] in one_level else "/".join(pieces[:2])


def internal_parts(part):
    """The parts of our own that `part` may include, itself aside; None where any will do."""
    kind, _, name = part.partition("/")
    if kind == "runtime":
        return {f"runtime/{room}" for room in ROOMS[:ROOMS.index(name)]} if name in ROOMS else set()
    if kind == "backends":
        return {f"runtime/{room}" for room in ROOMS[:ROOMS.index("lowering") + 1]}
    if part in PLUGINS:
        return {"runtime/base", "runtime/comm", "runtime/plugin"} | PLUGINS[part]
    if kind == "converters":
        return {f"runtime/{room}" for room in ROOMS[:ROOMS.index("plugin") + 1]}
    if kind == "decoders":
        return {"runtime/base", "runtime/plugin"}
    if kind == "transport":
        return {"runtime/base", "runtime/device", "runtime/comm"}
    if part == "capi/src":
        return {f"runtime/{room}" for room in ROOMS}
    if part == "capi/include" or part.startswith(OUTSIDE):
        return set()
    return None  # tests of the inside


def public_headers_allowed(part, header):
    """The inside includes public headers in capi only, those of SHARED aside."""
    return header in SHARED or not part.startswith(INSIDE)


def fault_of_own(root, path, part, include):
    """What is wrong with including a file of ours, or None."""
    if include.startswith("headrace/"):
        return None if public_headers_allowed(part, include) else "the public headers are for hosts"
    target = part_of(include)
    beside = (root / path).parent / include
    if target == part:
        return None
    if part.startswith(OUTSIDE) or part.startswith("tests/"):
        if beside.exists() or (root / part / include).exists():
            return None
    allowed = internal_parts(part)
    if allowed is None or target in allowed:
        return None
    if path in REGISTERS and target.split("/")[0] in ("backends", "transport", "converters"):
        return None
    if beside.exists() and "/" not in include:
        return "write the path from the root of the project"
    if not allowed:
        return f"{part} sees the public headers only"
    return f"{part} may include only {', '.join(sorted(allowed))} and itself"


def fault_of_foreign(part, include):
    """What is wrong with including a header of somebody else, or None."""
    for beginning, users in THIRD_PARTY.items():
        if include.startswith(beginning):
            if part in users or part.startswith("tests/"):
                return None
            return f"only {', '.join(sorted(users))} may use this library"
    if SYSTEM.fullmatch(include) or include.startswith("gtest/") and part.startswith("tests/"):
        return None
    return "unknown library: name it in THIRD_PARTY with those who may use it"


def fault_of(root, path, quote, include):
    part = part_of(path)
    if include.startswith("headrace/") or quote == '"':
        return fault_of_own(root, path, part, include)
    return fault_of_foreign(part, include)


def faults(root):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in SOURCES or not file.is_file():
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                fault = match and fault_of(root, path, *match.groups())
                if fault:
                    yield f"{path}:{number}: {match[2]}: {fault}"


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    found = missing(root) + list(faults(root))
    print("\n".join(found) if found else "every include points the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
