"""What the generator knows of a language."""
import dataclasses
import re
from collections.abc import Callable

from .api import ROOT

# Structs that no program fills in: the tables of plugins, and DLPack, which passes by its address.
FOREIGN = ("headrace/plugin", "hr_dlpack")


@dataclasses.dataclass(frozen=True)
class Language:
    name: str
    # Takes an Api and returns the files of the raw layer, {path below the project: text}.
    generate: Callable
    # The files of the layer that is written by hand: patterns below the project.
    sources: tuple
    # How these files name a function of C: group 1 is the name. A name in a comment does not count.
    call: str
    # How they name a {struct} (or {calls} of functions that take it) and a {field}. A field counts in
    # a part of a file that names its struct; `part` is how one begins.
    struct: str
    field: str
    part: str
    # What the language says in another way: "struct" or "struct.field", and how.
    otherwise: dict = dataclasses.field(default_factory=dict)
    comment: str = r"//[^\n]*|/\*.*?\*/"

    def unreached(self, api):
        """Returns the names of the functions of C, and of the fields of its structs, that the layer
        does not use."""
        texts = self._texts()
        called = {name for text in texts for name in re.findall(self.call, text)}
        parts = [part for text in texts for part in re.split(f"(?m)(?={self.part})", text)]
        functions = sorted({function.name for function in api.functions} - called)
        return functions + [name for struct in api.structs if not is_foreign(struct)
                            for name in self._unreached_fields(api, struct, parts)]

    def _texts(self):
        paths = [path for pattern in self.sources for path in sorted(ROOT.glob(pattern))]
        return [re.sub(self.comment, "", path.read_text(), flags=re.DOTALL) for path in paths]

    def _unreached_fields(self, api, struct, parts):
        calls = "|".join(function.name for function in api.functions
                         if any(one.kind == "struct" and one.type.base == struct.name
                                for one in function.parameters)) or "(?!)"
        named = re.compile(self.struct.format(struct=struct.name, calls=calls))
        text = "\n".join(part for part in parts if named.search(part))
        names = {name: f"{struct.name}.{name}" for name in said_fields(struct)}
        return [full for name, full in names.items()
                if not re.search(self.field.format(field=name), text)
                and not {struct.name, full} & self.otherwise.keys()]


def is_foreign(struct):
    return struct.header.startswith(FOREIGN) or struct.name.startswith(FOREIGN)


def said_fields(struct):
    """The fields that a program fills in or reads: not those that go with another, as the count of
    an array and the context of functions do."""
    counts = {one.array.count for one in struct.fields if one.array}
    return [one.name for one in struct.fields
            if one.kind != "context" and one.name not in {"struct_size", *counts}]


def outdated(files):
    """Returns the paths whose files are not as {path: text} says."""
    return [path for path, text in files.items()
            if not (ROOT / path).exists() or (ROOT / path).read_text() != text]


def write(files):
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
