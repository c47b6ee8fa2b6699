#!/usr/bin/env python3
"""Checks docs/c_api.json, the description of the C interface, against what else says the same.

usage: check_api.py symbols    its functions are those of capi/symbols.txt
       check_api.py prose      descriptions and marks agree on NULL; waits and releases are complete
       check_api.py calls      a C program of tests/capi calls each function
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def description():
    return json.loads((ROOT / "docs/c_api.json").read_text())


def check_symbols(api, listed):
    names = {one["name"] for one in api["functions"]}
    faults = [f"{name}: in capi/symbols.txt, but not in docs/c_api.json" for name in listed - names]
    faults += [f"{name}: in docs/c_api.json, but not in capi/symbols.txt"
               for name in names - listed]
    return faults


# ---- Prose ----

def sentences(text):
    return re.split(r"(?<=\.)\s+|\n\n", text)


def said_nullable(text, name):
    """Whether a sentence says that the parameter may be NULL."""
    return any(f"`{name}`" in one and "NULL" in one.replace("must not be NULL", "")
               for one in sentences(text))


def check_parameters(one):
    for part in one["parameters"]:
        if "nullable" not in part or part["kind"] == "context" or part["name"] == "release":
            continue
        limits = part["type"] == "const hr_limits*"
        if limits and not part["nullable"]:
            yield f"{one['name']}: limits may always be NULL"
        said = said_nullable(one["description"], part["name"])
        if said and not part["nullable"] and "holes" not in part:
            yield (f"{one['name']}: the description says that `{part['name']}` may be NULL; mark "
                   "it HR_NULLABLE, or say it in other words")
        released = part["ownership"] == "taken" if "ownership" in part else False
        if part["nullable"] and not said and not limits and not released:
            yield (f"{one['name']}: `{part['name']}` has the mark HR_NULLABLE, but no sentence "
                   f"says what `{part['name']}` means if it is NULL")


def check_results(one):
    """That what may be NULL afterwards is said, and the other way round."""
    parts = [part for part in one["parameters"] if part.get("ownership") in ("caller", "library")]
    marked = (one["returns"].get("nullable", False) and one["returns"]["kind"] != "failure" or
              any(part.get("result_nullable", False) for part in parts))
    said = any(re.search(r"\bNULL\b", text) and "`" not in text
               for text in sentences(one["description"]))
    if marked and "NULL" not in one["description"]:
        yield (f"{one['name']}: a result has the mark HR_OR_NULL, but no sentence says when it is "
               "NULL")
    gives = one["returns"]["kind"] not in ("failure", "nothing", "number", "enumeration")
    if said and not marked and (gives or parts):
        yield f"{one['name']}: a sentence says that something is NULL; is a result HR_OR_NULL?"


def check_fields(struct):
    for part in struct["fields"]:
        if "nullable" not in part or part["kind"] == "context" or part["name"] == "release":
            continue
        text = part["description"] + " " + "".join(
            one for one in sentences(struct["description"]) if f"`{part['name']}`" in one)
        said = "NULL" in re.sub(r"`\w+` is NULL|returns NULL|holds NULL|or NULL if", "", text)
        if said != part["nullable"] and not part.get("holes"):
            yield (f"{struct['name']}.{part['name']}: " + (
                "its comment speaks of NULL; mark it HR_NULLABLE" if said else
                "has the mark HR_NULLABLE, but its comment does not say what NULL means"))


def check_handles(api):
    given = {part["type"].rstrip("*") for one in api["functions"] for part in one["parameters"]
             if part["kind"] == "handle" and part.get("ownership") == "caller"}
    for one in api["handles"]:
        if one["release"] is None and one["name"] in given:
            yield (f"{one['name']}: functions give it to the caller, but there is no "
                   f"{one['name']}_release")


def check_waits(one):
    """That a function without limits, which the mark says can wait, says for what."""
    says = re.search(r"\b[Ww]aits?\b|returns when", one["description"])
    if one["waits"] == "without limits" and not says:
        yield f"{one['name']}: has the mark HR_BLOCKS, but does not say for what it waits"


def check_prose(api):
    faults = list(check_handles(api))
    documented = {one["name"]: one["description"] for one in api["functions"]}
    for one in api["functions"] + api["callbacks"]:
        base = documented.get(re.sub("_start$", "", one["name"]), one["description"])
        faults += check_parameters({**one, "description": base})
    for one in api["functions"]:
        faults += check_results(one)
        faults += check_waits(one)
    for one in api["structs"]:
        faults += check_fields(one)
    return faults


# ---- Calls ----

def called(sources):
    """The functions whose names are followed by a parenthesis, outside comments and strings."""
    names = set()
    for source in sources:
        text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", source, flags=re.DOTALL)
        names |= set(re.findall(r"\b(hr_\w+)\s*\(", text))
    return names


def uncalled(api, sources):
    seen = called(sources)
    return [one["name"] for one in api["functions"] if one["name"] not in seen]


def check_calls(api):
    sources = [path.read_text() for path in sorted((ROOT / "tests/capi").glob("*.c"))]
    missing, count = uncalled(api, sources), len(api["functions"])
    print(f"{count - len(missing)} of {count} functions are called by tests/capi/*.c")
    return [f"{name}: no program in tests/capi calls it" for name in missing]


def main():
    modes = {
        "symbols": lambda api: check_symbols(
            api, set((ROOT / "capi/symbols.txt").read_text().split())),
        "prose": check_prose, "calls": check_calls}
    if len(sys.argv) != 2 or sys.argv[1] not in modes:
        print(__doc__, file=sys.stderr)
        return 2
    faults = modes[sys.argv[1]](description())
    print("\n".join(sorted(faults)) if faults else "as it should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
