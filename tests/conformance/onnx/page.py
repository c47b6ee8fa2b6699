"""Writes docs/conformance.md: what ONNX's node tests say about this build.

usage: page.py LIBRARY [--check]

With --check nothing is written, and what is there must be what would be written.
"""
import argparse
import collections
import fnmatch
import functools
import pathlib
import sys

import run

PAGE = pathlib.Path(__file__).parents[3] / "docs/conformance.md"

# Why a test is none of a runtime for numbers and tensors: a part of the reason for which it was
# skipped, and what the page says.
OUT_OF_SCOPE = [
    ("FLOAT8E8M0", "powers of two in 8 bits (FLOAT8E8M0)"),
    ("FLOAT4", "numbers of 4 bits and less"),
    ("INT4", "numbers of 4 bits and less"),
    ("INT2", "numbers of 4 bits and less"),
    ("STRING", "strings"),
    ("no operator String", "strings"),
    ("no operator RegexFullMatch", "strings"),
    ("are strings, which do not run", "strings"),
    ("ai.onnx.preview.training", "previews of training operators"),
]

# What is in scope and not done, by a part of the reason.
NOT_DONE = [
    ("random", "random numbers are Philox's, those of the tests NumPy's"),
    ("no operator ImageDecoder", "files of pictures are not decoded"),
    ("no operator ai.onnx.preview.FlexAttention", "a preview with subgraphs as attributes"),
]

HEAD = """# Conformance

ONNX's own node tests, run through the C interface by `tests/conformance/onnx`. A test passes if every
output has the type and shape that ONNX says, and its values within ONNX's tolerance. *Function bodies* are
tests that ONNX makes of others by replacing an operator with the function that defines it; *direct* are
all the rest. In scope are the direct tests but those of strings, of powers of two in 8 bits (FLOAT8E8M0),
of smaller numbers, and of previews of training. A run is fed and gives tensors: a test of sequences or
optionals is one of the tensors of which the graph makes them, and of the length and the tensors that it
takes out of them.

This page is written by `tests/conformance/onnx/page.py` from a run of all tests, and
`ctest -R conformance.onnx_page` checks it.
"""


def matched(table, why):
    return next((text for part, text in table if part in why), None)


def reason(name, outcome, why, known):
    """(in scope, why it is not passed)."""
    if outcome == "failed":
        said = next((text for pattern, text in known.items() if fnmatch.fnmatchcase(name, pattern)),
                    "fails")
        return True, matched(NOT_DONE, said) or said
    out = matched(OUT_OF_SCOPE, why)
    return (False, out) if out else (True, matched(NOT_DONE, why) or why)


def table(rows):
    """`rows`: names of tests by reason."""
    lines = ["| why | tests | which |", "|---|---|---|"]
    for why, names in sorted(rows.items(), key=lambda row: (-len(row[1]), row[0])):
        shown = ", ".join(name.removeprefix("test_") for name in sorted(names)[:12])
        more = f", and {len(names) - 12} more" if len(names) > 12 else ""
        lines.append(f"| {why} | {len(names)} | {shown}{more} |")
    return "\n".join(lines)


def page(results, known):
    passed = collections.Counter()
    missed, outside = collections.defaultdict(list), collections.defaultdict(list)
    bodies = collections.Counter()
    for name, outcome, why in results:
        if "_expanded" in name:
            bodies[outcome] += 1
        elif outcome == "passed":
            passed["direct"] += 1
        else:
            in_scope, text = reason(name, outcome, why, known)
            (missed if in_scope else outside)[text].append(name)
    not_passed = sum(map(len, missed.values()))
    left_out = sum(map(len, outside.values()))
    scope = passed["direct"] + not_passed
    total = scope + left_out
    every = sum(bodies.values())
    return "\n".join([
        HEAD,
        f"Tests of onnx {run.onnx.__version__}:\n",
        "| | tests | in scope | pass | of those in scope |",
        "|---|---|---|---|---|",
        f"| direct | {total:,} | {scope:,} | {passed['direct']:,} "
        f"| {100 * passed['direct'] / scope:.1f} % |",
        f"| function bodies | {every:,} | | {bodies['passed']:,} | |",
        f"| all | {total + every:,} | | {passed['direct'] + bodies['passed']:,} | |",
        "\n## In scope, and do not pass\n", table(missed),
        "\n## Out of scope\n", table(outside), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    env = run.Env(run.Library(args.library))
    make = functools.partial(run.build, env)
    folders = sorted(run.NODE_TESTS.iterdir())
    text = page(run.judge(make, run.operators_of(env), folders), run.known_failures())
    if not args.check:
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() == text:
        return 0
    print("docs/conformance.md is not what this build does; write it with\n"
          f"  python {pathlib.Path(__file__).name} LIBRARY")
    return 1


if __name__ == "__main__":
    sys.exit(main())
