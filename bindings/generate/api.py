"""The C interface, as docs/c_api.json describes it, in data classes.

The marks of capi/include/headrace/base.h have become the members of Variable and Result; what they
mean is said there. Everything keeps the order of the headers.
"""
import dataclasses
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESCRIPTION = ROOT / "docs/c_api.json"


@dataclasses.dataclass(frozen=True)
class CType:
    """A type of C: `const char* const*` has the base "char", which is const, and two pointers, of
    which only the inner one is const. `pointers` has a True for each const pointer, the inner one
    first."""
    text: str
    base: str
    const: bool = False
    pointers: tuple = ()

    @staticmethod
    def parse(text):
        head, *stars = text.split("*")
        return CType(text, head.removeprefix("const").strip(), head.startswith("const "),
                     tuple(star.strip() == "const" for star in stars))

    def pointee(self):
        """The type that the pointer leads to."""
        text = self.text[:self.text.rindex("*")]
        return CType.parse(text.strip())


@dataclasses.dataclass(frozen=True)
class Length:
    """How many `unit` ("elements", "bytes", "elements of dtype", "elements of dtype for each rank")
    an array has: a parameter or field, "result", or a call of a function, NAME(PARAMETER)."""
    count: str
    unit: str


@dataclasses.dataclass(frozen=True)
class Value:
    """What parameters, fields and results have in common."""
    # "nothing", "number", "enumeration", "text", "memory", "context", "handle", "struct" or
    # "function"; of results also "failure", an hr_status* that the receiver releases.
    kind: str
    type: CType        # None for a function of the host, whose name in Api.callbacks is `callback`
    callback: str = ""
    nullable: bool = False
    ownership: str = ""  # "caller", "library", "taken", "kept", "borrowed"; "" of plain numbers
    array: Length = None


@dataclasses.dataclass(frozen=True)
class Variable(Value):
    """A parameter or a field."""
    name: str = ""
    description: str = ""         # of fields
    direction: str = "in"         # "in", "out" or "inout"; of fields always "in"
    holes: bool = False           # elements of the array may be NULL
    result_nullable: bool = False  # what is written may be NULL


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    header: str
    description: str
    result: Value
    parameters: tuple
    waits: str = "no"     # "within limits", or "without limits"
    errors: tuple = ()    # the codes that the description names

    def fails(self):
        return self.result.kind == "failure"


@dataclasses.dataclass(frozen=True)
class Callback:
    """A function of the host, such as "hr_limits.interrupted" or "hr_run_on_done.callback"; one
    that the host gets to call has two dots, "hr_executor.parallel_for.fn"."""
    name: str
    header: str
    description: str
    called_by: str  # "caller", "run", "callback", "any"; "the host" if the host calls it
    result: Value
    parameters: tuple


@dataclasses.dataclass(frozen=True)
class Struct:
    name: str
    header: str
    description: str
    sized: bool  # whether it begins with struct_size
    fields: tuple


@dataclasses.dataclass(frozen=True)
class Handle:
    name: str
    header: str
    description: str
    release: str  # the function that releases it; None for hr_op


@dataclasses.dataclass(frozen=True)
class Constant:
    name: str
    value: int
    description: str
    header: str = ""  # of constants that belong to no enumeration


@dataclasses.dataclass(frozen=True)
class Enumeration:
    name: str
    header: str
    description: str
    type: CType
    constants: tuple

    def without_prefix(self, constant):
        """The constant's name without HR_ and without what names the enumeration again:
        ATTRIBUTE_INT of hr_attribute_kind is INT."""
        words = "HR_" + "_".join(self.name.split("_")[1:-1] + [""]).upper()
        if not all(one.name.startswith(words) for one in self.constants):
            words = "HR_"
        return constant.name.removeprefix(words)


@dataclasses.dataclass(frozen=True)
class Number:
    """A name for a type of numbers, such as hr_value."""
    name: str
    header: str
    description: str
    type: CType


@dataclasses.dataclass(frozen=True)
class Api:
    version: int
    functions: tuple
    handles: tuple
    structs: tuple
    callbacks: dict  # by name
    enumerations: tuple
    numbers: tuple
    constants: tuple


def _value(one, kind=Value):
    known = {name: one[name] for name in
             ("kind", "nullable", "ownership", "name", "description", "direction", "holes",
              "result_nullable") if name in one}
    if "array" in one:
        known["array"] = Length(**one["array"])
    if one["kind"] == "function":
        return kind(type=None, callback=one["type"], **known)
    return kind(type=CType.parse(one["type"]), **known)


def _variables(parts):
    return tuple(_value(part, Variable) for part in parts)


def _common(one):
    return {name: one[name] for name in ("name", "header", "description")}


def _callable(one):
    return {**_common(one), "result": _value(one["returns"]),
            "parameters": _variables(one["parameters"])}


def load(path=DESCRIPTION):
    """Returns the Api that the file describes."""
    told = json.loads(pathlib.Path(path).read_text())
    return Api(
        version=told["version"],
        functions=tuple(Function(**_callable(one), waits=one["waits"], errors=tuple(one["errors"]))
                        for one in told["functions"]),
        handles=tuple(Handle(**_common(one), release=one["release"]) for one in told["handles"]),
        structs=tuple(Struct(**_common(one), sized=one["sized"], fields=_variables(one["fields"]))
                      for one in told["structs"]),
        callbacks={one["name"]: Callback(**_callable(one), called_by=one["called_by"])
                   for one in told["callbacks"]},
        enumerations=tuple(
            Enumeration(**_common(one), type=CType.parse(one["type"]),
                        constants=tuple(Constant(**constant) for constant in one["constants"]))
            for one in told["enumerations"]),
        numbers=tuple(Number(**_common(one), type=CType.parse(one["type"]))
                      for one in told["numbers"]),
        constants=tuple(Constant(**_common(one), value=one["value"])
                        for one in told["constants"]))
