"""The raw layer of Python: a function for each of C, in nanobind, and its stubs; the constants.

A function of Python has the name of its function of C. Handles, texts, numbers and lists are
arguments, counts follow from the lists, structs of settings are dicts, `limits` is the two arguments
`timeout` and `cancel`. What C writes through pointers is returned: as a tuple if there is more than
one. Functions that take functions or keep memory of the host are written by hand.
"""
from .language import Language

FOLDER = "bindings/python"
HEAD = "Made by `python3 -m bindings.generate python` from docs/c_api.json; do not edit."
# The calls that move the data of a group while they wait: see operations.h.
OF_GROUPS_BY_HAND = {"hr_work_wait"}
MEET = {"hr_group_create", "hr_group_split", "hr_group_shrink", "hr_group_grow", "hr_group_join"}


def class_name(handle):
    return "".join(word.capitalize() for word in handle.removeprefix("hr_").split("_"))


def c_type(ctype):
    return {"int": "int32_t", "size_t": "uint64_t"}.get(ctype.base, ctype.base)


def is_elements(variable):
    return variable.kind == "memory" and variable.array and variable.array.unit.startswith(
        "elements of dtype")


def reads_simply(struct):
    """Whether a struct is nothing but settings."""
    return struct.sized and all(part.kind in ("number", "enumeration", "text", "handle")
                                and part.array is None for part in struct.fields)


def writes_simply(struct):
    return struct.sized and all(part.kind in ("number", "enumeration", "text")
                                for part in struct.fields)


class Part:
    """A parameter of C: how it is made of arguments, passed on, and returned."""

    def __init__(self, variable, where):
        self.variable, self.where = variable, where
        self.arguments = []  # (name, type of Python)
        self.before = []     # lines before the call
        self.passed = variable.name
        self.returned = None  # (expression, type of Python)


class Wrapper:
    def __init__(self, api, function):
        self.api, self.function = api, function
        self.structs = {one.name: one for one in api.structs}
        names = {one.name for one in api.functions}
        self.start = function.name + "_start" if function.name + "_start" in names else None
        self.counts = {}  # the name of a count: the expression that tells it
        self.count_checks = []
        self.hidden = {one.array.count for one in function.parameters if one.array
                       and not is_elements(one)}
        self.parts = []

    # ---- Which functions ----

    def by_hand(self):
        name = self.function.name
        if name in OF_GROUPS_BY_HAND or name.startswith(("hr_status_", "hr_text_")):
            return True
        if name in {one.release for one in self.api.handles}:
            return True
        if self.function.result.kind == "struct":
            return True
        return not all(self.can_pass(one) for one in self.function.parameters)

    def can_pass(self, one):
        if one.kind in ("function", "context"):
            return False
        if one.kind == "memory":
            return is_elements(one) or (one.direction == "in" and one.ownership == "borrowed")
        if one.kind == "struct" and one.type.base != "hr_limits":
            struct = self.structs[one.type.base]
            if one.direction == "out" or (one.array and one.direction != "in"):
                return False
            return writes_simply(struct) if one.direction == "inout" else reads_simply(struct)
        return True

    # ---- Parts ----

    def where(self, name):
        return f'{{"{self.function.name}", "{name}"}}'

    def make_parts(self):
        for variable in self.function.parameters:
            part = Part(variable, self.where(variable.name))
            if variable.direction == "in":
                self.input(part)
            else:
                self.output(part)
            self.parts.append(part)
        for part in self.parts:  # counts that nothing in Python tells are arguments
            name = part.variable.name
            if name in self.hidden and part.variable.direction == "in":
                if name in self.counts:
                    part.arguments, part.before = [], []
                    part.passed = self.counts[name]

    def input(self, part):
        one = part.variable
        getattr(self, f"input_{one.kind}")(part, one)

    def add(self, part, kind, python, declared=None):
        """An argument of Python that becomes an object of C++ with get()."""
        name = part.variable.name
        part.arguments.append((name, python))
        part.before.append(declared or f"{kind} {name}(arg_{name}, {part.where});")
        part.passed = f"{name}.get()"

    def array(self, part, kind, python, nullable=False):
        one = part.variable
        counter = {two.name: two for two in self.function.parameters}.get(one.array.count)
        unknown = counter is not None and counter.type.base == "int32_t"  # -1: an unknown rank
        suffix = ", true" if one.holes or unknown else ""
        python += " | None" if unknown else ""
        self.add(part, kind, python, f"{kind} {one.name}(arg_{one.name}, {part.where}{suffix});")
        count, size = one.array.count, f"{one.name}.{'rank' if unknown else 'size'}()"
        if count in self.counts:
            known = f"if (!{one.name}.is_null()) " if nullable else ""
            part.before.append(f"{known}CheckLength({size}, {self.counts[count]}, {part.where});")
        else:
            self.counts[count] = size

    def input_handle(self, part, one):
        python = f"{class_name(one.type.base)}"
        if one.array:
            self.array(part, f"Handles<{one.type.base}>", f"Sequence[{python}]")
        else:
            null = "OrNull" if one.nullable else ""
            self.add(part, "auto", python + (" | None" if null else ""),
                     f"auto {one.name} = Borrow{null}<{one.type.base}>(arg_{one.name}, {part.where});")

    def input_text(self, part, one):
        null = "OrNull" if one.nullable else ""
        none = " | None" if null else ""
        if one.array:
            element = "str | None" if one.holes else "str"
            self.array(part, f"Texts{null}", f"Sequence[{element}]{none}", bool(null))
        else:
            self.add(part, f"Text{null}", f"str{none}")

    def input_number(self, part, one):
        if one.array:
            return self.array(part, f"Numbers<{c_type(one.type)}>",
                              "Sequence[float]" if one.type.base == "double" else "Sequence[int]")
        kind = c_type(one.type)
        part.arguments.append((one.name, "float" if kind == "double" else "int"))
        part.before.append(f"const auto {one.name} = To<{kind}>(arg_{one.name}, {part.where});")

    input_enumeration = input_number

    def input_memory(self, part, one):
        null = "OrNull" if one.nullable else ""
        writable = "false" if one.direction == "in" else "true"
        part.arguments.append((one.name, "Buffer" + (" | None" if null else "")))
        make = f"MemoryOrNull" if null else "Memory"
        part.before.append(f"Memory {one.name} = {make}(arg_{one.name}, {writable}, {part.where});")
        part.passed = f"{one.name}.data()"
        if is_elements(one):
            ranks = "api.hr_group_size(group.get())" if "rank" in one.array.unit else "1"
            self.count_checks.append(f"{one.name}.CheckElements(count, dtype, {ranks}, {part.where});")
        else:
            self.counts[one.array.count] = f"{one.name}.bytes()"

    def input_struct(self, part, one):
        if one.type.base == "hr_limits":
            part.arguments += [("timeout", "float | None"), ("cancel", "Cancel | None")]
            part.before.append(f'Limits limits(arg_timeout, arg_cancel, "{self.function.name}");')
            part.passed = "limits.get()"
            return
        if one.array:
            return self.array(part, f"StructsOf<{one.type.base}>", "Sequence[dict[str, Any]]")
        part.arguments.append((one.name, "dict[str, Any]" + (" | None" if one.nullable else "")))
        part.before.append(f"StructOf<{one.type.base}> {one.name}(arg_{one.name}, {part.where});")
        part.passed = f"{one.name}.get()"

    def output(self, part):
        one = part.variable
        if one.kind == "memory":
            return self.input_memory(part, one)
        if one.array:
            return self.output_array(part, one)
        kind = one.type.base if one.kind == "struct" else one.type.pointee().text
        kind = kind.removesuffix("const").strip()
        set_size = f" {one.name}.struct_size = sizeof {one.name};" if one.kind == "struct" else ""
        part.before.append(f"{kind} {one.name}{{}};{set_size}")
        part.passed = f"&{one.name}"
        if one.name in self.hidden:
            self.counts[one.name] = one.name
            return None
        none = " | None" if one.result_nullable else ""
        part.returned = {
            "handle": (f"ToObject({one.name})", class_name(one.type.base) + none),
            "text": (f"ToPython({one.name})", "str" + none),
            "struct": (f"ToPython({one.name})", "dict[str, Any]"),
            "number": (f"nb::cast({one.name})", "float" if one.type.base == "double" else "int"),
            "enumeration": (f"nb::cast({one.name})", "int")}[one.kind]
        if one.type.base == "hr_text":
            part.returned = (f"TakeText({one.name})", "str")
        return None

    def output_array(self, part, one):
        if one.direction == "inout":
            self.array(part, f"Numbers<{c_type(one.type)}>", "Sequence[int]")
            part.passed = f"{one.name}.data()"
            part.returned = (f"ListOf({one.name}.get(), static_cast<int64_t>({one.name}.size()))",
                             "list[int]")
            return
        element = one.type.pointee()
        python = {"text": "list[str]", "handle": f"list[{class_name(element.base)}]"}.get(
            one.kind, "list[float]" if element.base == "double" else "list[int]")
        if one.ownership == "library":
            part.before.append(f"{element.text} {one.name}{{}};")
            part.passed = f"&{one.name}"
            part.returned = (f"ListOf({one.name}, {one.array.count})", python)
            return
        count = self.counts.get(one.array.count, one.array.count)
        if "(" in one.array.count:
            function, of = one.array.count.rstrip(")").split("(")
            count = f"api.{function}({of}.get())"
        part.before.append(f"std::vector<{element.text}> {one.name}({count});")
        part.passed = f"{one.name}.data()"
        part.returned = ((f"ListOfHandles({one.name})" if one.kind == "handle" else
                          f"ListOf({one.name}.data(), static_cast<int64_t>({one.name}.size()))"), python)

    # ---- The function ----

    def result(self):
        """(expression, type of Python) of what the function returns, or None."""
        one = self.function.result
        if one.kind in ("nothing", "failure") or "result" in self.hidden:
            return None
        if one.array:
            function, of = one.array.count.rstrip(")").split("(")
            count = f"static_cast<int64_t>(api.{function}({of}.get()))"
            if one.nullable:
                return f"ListOfOrNone(result, {count})", "list[int] | None"
            return f"ListOf(result, {count})", "list[int]"
        none = " | None" if one.nullable else ""
        return {"number": ("nb::cast(result)", "float" if one.type.base == "double" else "int"),
                "enumeration": ("nb::cast(result)", "int"),
                "text": ("ToPython(result)", "str" + none),
                "memory": ("nb::cast(reinterpret_cast<uintptr_t>(result))", "int"),
                "handle": ("ExceptionOf(result)", "Exception | None")}[one.kind]

    def leaves_python(self):
        """Whether the interpreter's lock is free during the call: where it may take a while."""
        changes = any(one.kind == "handle" and not one.type.const and one.direction == "in"
                      for one in self.function.parameters)
        return self.function.fails() or self.function.waits != "no" or changes

    def call(self, name, last=None):
        passed = [part.passed for part in self.parts]
        if last:
            passed[-1] = last
        return f"api.{name}({', '.join(passed)})"

    def perform(self):
        name, fails = self.function.name, self.function.fails()
        limited = any(part.variable.type and part.variable.type.base == "hr_limits"
                      for part in self.parts)
        if self.start:
            return [f"Perform(group.get(), limits, "
                    f"[&](const hr_limits* asked) {{ return {self.call(name, 'asked')}; }},",
                    f"        [&](hr_work** work) {{ return {self.call(self.start, 'work')}; }});"]
        if name in MEET:
            calls = [part.passed for part in self.parts]
            calls[calls.index("limits.get()")] = "asked"
            return [f"Meet(limits, [&](const hr_limits* asked) {{ "
                    f"return api.{name}({', '.join(calls)}); }});"]
        call = self.call(name)
        if self.leaves_python():
            call = f"Released([&] {{ return {call}; }})"
        if fails:
            return [f"limits.Check({call});" if limited else f"Check({call});"]
        if self.function.result.kind == "nothing":
            return [f"{call};"]
        return [f"const auto result = {call};"] + (["limits.Check();"] if limited else [])

    def returned(self):
        out = [part.returned for part in self.parts if part.returned]
        if self.function.name.endswith("_start") and any(is_elements(one) or one.kind == "memory"
                                                          for one in self.function.parameters):
            kept = ", ".join(f"{part.variable.name}.share()" for part in self.parts
                             if part.variable.kind == "memory")
            out = [(f"ToWork(out, {{{kept}}})", "Work")]
        elif self.function.name in ("hr_barrier_start",):
            out = [("ToWork(out, {})", "Work")]
        if self.result():
            out.insert(0, self.result())
        return out

    def arguments(self):
        return [one for part in self.parts for one in part.arguments]

    def code(self):
        self.make_parts()
        arguments = ", ".join(f"nb::handle arg_{name}" for name, _ in self.arguments())
        lines = [line for part in self.parts for line in part.before]
        lines += self.count_checks + self.perform()
        out = [expression for expression, _ in self.returned()]
        lines.append("return nb::none();" if not out else f"return {out[0]};" if len(out) == 1
                     else f"return nb::make_tuple({', '.join(out)});")
        body = "".join(f"  {line}\n" for line in lines)
        return f"nb::object {self.function.name}({arguments}) {{\n{body}}}\n"

    def stub(self):
        arguments = ", ".join(f"{python_name(name)}: {kind}" for name, kind in self.arguments())
        out = [kind for _, kind in self.returned()]
        kind = "None" if not out else out[0] if len(out) == 1 else f"tuple[{', '.join(out)}]"
        return f"def {self.function.name}({arguments}{', /' if arguments else ''}) -> {kind}: ...\n"


def python_name(name):
    return name + "_" if name in ("from", "is", "in", "class", "def", "global") else name


# ---- Structs ----

def read_struct(struct):
    lines = []
    for part in struct.fields:
        how = {"number": "Number", "enumeration": "Number", "text": "String",
               "handle": "Handle"}[part.kind]
        if part.name != "struct_size":
            lines.append(f'  settings.{how}("{part.name}", &out->{part.name});\n')
    return f"void Read(Settings& settings, {struct.name}* out) {{\n{''.join(lines)}}}\n"


def write_struct(struct):
    counts = {part.array.count for part in struct.fields if part.array}
    lines = []
    for part in struct.fields:
        value = f"from.{part.name}"
        if part.name == "struct_size" or (part.name in counts and part.array is None):
            continue
        if part.array:
            value = f"ListOf({value}, static_cast<int64_t>(from.{part.array.count}))"
        else:
            value = f"ToPython({value})" if part.kind == "text" else f"nb::cast({value})"
        lines.append(f'  out["{part.name}"] = {value};\n')
    return (f"nb::object ToPython(const {struct.name}& from) {{\n  nb::dict out;\n{''.join(lines)}"
            f"  return out;\n}}\n")


def used_structs(api, wrappers):
    """The structs that are read and written by the wrappers."""
    reads, writes = [], []
    for struct in api.structs:
        uses = {one.direction for wrapper in wrappers for one in wrapper.function.parameters
                if one.kind == "struct" and one.type.base == struct.name}
        if struct.name == "hr_limits":
            continue
        if "in" in uses:
            reads.append(struct)
        if "inout" in uses:
            writes.append(struct)
    return reads, writes


# ---- Files ----

def functions_inc(api):
    return f"// {HEAD}\n" + "".join(f"HR_FUNCTION({one.name})\n" for one in api.functions)


def handles_inc(api):
    kept = [one for one in api.handles if one.name not in ("hr_status", "hr_text")]
    text = f"// {HEAD}\n"
    for one in kept:
        release = f"api.{one.release}(handle);" if one.release else "(void)handle;"
        text += (f"template <>\nstruct HandleOf<{one.name}> {{\n"
                 f'  static constexpr const char* kName = "{class_name(one.name)}";\n'
                 f"  static void Release({one.name}* handle) {{ {release} }}\n}};\n")
    return text


def structs_inc(api, wrappers):
    reads, writes = used_structs(api, wrappers)
    return (f"// {HEAD}\n" + "".join(f"void Read(Settings& settings, {one.name}* out);\n" for one in reads)
            + "".join(f"nanobind::object ToPython(const {one.name}& from);\n" for one in writes))


def raw_inc(api, wrappers):
    reads, writes = used_structs(api, wrappers)
    parts = [f"// {HEAD}\n"]
    parts += [read_struct(one) for one in reads] + [write_struct(one) for one in writes]
    parts += [wrapper.code() for wrapper in wrappers]
    registered = "".join(f'  Def<&{one.function.name}>(module, "{one.function.name}");\n'
                         for one in wrappers)
    parts.append(f"void DefineFunctions(nb::module_& module) {{\n{registered}}}\n")
    return "\n".join(parts)


def stubs(api, wrappers, root):
    by_hand = (root / FOLDER / "src/by_hand.pyi").read_text()
    classes = "".join(
        f"class {class_name(one.name)}:\n    address: int\n    closed: bool\n"
        f"    def close(self) -> None: ...\n" + ("    def __buffer__(self, flags: int, /) -> memoryview: ...\n"
                                               if one.name == "hr_tensor" else "") + "\n"
        for one in api.handles if one.name not in ("hr_status", "hr_text"))
    return (f"# {HEAD}\n# What is written by hand comes from {FOLDER}/src/by_hand.pyi.\n"
            f"{by_hand}\n{classes}\n{''.join(wrapper.stub() for wrapper in wrappers)}")


def doc(text, indent):
    return f'{indent}"""{text}"""\n' if text else ""


def constants_py(api):
    text = f'# {HEAD}\n"""The constants of the C interface."""\nimport enum\n'
    for one in api.enumerations:
        text += f"\n\nclass {class_name(one.name)}(enum.IntEnum):\n"
        about = " ".join(one.description.split()) or f"The constants of {one.name}."
        text += doc(about, "    ") + "\n"
        for part in one.constants:
            comment = f"  # {' '.join(part.description.split())}" if part.description else ""
            text += f"    {one.without_prefix(part)} = {part.value}{comment}\n"
    text += "\n\n"
    for one in api.constants:
        text += f"{one.name.removeprefix('HR_')} = {one.value}\n"
    return text


def generate(api):
    from .api import ROOT
    wrappers = [one for one in (Wrapper(api, function) for function in api.functions)
                if not one.by_hand()]
    return {f"{FOLDER}/src/generated/functions.inc": functions_inc(api),
            f"{FOLDER}/src/generated/handles.inc": handles_inc(api),
            f"{FOLDER}/src/generated/structs.inc": structs_inc(api, wrappers),
            f"{FOLDER}/src/generated/raw.inc": raw_inc(api, wrappers),
            f"{FOLDER}/headrace/_native.pyi": stubs(api, wrappers, ROOT),
            f"{FOLDER}/headrace/_constants.py": constants_py(api)}


LANGUAGE = Language("python", generate,
                    ("bindings/python/headrace/*.py", "bindings/python/src/*.cc",
                     "bindings/python/src/*.h", "bindings/python/src/generated/handles.inc"),
                    r"\b(?:native|api)\.(hr_\w+)",
                    struct=r"\bnative\.(?:{calls})\b|\b{struct}\b",
                    field=r"\b{field}=|\"{field}\"|\.{field}\b", part="(?!)",
                    otherwise={one: "the address of a struct that another language has made"
                               for one in ("hr_allocator", "hr_clock", "hr_executor")},
                    comment=r"//[^\n]*|/\*.*?\*/|#[^\n]*")
