#!/usr/bin/env python3
"""Checks that the C interface only grows: what a kept version had is still there, and unchanged.

usage: check_abi.py          compares docs/c_api.json with capi/abi/VERSION.txt of the same major version
       check_abi.py --keep   keeps the interface as that of this version

A function or a callback keeps its types, a number its type, a constant its value. A struct that
begins with struct_size may have more fields at its end; any other one stays as it is. (That the
library exports these functions is checked by check_library.py, and docs/c_api.json is what
capi/describe_api.py reads from the headers.)
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "capi/abi"


def signature(function):
    """The types of a function: how it is called, whatever its parameters are named."""
    return f"{function['returns']['type']} ({', '.join(one['type'] for one in function['parameters'])})"


def interface(api):
    """What a program is compiled with, by name."""
    found = {f"handle {one['name']}": "opaque" for one in api["handles"]}
    found |= {f"function {one['name']}": signature(one) for one in api["functions"]}
    found |= {f"callback {one['name']}": signature(one) for one in api["callbacks"]}
    found |= {f"number {one['name']}": one["type"] for one in api["numbers"] + api["enumerations"]}
    constants = [one for group in api["enumerations"] for one in group["constants"]] + api["constants"]
    found |= {f"constant {one['name']}": str(one["value"]) for one in constants if one["name"] != "HR_API_VERSION"}
    for struct in api["structs"]:
        fields = "".join(f"{field['type']} {field['name']}; " for field in struct["fields"])
        found[f"struct {struct['name']}"] = fields.strip()
    return found


def may_become(name, old, new):
    if name.startswith("struct ") and old.startswith("size_t struct_size;"):
        return new == old or new.startswith(f"{old} ")
    return new == old


def faults(kept, now):
    """A line for each thing that a program built with the kept interface would miss."""
    for name, old in kept.items():
        if name not in now:
            yield f"{name}: is gone, and programs use it"
        elif not may_become(name, old, now[name]):
            yield f"{name}: was '{old}', is '{now[name]}'; make a new one beside it"


def read(path):
    return dict(line.split(": ", 1) for line in path.read_text().splitlines())


def main():
    now = interface(json.loads((ROOT / "docs/c_api.json").read_text()))
    version = re.search(r"^project\(Headrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    if sys.argv[1:] == ["--keep"]:
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{version}.txt").write_text("".join(f"{name}: {now[name]}\n" for name in sorted(now)))
        return 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    paths = sorted(KEPT.glob(f"{version.split('.')[0]}.*.txt"))
    found = [f"since {path.stem}: {fault}" for path in paths for fault in faults(read(path), now)]
    found = found or ([] if paths else ["no version is kept in capi/abi: tests/check_abi.py --keep"])
    print("\n".join(found) if found else f"the interface has what {', '.join(path.stem for path in paths)} had")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
