"""The raw layer of Java: natives, structs, constants and callbacks, and the C that joins them.

Pointers are numbers of type long in Java, so that a native method does nothing but call. Functions
of the host are reached by trampolines: one C function for each callback, which calls the static
method of that name in Callbacks; that finds the object that the context stands for. All release
functions are one callback.
"""
from .language import Language

PACKAGE = "bindings/java/src/main/java/dev/headrace"
C_FILE = "bindings/java/src/main/c/raw.c"
HEAD = "// Made by `python3 -m bindings.generate java` from docs/c_api.json; do not edit.\n"
# Java's type, JNI's signature and the bytes of C's numbers.
NUMBERS = {"size_t": ("long", "J", 8), "uint64_t": ("long", "J", 8), "int64_t": ("long", "J", 8),
           "int": ("int", "I", 4), "int32_t": ("int", "I", 4), "uint32_t": ("int", "I", 4),
           "double": ("double", "D", 8), "uint16_t": ("short", "S", 2), "uint8_t": ("byte", "B", 1),
           "void": ("void", "V", 0)}
POINTER = ("long", "J", 8)
RELEASE = "release"
# A release function with a context of its own, and called by both sides. Java also calls, by their
# address, the functions that the library hands to a function of the host.
DELETER = "hr_dlpack.deleter"


class Java:
    """Knows how the types of one Api look in Java and in C."""

    def __init__(self, api):
        self.api = api
        self.names = {one.name: one.type.base for one in (*api.enumerations, *api.numbers)}
        self.structs = {one.name: one for one in api.structs}

    def number(self, value):
        """The row of NUMBERS of a parameter, a result or a field that is no struct."""
        if value.type is None or value.type.pointers:
            return POINTER
        return NUMBERS[self.names.get(value.type.base, value.type.base)]

    def is_struct(self, value):
        return value.type is not None and not value.type.pointers and value.type.base in self.structs

    def size(self, value):
        """The bytes and the alignment of a field."""
        if self.is_struct(value):
            return self.layout(self.structs[value.type.base])[1:]
        return (self.number(value)[2],) * 2

    def layout(self, struct):
        """The offsets of the fields, the bytes and the alignment of a struct, as C lays it out."""
        offsets, end, alignment = {}, 0, 1
        for field in struct.fields:
            size, unit = self.size(field)
            offsets[field.name] = end = -(-end // unit) * unit
            end, alignment = end + size, max(alignment, unit)
        return offsets, -(-end // alignment) * alignment, alignment

    def c_parameters(self, one):
        return ", ".join(self.c_declare(part) for part in one.parameters) or "void"

    def c_declare(self, value):
        if value.kind != "function":
            return f"{value.type.text} {value.name}"
        callback = self.api.callbacks[value.callback]
        return f"{callback.result.type.text} (*{value.name})({self.c_parameters(callback)})"

    def c_cast(self, value):
        """The type to which a jlong is cast, or "" for a number."""
        if value.kind == "function":
            callback = self.api.callbacks[value.callback]
            return f"{callback.result.type.text} (*)({self.c_parameters(callback)})"
        return value.type.text if value.type.pointers else ""

    def upcalls(self):
        """The callbacks that Java implements, without those that only release."""
        return [one for one in self.api.callbacks.values()
                if one.called_by != "the host" and one.name != DELETER
                and not one.name.endswith(f".{RELEASE}")]

    def downcalls(self):
        return [one for one in self.api.callbacks.values()
                if one.called_by == "the host" or one.name == DELETER]


def flat(callback):
    return callback.name.replace(".", "_")


def java_class(name, imports, doc, body):
    return (f"{HEAD}package dev.headrace;\n\n{imports}/** {doc} */\n"
            f"final class {name} {{\n  private {name}() {{}}\n\n{body}}}\n")


# ---- Java ----------------------------------------------------------------------------------------


def native(java, name, result, parameters):
    listed = ", ".join(f"{java.number(part)[0]} {part.name}" for part in parameters)
    return f"  static native {java.number(result)[0]} {name}({listed});\n"


def natives(java):
    out = [native(java, one.name, one.result, one.parameters) for one in java.api.functions]
    for one in java.downcalls():
        parameters = ", ".join(["long function"] + [f"{java.number(part)[0]} {part.name}"
                                                    for part in one.parameters])
        out.append(f"  static native {java.number(one.result)[0]} "
                   f"call_{flat(one)}({parameters});\n")
    return java_class("Raw", "", "The functions of C. Pointers are addresses; texts end in NUL.",
                      "".join(out))


def accessor(java, field, offset):
    name = field.name
    if java.is_struct(field):
        kind = field.type.base
        return f"    {kind} {name}() {{ return new {kind}(address + {offset}); }}\n"
    kind = java.number(field)[0]
    get = f"    {kind} {name}() {{ return get_{kind}({offset}); }}\n"
    if field.kind == "function":
        index = callback_name(field.callback)
        return get + (f"    void use_{name}() {{ "
                      f"set_long({offset}, Bridge.function(Callbacks.{index})); }}\n")
    return get + f"    void {name}({kind} value) {{ set_{kind}({offset}, value); }}\n"


def struct(java, one):
    offsets, size, _ = java.layout(one)
    fields = "".join(accessor(java, field, offsets[field.name]) for field in one.fields)
    sized = "      set_long(0, BYTES);\n" if one.sized else ""
    return f"""  static final class {one.name} extends Struct {{
    static final int BYTES = {size};

    {one.name}(Scratch scratch) {{
      super(scratch.bytes(BYTES), BYTES);
{sized}    }}

    {one.name}(long address) {{
      super(address, BYTES);
    }}

{fields}  }}
"""


def structs(java):
    return java_class("Structs", "", "The structs of C: each reads and writes memory at an address.",
                      "\n".join(struct(java, one) for one in java.api.structs))


def constant(one):
    value = one.value - 2**32 if one.value > 2**31 - 1 else one.value
    return f"  static final int {one.name} = {value};\n"


def constants(java):
    every = [one for kind in java.api.enumerations for one in kind.constants]
    return java_class("Constants", "", "The constants of C.",
                      "".join(constant(one) for one in (*every, *java.api.constants)))


def callback_name(name):
    return (RELEASE if f".{name}".endswith(f".{RELEASE}") else name.replace(".", "_")).upper()


def interface(java, one):
    """An exception of a callback that can fail becomes its hr_status; any other is reported."""
    name, told = flat(one), one.parameters[1:]
    declared = ", ".join(f"{java.number(part)[0]} {part.name}" for part in told)
    passed = ", ".join(part.name for part in told)
    fails = one.result.kind == "failure"
    kind = "void" if fails else java.number(one.result)[0]
    call = f"Registry.get(context, {name}.class).{name}({passed})"
    body = f"return {call};" if kind != "void" else f"{call};"
    end = {True: ("      return 0;\n", "      return Failures.status(failure);\n"),
           False: ("", "      Failures.report(failure);\n"
                   + ("      return 0;\n" if kind != "void" else ""))}[fails]
    all_declared = ", ".join(["long context"] + ([declared] if declared else []))
    return f"""  /** {one.name} */
  interface {name} {{
    {kind} {name}({declared}) throws Throwable;
  }}

  static {"long" if fails else kind} {name}({all_declared}) {{
    try {{
      {body}
{end[0]}    }} catch (Throwable failure) {{
{end[1]}    }}
  }}
"""


def callbacks(java):
    numbers = [callback_name(one) for one in (RELEASE, DELETER)]
    numbers += [flat(one).upper() for one in java.upcalls()]
    body = "".join(f"  static final int {name} = {i};\n" for i, name in enumerate(numbers))
    release = """
  /** All release functions: the object that the context stands for is not used any more. */
  static void release(long context) {
    try {
      Registry.release(context);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

"""
    return java_class("Callbacks", "", "The functions of the host, called by raw.c.",
                      body + release + "\n".join(interface(java, one) for one in java.upcalls()))


# ---- C -------------------------------------------------------------------------------------------


def jni(java, value):
    return {"void": "void"}.get(java.number(value)[0], f"j{java.number(value)[0]}")


def wrapper(java, name, call, result, parameters, first=()):
    """A native method that passes its arguments on."""
    declared = "".join(f", {text}" for text in first) + "".join(
        f", {jni(java, part)} {part.name}" for part in parameters)
    passed = ", ".join(f"POINTER({cast}, {part.name})" if (cast := java.c_cast(part))
                       else f"({part.type.text}){part.name}" for part in parameters)
    pointer = result.type.pointers
    text = f"{call}({passed})"
    body = (f"return (jlong)(intptr_t){text};" if pointer else f"{text};"
            if result.kind == "nothing" else f"return ({jni(java, result)}){text};")
    return (f"static {jni(java, result)} JNICALL raw_{name}(JNIEnv* jni, jclass raw{declared}) {{\n"
            f"  (void)jni, (void)raw;\n  {body}\n}}\n")


def signature(java, parameters, result, first=""):
    return f"({first}{''.join(java.number(part)[1] for part in parameters)}){java.number(result)[1]}"


def trampoline(java, one):
    declared = java.c_parameters(one)
    arguments = "".join(f", (jlong)(intptr_t){part.name}" if java.c_cast(part)
                        else f", ({jni(java, part)}){part.name}" for part in one.parameters)
    index = f"CALLBACK_{flat(one).upper()}"
    kind = java.number(one.result)[0]
    method = {"void": "Void", "int": "Int", "long": "Long"}[kind]
    call = f"(*env)->CallStatic{method}Method(env, bridge_callbacks, methods[{index}]{arguments})"
    fails = one.result.kind == "failure"
    gone = ("return bridge_gone();" if fails else "return;" if kind == "void" else "return 0;")
    cast = f"({one.result.type.text}){'(intptr_t)' if one.result.type.pointers else ''}"
    body = {True: f"  return bridge_result(env, {call});\n",
            False: f"  {call};\n  bridge_leave(env);\n" if kind == "void" else
                   f"  j{kind} result = {call};\n"
                   f"  return bridge_leave(env) ? {cast}result : 0;\n"}[fails]
    return (f"static {one.result.type.text} on_{flat(one)}({declared}) {{\n"
            f"  JNIEnv* env = bridge_enter();\n  if (env == NULL) {gone}\n{body}}}\n")


def layout_checks(java, one):
    offsets, size, _ = java.layout(one)
    tests = [f"sizeof({one.name}) == {size}"] + [
        f"offsetof({one.name}, {name}) == {offset}" for name, offset in offsets.items()]
    return "".join(f'_Static_assert({test}, "{one.name}");\n' for test in tests)


def registration(java):
    rows = [(one.name, signature(java, one.parameters, one.result)) for one in java.api.functions]
    rows += [(f"call_{flat(one)}", signature(java, one.parameters, one.result, "J"))
             for one in java.downcalls()]
    return "".join(f'    {{"{name}", "{kind}", (void*)raw_{name}}},\n' for name, kind in rows)


def method_rows(java):
    rows = [f'    {{"release", "(J)V", (void (*)(void)){one}}},\n' for one in ("on_release", "on_deleter")]
    for one in java.upcalls():
        fails = one.result.kind == "failure"
        kind = signature(java, one.parameters, one.result)
        kind = kind[:-1] + "J" if fails else kind
        rows.append(f'    {{"{flat(one)}", "{kind}", (void (*)(void))on_{flat(one)}}},\n')
    return "".join(rows)


def c_file(java):
    api = java.api
    table = "".join(f"  __typeof__({one.name})* {one.name};\n" for one in api.functions)
    names = "".join(f'    {{"{one.name}", offsetof(struct api, {one.name})}},\n'
                    for one in api.functions)
    indexes = "".join(f"  CALLBACK_{flat(one).upper()},\n" for one in java.upcalls())
    wrappers = "\n".join(wrapper(java, one.name, f"api.{one.name}", one.result, one.parameters)
                         for one in api.functions)
    down = "\n".join(wrapper(java, f"call_{flat(one)}",
                             f"(({one.result.type.text} (*)({java.c_parameters(one)}))"
                             "(intptr_t)function)",
                             one.result, one.parameters, ("jlong function",))
                     for one in java.downcalls())
    up = "\n".join(trampoline(java, one) for one in java.upcalls())
    checks = "".join(layout_checks(java, one) for one in api.structs)
    return f"""{HEAD}// clang-format off
#include <dlfcn.h>
#include <headrace/headrace.h>
#include <stddef.h>

#include "bridge.h"

#define POINTER(type, number) ((type)(intptr_t)(number))

/* ---- The library: its functions are looked up, so that one that is missing is an error. ---- */

static struct api {{
{table}}} api;

static const struct {{
  const char* name;
  size_t offset;
}} functions[] = {{
{names}}};

const char* raw_find_functions(void* library) {{
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {{
    void* found = dlsym(library, functions[i].name);
    if (found == NULL) return functions[i].name;
    *(void**)((char*)&api + functions[i].offset) = found;
  }}
  return NULL;
}}

hr_status* raw_failure(hr_code code, const char* message) {{
  return api.hr_status_create(code, message);
}}

/* ---- The layout that Structs.java relies on ---- */

{checks}
/* ---- Functions of C, called by Java ---- */

{wrappers}
{down}
const JNINativeMethod raw_natives[] = {{
{registration(java)}}};
const jint raw_native_count = sizeof raw_natives / sizeof *raw_natives;

/* ---- Functions of Java, called by C ---- */

enum {{
  CALLBACK_RELEASE,
  CALLBACK_DELETER,
{indexes}  CALLBACK_COUNT
}};

static jmethodID methods[CALLBACK_COUNT];

static void on_release(void* context) {{
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_RELEASE],
                               (jlong)(intptr_t)context);
  bridge_leave(env);
}}

static void on_deleter(hr_dlpack* self) {{
  on_release(self->manager_ctx);
}}

{up}
static const struct {{
  const char* name;
  const char* signature;
  void (*trampoline)(void);
}} rows[CALLBACK_COUNT] = {{
{method_rows(java)}}};

int raw_find_methods(JNIEnv* env) {{
  for (int i = 0; i < CALLBACK_COUNT; ++i) {{
    methods[i] = (*env)->GetStaticMethodID(env, bridge_callbacks, rows[i].name, rows[i].signature);
    if (methods[i] == NULL) return 0;
  }}
  return 1;
}}

jlong raw_trampoline(jint callback) {{
  return callback < 0 || callback >= CALLBACK_COUNT ? 0 : (jlong)(intptr_t)rows[callback].trampoline;
}}
"""


def generate(api):
    java = Java(api)
    return {f"{PACKAGE}/Raw.java": natives(java), f"{PACKAGE}/Structs.java": structs(java),
            f"{PACKAGE}/Constants.java": constants(java),
            f"{PACKAGE}/Callbacks.java": callbacks(java), C_FILE: c_file(java)}


LANGUAGE = Language("java", generate, ("bindings/java/src/main/java/**/*.java",),
                    r"\bRaw(?:\.|::)(hr_\w+)",
                    struct=r"\bStructs\.{struct}\b", field=r"\.(?:use_)?{field}\(",
                    part=r"^  \S.*\{$")
