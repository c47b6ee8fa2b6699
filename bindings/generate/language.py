"""What the generator knows of a language."""
import dataclasses
import re
from collections.abc import Callable

from .api import ROOT


@dataclasses.dataclass(frozen=True)
class Language:
    name: str
    # Takes an Api and returns the files of the raw layer, {path below the project: text}.
    generate: Callable
    # The files of the layer that is written by hand: patterns below the project.
    sources: tuple
    # How these files name a function of C: group 1 is the name. A name in a comment does not count.
    call: str
    comment: str = r"//[^\n]*|/\*.*?\*/"

    def reached(self):
        """Returns the names of the functions of C that the layer uses."""
        names = set()
        for pattern in self.sources:
            for path in sorted(ROOT.glob(pattern)):
                text = re.sub(self.comment, "", path.read_text(), flags=re.DOTALL)
                names.update(re.findall(self.call, text))
        return names


def outdated(files):
    """Returns the paths whose files are not as {path: text} says."""
    return [path for path, text in files.items()
            if not (ROOT / path).exists() or (ROOT / path).read_text() != text]


def write(files):
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
