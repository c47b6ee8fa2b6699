#!/usr/bin/env python3
"""Checks on what is built: exported symbols and static constructors.

usage: check_library.py symbols LIBRARY       exports, headers and capi/symbols.txt name the same
       check_library.py update                writes capi/symbols.txt from the headers
       check_library.py constructors ARCHIVE  no object file of ours runs code before main
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "capi/include"
SYMBOLS = ROOT / "capi/symbols.txt"


def output_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def declared():
    """The functions that the public C headers declare."""
    names = set()
    for header in sorted(INCLUDE.rglob("*.h")):
        text = output_of("cc", "-E", "-P", f"-I{INCLUDE}", "-include", str(header), "-xc", "/dev/null")
        text = re.sub(r"static\s+inline[^{]*\{.*?\n\}", "", text, flags=re.DOTALL)
        names |= set(re.findall(r"\b(hr_\w+)\s*\((?!\*)", text))  # not a pointer to a function
    return names


def exported(library):
    lines = output_of("nm", "-D", "--defined-only", "--format=posix", library).splitlines()
    names = {line.split()[0].split("@")[0] for line in lines if line.split()[1] != "A"}
    return {name for name in names if name not in ("_init", "_fini")}


def kept():
    return set(SYMBOLS.read_text().split())


def check_symbols(library):
    exports, names, list_ = exported(library), declared(), kept()
    faults = [f"{name}: exported, but only hr_ names may be" for name in exports
              if not name.startswith("hr_")]
    faults += [f"{name}: declared in a header, not in capi/symbols.txt; add it with "
               "'tests/check_library.py update'" for name in names - list_]
    faults += [f"{name}: in capi/symbols.txt, but no header declares it; a released function is "
               "never removed" for name in list_ - names]
    faults += [f"{name}: in capi/symbols.txt, but the library does not define it"
               for name in list_ - exports]
    faults += [f"{name}: exported, not in capi/symbols.txt" for name in exports - list_]
    return faults


def check_constructors(archive):
    faults, member = [], archive
    for line in output_of("readelf", "-SW", archive).splitlines():
        if line.startswith("File: "):
            member = line[len("File: "):]
        elif re.search(r"\s\.(init_array|preinit_array|ctors|init)\b", line):
            faults.append(f"{member}: has a static constructor; nothing of ours may run before main "
                          "(make the object constexpr, or a local of a function)")
    return sorted(set(faults))


def update():
    SYMBOLS.write_text("".join(f"{name}\n" for name in sorted(declared())))
    return []


def main():
    modes = {"symbols": check_symbols, "update": update, "constructors": check_constructors}
    if len(sys.argv) < 2 or sys.argv[1] not in modes:
        print(__doc__, file=sys.stderr)
        return 2
    faults = modes[sys.argv[1]](*sys.argv[2:])
    print("\n".join(sorted(faults)) if faults else "as it should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
