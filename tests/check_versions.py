#!/usr/bin/env python3
"""Checks that all packages have the version of CMakeLists.txt.

usage: check_versions.py               names each file that has another one
       check_versions.py --set X.Y.Z   writes this version into all of them

What is not listed here takes the version from CMakeLists.txt: the library, the Debian packages, the
Python package, the Go module.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "CMakeLists.txt"
NUMBER = r"\d+\.\d+\.\d+"

# File, and what stands around a version in it. The first one is the source.
PLACES = [
    (SOURCE, r"^(project\(Headrace VERSION )(\S+)( )"),
    ("bindings/rust/Cargo.toml", rf'(^\[workspace\.package\]\nversion = ")({NUMBER})(")'),
    ("bindings/rust/headrace/Cargo.toml", rf'(^headrace-sys = {{ version = ")({NUMBER})(")'),
    ("bindings/rust/Cargo.lock", rf'(^name = "headrace"\nversion = ")({NUMBER})(")'),
    ("bindings/rust/Cargo.lock", rf'(^name = "headrace-sys"\nversion = ")({NUMBER})(")'),
    ("bindings/java/pom.xml", rf"(<artifactId>headrace</artifactId>\s*<version>)({NUMBER})(</version>)"),
    ("docs/java.md", rf"(target/headrace-)({NUMBER})(\.jar)"),
]
# The same of the major version, which is in the name of the library's file, and of the interface.
MAJOR = [
    ("bindings/python/headrace/_library.py", r'^(NAME = "libheadrace\.so\.)(\d+)(")'),
    ("bindings/java/src/main/java/dev/headrace/Library.java", r'(String ABI = "\.)(\d+)(")'),
]
INTERFACE = [("capi/include/headrace/base.h", r"^(#define HR_API_VERSION )(\d+)(\n)")]


def wanted(version):
    """(file, pattern, what must stand there) for each place."""
    major, minor, _ = map(int, version.split("."))
    for places, text in ((PLACES, version), (MAJOR, str(major)), (INTERFACE, str(10000 * major + 100 * minor))):
        yield from ((path, pattern, text) for path, pattern in places)


def faults(root, version):
    for path, pattern, text in wanted(version):
        found = re.search(pattern, (root / path).read_text(), re.M)
        if found is None:
            yield f"{path}: has no version where one is expected ({pattern})"
        elif found[2] != text:
            yield f"{path}: has {found[2]}, expected {text} of {version}; run tests/check_versions.py --set {version}"


def write(root, version):
    for path, pattern, text in wanted(version):
        content = (root / path).read_text()
        (root / path).write_text(re.sub(pattern, rf"\g<1>{text}\g<3>", content, count=1, flags=re.M))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--set" and re.fullmatch(NUMBER, sys.argv[2]):
        write(ROOT, sys.argv[2])
    elif len(sys.argv) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    version = re.search(PLACES[0][1], (ROOT / SOURCE).read_text(), re.M)[2]
    found = list(faults(ROOT, version))
    print("\n".join(found) if found else f"everything has the version {version}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
