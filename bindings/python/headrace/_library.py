"""Opens libheadrace, once, when the package is imported."""
import os

from . import _native as native
from . import errors

NAME = "libheadrace.so.0"


def _candidates():
    """The places of the library, best first."""
    named = os.environ.get("HEADRACE_LIBRARY")
    if named:
        return [named]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    return [beside, NAME] if os.path.exists(beside) else [NAME]


def _open():
    problems = []
    for path in _candidates():
        problem = native.open(path)
        if not problem:
            return
        problems.append(problem)
    raise ImportError(f"headrace needs the library {NAME}: {'; '.join(problems)}. Install Headrace, or set "
                      "HEADRACE_LIBRARY to the path of the library.", name="headrace")


_open()
native.set_error_types(errors.TYPES)
