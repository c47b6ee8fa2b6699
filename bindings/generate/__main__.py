"""Writes the raw layers of the bindings from docs/c_api.json. Run it in the project's folder.

usage: python3 -m bindings.generate [LANGUAGE...]           writes the files of these languages
       python3 -m bindings.generate --check [LANGUAGE...]   fails if files are not up to date
       python3 -m bindings.generate --reach [LANGUAGE...]   fails if a language does not use a
                                                            function of C or a field of its
                                                            structs, and names it
Without languages it means all of them.
"""
import sys

from .api import load
from .language import outdated, write
from .languages import LANGUAGES


def check(api, languages):
    stale = [path for one in languages for path in outdated(one.generate(api))]
    for path in stale:
        print(f"{path} is not what docs/c_api.json gives; run python3 -m bindings.generate")
    return 1 if stale else 0


def reach(api, languages):
    """The interface of plugins is C tables for those who write plugins; no language has it."""
    missing = [(one.name, name) for one in languages for name in one.unreached(api)]
    for language, name in missing:
        print(f"{language} does not reach {name}")
    return 1 if missing else 0


def generate(api, languages):
    for one in languages:
        write(one.generate(api))
    return 0


def main(arguments):
    modes = {"--check": check, "--reach": reach}
    known = {one.name: one for one in LANGUAGES}
    options = [one for one in arguments if one.startswith("-")]
    names = [one for one in arguments if not one.startswith("-")] or list(known)
    if len(options) > 1 or not {*options} <= modes.keys() or not {*names} <= known.keys():
        print(f"{__doc__}The languages are: {', '.join(known)}", file=sys.stderr)
        return 2
    run = modes[options[0]] if options else generate
    return run(load(), [known[name] for name in names])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
