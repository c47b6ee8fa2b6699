#!/usr/bin/env python3
"""Writes docs/c_api.json, the description of the C interface from which bindings are made.

usage: describe_api.py           writes docs/c_api.json from capi/include/headrace
       describe_api.py --check   fails if the file is not what the headers give

Says with file and line if a header has something that the description cannot express. Plugins'
headers are left out: they are C tables, and only for plugins.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from read_headers import NUMBERS, HeaderError, read_headers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "capi/include/headrace"
DESCRIPTION = ROOT / "docs/c_api.json"
THREADS = ("caller", "run", "callback", "any")
# The marks that may stand there.
OF_POINTERS = {"HR_NULLABLE", "HR_OR_NULL", "HR_ARRAY", "HR_HOLES", "HR_BYTES", "HR_ELEMENTS",
               "HR_ELEMENTS_PER_RANK", "HR_IN_OUT", "HR_KEEPS", "HR_TAKES"}
OF_FUNCTIONS = {"HR_OR_NULL", "HR_ARRAY", "HR_RESULT", "HR_BLOCKS"}
OF_CALLBACKS = {"HR_OR_NULL", "HR_RESULT", "HR_NULLABLE", "HR_CALLED_BY"}


class Describer:
    """Makes the description of an interface that read_headers gave."""

    def __init__(self, interface):
        self.interface = interface
        self.handles = {one.name for one in interface.handles}
        self.structs = {one.name: one for one in interface.structs}
        self.enumerations = {one.name for one in interface.enumerations}
        self.numbers = {one.name for one in interface.numbers} | set(NUMBERS)
        self.functions = {one.name: one for one in interface.functions}
        self.callbacks = []
        self.codes = {name for one in interface.enumerations if one.name == "hr_code"
                      for name, _, _ in one.parts}

    # ---- Types ----

    def kind_of(self, variable, header, is_field=False):
        if variable.parameters is not None:
            return "function"
        base, depth = variable.base, len(variable.stars)
        if base == "void":
            if depth == 0:
                return "nothing"
            is_context = variable.name.endswith(("context", "_ctx"))
            return "context" if is_context else "memory"
        if base == "char" and depth:
            return "text" if variable.base_is_const else "memory"
        for kind, names in (("handle", self.handles), ("struct", self.structs),
                            ("enumeration", self.enumerations), ("number", self.numbers)):
            if base in names:
                if kind in ("handle", "struct") and depth == 0 and not is_field:
                    self.fail(variable, header, f"{base} is passed by value")
                return kind
        return self.fail(variable, header, f"unknown type {base}")

    def fail(self, variable, header, what):
        raise HeaderError(f"{header}:{variable.line}: '{variable.name}': {what}")

    def check_marks(self, variable, header, known):
        for mark in variable.marks:
            if mark not in known:
                self.fail(variable, header, f"{mark} has no meaning here")

    def own_depth(self, kind):
        """The levels of pointer of one object of the kind."""
        return 1 if kind in ("handle", "struct", "text", "memory", "context") else 0

    def length(self, variable, scope, header):
        """What HR_ARRAY and its like say, or None."""
        for mark, unit in (("HR_ARRAY", "elements"), ("HR_BYTES", "bytes"),
                           ("HR_ELEMENTS", "elements of dtype"),
                           ("HR_ELEMENTS_PER_RANK", "elements of dtype for each rank")):
            if mark not in variable.marks:
                continue
            count = variable.marks[mark]
            call = re.fullmatch(r"(\w+)\((\w+)\)", count)
            known = (call[1] in self.functions and call[2] in scope) if call else (
                count in scope or count == "result")
            if not known:
                self.fail(variable, header, f"{mark} names {count}, which is no parameter")
            return {"count": count, "unit": unit}
        return None

    def direction(self, variable, kind, extra):
        marks = variable.marks
        if "HR_IN_OUT" in marks:
            return "inout"
        if extra > 0 or kind == "struct":  # a pointer to what the kind is
            outer_is_const = (variable.base_is_const if len(variable.stars) == 1
                              else variable.stars[-2] == "*const")
            if outer_is_const or "HR_TAKES" in marks:
                return "in"
            sized = kind == "struct" and extra == 0 and self.is_sized(variable.base)
            return "inout" if sized else "out"
        if kind == "memory" and not variable.base_is_const:
            return "inout"
        return "in"

    def is_sized(self, struct):
        return self.structs[struct].parts[0].name == "struct_size"

    def pointer(self, variable, kind, scope, header):
        """What there is to say of a pointer."""
        marks = variable.marks
        extra = len(variable.stars) - self.own_depth(kind)
        out = {"direction": self.direction(variable, kind, extra)}
        array = self.length(variable, scope, header)
        is_limits = variable.type_text() == "const hr_limits*"
        out["nullable"] = "HR_NULLABLE" in marks or is_limits or kind == "context"
        if array:
            out["array"] = array
            if "HR_HOLES" in marks:
                out["holes"] = True
        written = out["direction"] == "out" and extra > 0
        if written and (kind == "handle" or kind == "struct"):
            out["ownership"] = "library" if variable.base_is_const else "caller"
        elif written and len(variable.stars) > 1:
            out["ownership"] = "library"
        elif "HR_TAKES" in marks:
            out["ownership"] = "taken"
        else:
            out["ownership"] = "kept" if "HR_KEEPS" in marks else "borrowed"
        if "HR_OR_NULL" in marks:
            out["result_nullable"] = True
        self.check_pointer(variable, kind, extra, array, header)
        return out

    def check_pointer(self, variable, kind, extra, array, header):
        self.check_marks(variable, header, OF_POINTERS)
        if "HR_OR_NULL" in variable.marks and extra == 0:
            self.fail(variable, header, "HR_OR_NULL is for what is written; this is HR_NULLABLE")
        is_number = kind in ("enumeration", "number")
        is_list = (extra > 1 and (is_number or kind == "text")) or (
            is_number and extra == 1 and variable.base_is_const) or (
            extra > 0 and variable.stars[0] == "*const")
        if is_list and not array:
            self.fail(variable, header, "an array needs HR_ARRAY")
        if extra > (1 if kind in ("handle", "struct") else 2):
            self.fail(variable, header, "too many levels of pointer")

    # ---- Parts ----

    def variable(self, variable, scope, header, owner):
        """What parameters and fields have in common. `owner` has the name and calls functions; the
        host calls none."""
        is_field = owner in self.structs
        kind = self.kind_of(variable, header, is_field)
        out = {"name": variable.name, "type": variable.type_text(), "kind": kind}
        if kind == "function":
            out["type"] = f"{owner}.{variable.name}"
            out["nullable"] = "HR_NULLABLE" in variable.marks or variable.name == "release"
            self.callback(variable, header, out["type"])
        elif variable.stars:
            out.update(self.pointer(variable, kind, scope, header))
        else:
            self.check_marks(variable, header, ())
        return out

    def parameter(self, variable, scope, header, owner):
        out = self.variable(variable, scope, header, owner)
        if out["kind"] == "memory" and "array" not in out:
            self.fail(variable, header, "memory needs HR_BYTES or HR_ELEMENTS")
        return out

    def field(self, variable, scope, header, owner):
        out = self.variable(variable, scope, header, owner)
        out.pop("direction", None)
        if out["type"] == "hr_status*":  # whoever gets a status releases it
            out["ownership"] = "caller"
        return {**out, "description": variable.doc}

    def callback(self, variable, header, name):
        """A function of the host; or one of the library, which a function of the host gets."""
        by_host = name.count(".") == 1
        self.check_marks(variable, header, OF_CALLBACKS)
        thread = variable.marks.get("HR_CALLED_BY", "any" if variable.name == "release" else None)
        if by_host and thread not in THREADS:
            self.fail(variable, header, f"HR_CALLED_BY must name one of {', '.join(THREADS)}")
        if not by_host and thread is not None:
            self.fail(variable, header, "HR_CALLED_BY is for functions of the host")
        owner = self.functions.get(name.split(".")[0])
        one = {"name": name, "header": header, "description": owner.doc if owner else variable.doc,
               "called_by": thread or "the host"}
        self.callbacks.append(one)
        one["returns"] = self.result(variable, header)
        scope = [part.name for part in variable.parameters]
        one["parameters"] = [self.parameter(part, scope, header, name)
                             for part in variable.parameters]

    def result(self, variable, header):
        scope = [part.name for part in variable.parameters or ()]
        bare = type(variable)(**{**vars(variable), "parameters": None})
        kind = self.kind_of(bare, header)
        out = {"type": bare.type_text(), "kind": kind}
        if kind in ("nothing", "enumeration", "number") and not bare.stars:
            return out
        if bare.type_text() == "hr_status*" and "HR_RESULT" not in bare.marks:
            return {**out, "kind": "failure", "nullable": True, "ownership": "caller"}
        array = self.length(bare, scope, header)
        owned = kind == "handle" and not bare.base_is_const
        out.update(nullable="HR_OR_NULL" in bare.marks, ownership="caller" if owned else "library")
        return {**out, "array": array} if array else out

    # ---- The interface ----

    def function(self, one):
        parameters = self.inherit_marks(one)
        self.check_marks(one.result, one.header, OF_FUNCTIONS)
        one.result.parameters = one.parameters
        scope = [part.name for part in one.parameters]
        out = {"name": one.name, "header": one.header, "description": one.doc,
               "returns": self.result(one.result, one.header),
               "parameters": [self.parameter(part, scope, one.header, one.name)
                              for part in parameters]}
        types = [part.type_text() for part in one.parameters]
        starts = "hr_work**" in types or "hr_run**" in types
        if "hr_work**" in types:
            for part in out["parameters"]:
                if part["kind"] == "memory":
                    part["ownership"] = "kept"
        if one.name.endswith("_release") and out["parameters"][0]["kind"] == "handle":
            out["parameters"][0].update(nullable=True, ownership="taken")
        out["waits"] = ("without limits" if "HR_BLOCKS" in one.result.marks else
                        "within limits" if "const hr_limits*" in types and not starts else "no")
        out["errors"] = sorted(self.codes & set(re.findall(r"HR_\w+", one.doc)) - {"HR_OK"})
        return out

    def inherit_marks(self, one):
        """The parameters of NAME_start have the marks of those of NAME."""
        name, _, rest = one.name.rpartition("_start")
        base = self.functions.get(name) if rest == "" else None
        if base is None:
            return one.parameters
        marks = {part.name: part for part in base.parameters}
        out = []
        for part in one.parameters[:-1]:
            if part.name not in marks or part.type_text() != marks[part.name].type_text():
                self.fail(part, one.header, f"{base.name} has no such parameter")
            out.append(marks[part.name])
        return out + one.parameters[-1:]

    def struct(self, one):
        scope = [part.name for part in one.parts]
        return {"name": one.name, "header": one.header, "description": one.doc,
                "sized": self.is_sized(one.name),
                "fields": [self.field(part, scope, one.header, one.name) for part in one.parts]}

    def handle(self, one):
        release = f"{one.name}_release"
        return {"name": one.name, "header": one.header, "description": one.doc,
                "release": release if release in self.functions else None}

    def describe(self):
        version = next(one for one in self.interface.constants if one.name == "HR_API_VERSION")
        return {
            "version": version.parts[0],
            "functions": [self.function(one) for one in self.interface.functions],
            "handles": [self.handle(one) for one in self.interface.handles],
            "structs": [self.struct(one) for one in self.interface.structs],
            "callbacks": self.callbacks,
            "enumerations": [
                {"name": one.name, "header": one.header, "description": one.doc, "type": one.base,
                 "constants": [{"name": name, "value": value, "description": doc}
                               for name, value, doc in one.parts]}
                for one in self.interface.enumerations],
            "numbers": [{"name": one.name, "header": one.header, "description": one.doc,
                         "type": one.base} for one in self.interface.numbers],
            "constants": [{"name": one.name, "header": one.header, "description": one.doc,
                           "value": one.parts[0]} for one in self.interface.constants]}


def described(headers=HEADERS):
    return Describer(read_headers(headers)).describe()


def text_of(value, indent=0):
    """JSON with a line for each object of the deepest lists, so that changes are easy to read."""
    pad = " " * indent
    if isinstance(value, dict) and any(isinstance(part, list) and part for part in value.values()):
        parts = (f"{pad} {json.dumps(key)}: {text_of(part, indent + 1)}"
                 for key, part in value.items())
        return "{\n" + ",\n".join(parts) + f"\n{pad}}}"
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        parts = (f"{pad} {text_of(part, indent + 1)}" for part in value)
        return "[\n" + ",\n".join(parts) + f"\n{pad}]"
    return json.dumps(value, ensure_ascii=False)


def main():
    try:
        text = text_of(described()) + "\n"
    except HeaderError as error:
        print(error)
        return 1
    if sys.argv[1:] == []:
        DESCRIPTION.write_text(text)
    elif sys.argv[1:] != ["--check"]:
        print(__doc__, file=sys.stderr)
        return 2
    elif not DESCRIPTION.exists() or DESCRIPTION.read_text() != text:
        print("docs/c_api.json is not what the headers give; run capi/describe_api.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
