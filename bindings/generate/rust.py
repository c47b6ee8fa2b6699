"""The raw layer of Rust: bindings/rust/headrace-sys/and the test of its layouts."""
import re

from .language import Language

FOLDER = "bindings/rust/headrace-sys"
HEAD = """\
// Made by `python3 -m bindings.generate rust` from docs/c_api.json; do not edit.

"""
NUMBERS = {"int": "c_int", "size_t": "usize", "double": "f64", "char": "c_char", "void": "c_void",
           "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8", "uint16_t": "u16",
           "uint32_t": "u32", "uint64_t": "u64"}
KEYWORDS = {"type", "in", "ref", "move", "loop", "match", "fn"}


def name_of(variable):
    if variable.name == "self":
        return "self_"
    return f"r#{variable.name}" if variable.name in KEYWORDS else variable.name


def type_of(ctype):
    """`const char* const*` is `*const *const c_char`: what a pointer leads to is const or not."""
    out, is_const = NUMBERS.get(ctype.base, ctype.base), ctype.const
    for pointer_is_const in ctype.pointers:
        out = f"*{'const' if is_const else 'mut'} {out}"
        is_const = pointer_is_const
    return out


def signature(api, one):
    parameters = ", ".join(f"{name_of(part)}: {value(api, part)}" for part in one.parameters)
    result = "" if one.result.kind == "nothing" else f" -> {type_of(one.result.type)}"
    return f"({parameters}){result}"


def value(api, one):
    if one.kind != "function":
        return type_of(one.type)
    return f'Option<unsafe extern "C" fn{signature(api, api.callbacks[one.callback])}>'


def doc(text, indent=""):
    """A doc comment. What rustdoc would take for a link or for a tag of HTML is text."""
    text = re.sub(r"([\[\]<>])", r"\\\1", text)
    text = re.sub(r"https?://[^\s)]+", r"<\g<0>>", text)
    lines = text.split("\n") if text else []
    return "".join(f"{indent}///{' ' if line else ''}{line.strip()}\n" for line in lines)


def handle(one):
    return f"""{doc(one.description)}#[repr(C)]
pub struct {one.name} {{
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}}
"""


def struct(api, one):
    fields = "".join(f"{doc(part.description, '    ')}    pub {name_of(part)}: {value(api, part)},\n"
                     for part in one.fields)
    return (f"{doc(one.description)}#[repr(C)]\n#[derive(Clone, Copy)]\n"
            f"pub struct {one.name} {{\n{fields}}}\n" + (zeroed(one.name) if one.sized else ""))


def zeroed(name):
    return f"""impl Default for {name} {{
    /// All members are zero but `struct_size`.
    fn default() -> Self {{
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe {{ mem::zeroed() }};
        out.struct_size = mem::size_of::<Self>();
        out
    }}
}}
"""


def constants(one):
    lines = "".join(f"{doc(part.description)}pub const {part.name}: {one.name} = {part.value};\n"
                    for part in one.constants)
    return f"{number(one)}{lines}"


def number(one):
    return f"{doc(one.description)}pub type {one.name} = {type_of(one.type)};\n"


def bindings(api):
    parts = [HEAD + "use std::ffi::{c_char, c_int, c_void};\n"
             "use std::marker::{PhantomData, PhantomPinned};\nuse std::mem;\n"]
    parts += [constants(one) for one in api.enumerations] + [number(one) for one in api.numbers]
    parts += [f"{doc(one.description)}pub const {one.name}: u32 = {one.value};\n"
              for one in api.constants]
    parts += [handle(one) for one in api.handles] + [struct(api, one) for one in api.structs]
    functions = "".join(f"{doc(one.description, '    ')}    pub fn {one.name}{signature(api, one)};\n"
                        for one in api.functions)
    return "\n".join(parts + [f'extern "C" {{\n{functions}}}\n'])


# ---- The test of layouts: a C program and a table of Rust say the same lines ----

def program(api):
    """A C program that prints a line for each struct, field and constant."""
    lines = ["#include <headrace/headrace.h>", "#include <stddef.h>", "#include <stdio.h>",
             "", "int main(void) {"]
    for one in api.structs:
        lines.append(f'  printf("{one.name} %zu\\n", sizeof({one.name}));')
        lines += [f'  printf("{one.name}.{part.name} %zu\\n", offsetof({one.name}, {part.name}));'
                  for part in one.fields]
    lines += [f'  printf("{name} %lld\\n", (long long){name});' for name in constants_of(api)]
    return "\n".join(lines + ["  return 0;", "}", ""])


def constants_of(api):
    listed = [one.name for enumeration in api.enumerations for one in enumeration.constants]
    return listed + [one.name for one in api.constants]


def table(api):
    """The same lines as Rust sees them."""
    lines = ["pub const LINES: &[(&str, i128)] = &["]
    for one in api.structs:
        lines.append(f'    ("{one.name}", mem::size_of::<{one.name}>() as i128),')
        lines += [f'    ("{one.name}.{part.name}", mem::offset_of!({one.name}, {name_of(part)}) as i128),'
                  for part in one.fields]
    lines += [f'    ("{name}", {name} as i128),' for name in constants_of(api)]
    lines += ["];", "", "/// The address of every function, so that the linker has to find it.",
              "pub fn functions() -> Vec<*const ()> {", "    vec!["]
    lines += [f"        {one.name} as *const ()," for one in api.functions]
    lines += ["    ]", "}", "", f'pub const PROGRAM: &str = r#"{program(api)}"#;', ""]
    return HEAD + "\n".join(["use headrace_sys::*;", "use std::mem;", ""] + lines)


def generate(api):
    return {f"{FOLDER}/src/generated.rs": bindings(api),
            f"{FOLDER}/tests/layout/table.rs": table(api)}


LANGUAGE = Language("rust", generate, ("bindings/rust/headrace/src/**/*.rs",), r"\bsys::(hr_\w+)",
                    struct=r"\bsys::{struct}\b", field=r"\b{field}[:,]|\.{field}\b",
                    part=r"^\s*(?:pub(?:\(\w+\))? )?(?:unsafe )?(?:extern \"C\" )?"
                         "(?:fn|struct|impl|const) ")
