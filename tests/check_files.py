#!/usr/bin/env python3
"""What the repository may hold: text and small test files, no programs, dumps or data sets.

usage: check_files.py [FOLDER]
"""
import pathlib
import subprocess
import sys

MOST_BYTES = 512 * 1024
PROGRAMS = {b"\x7fELF": "a program, library or core dump", b"MZ": "a Windows program",
            b"!<arch>": "an archive of objects", b"PK\x03\x04": "a zip archive",
            b"\x1f\x8b": "a gzip archive"}


def faults(root, names):
    for name in names:
        path = root / name
        if not path.is_file() or path.is_symlink():
            continue
        size = path.stat().st_size
        if size > MOST_BYTES:
            yield f"{name}: {size} bytes, at most {MOST_BYTES} belong here; let a script make it"
        with path.open("rb") as file:
            start = file.read(8)
        for magic, what in PROGRAMS.items():
            if start.startswith(magic):
                yield f"{name}: {what}; let the build make it"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parent.parent
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0:
        print("skipped: no git checkout")
        return 77
    found = list(faults(root, listed.stdout.decode().split("\0")[:-1]))
    print("\n".join(found) or "nothing too large, no program")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
