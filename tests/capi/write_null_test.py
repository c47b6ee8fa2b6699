#!/usr/bin/env python3
"""Writes a C program that tests what docs/c_api.json says about NULL.

usage: write_null_test.py docs/c_api.json PROGRAM.c

Each function that can fail is called with NULL for each pointer that must not be NULL, and has to
name the argument; once with NULL for all those that may be NULL, and must not complain of that.
Each other function is called with NULL for each pointer, and must survive.
"""
import json
import pathlib
import sys

# A value that is not NULL, for each kind; objects come from every_handle.h.
ZEROS = ("input", "output", "index", "training")
TEXTS = {"path": "all.path", "directory": "all.path", "url": '"memory:"'}
PRELUDE = """/* Written by tests/capi/write_null_test.py from docs/c_api.json. */
#include "every_handle.h"

static every_handle all;

/* Memory for arguments, all zero. */
static union {
  max_align_t alignment;
  size_t struct_size;
  unsigned char bytes[1024];
} slots[16];

static void* slot(int i) { return memset(&slots[i], 0, sizeof slots[i]); }
static void* sized(int i, size_t size) {
  EXPECT(size <= sizeof slots[i]);
  slot(i);
  slots[i].struct_size = size;
  return &slots[i];
}
static void* one_text(int i) {
  *(const char**)slot(i) = "x";
  return &slots[i];
}
static void* one_tensor(int i) {
  *(const hr_tensor**)slot(i) = all.tensor;
  return &slots[i];
}

/* The call, which had NULL for an argument that must be given, failed and says which. */
static void refuses(hr_status* status, const char* call, const char* words) {
  const char* message = hr_status_message(status);
  if (hr_status_code(status) != HR_INVALID_ARGUMENT || strstr(message, words) == NULL) {
    fprintf(stderr, "%s: expected INVALID_ARGUMENT with %s, got %s: %s\\n", call, words,
            hr_code_name(hr_status_code(status)), message);
    exit(1);
  }
  hr_status_release(status);
}
/* The call had NULL for the arguments that may be NULL. It may fail for another reason. */
static void accepts(hr_status* status, const char* call) {
  const char* message = hr_status_message(status);
  if (strstr(message, "' must not be NULL") != NULL || strstr(message, "got null") != NULL) {
    fprintf(stderr, "%s: %s\\n", call, message);
    exit(1);
  }
  hr_status_release(status);
}

"""


class Writer:
    def __init__(self, api):
        self.api = api
        self.sized = {one["name"] for one in api["structs"] if one["sized"]}
        self.releases = {one["name"]: one["release"] for one in api["handles"]}
        self.functions = [one for one in api["functions"] if any(
            "nullable" in part for part in one["parameters"])]

    def given(self, part, i, function):
        """A C expression for an argument that is not NULL."""
        kind, type_ = part["kind"], part["type"]
        base = type_.replace("const ", "").rstrip("* ").replace(" const", "").rstrip("*")
        if "nullable" not in part:
            return "0" if part["name"] in ZEROS else "1"
        if kind == "function":
            return f"do_{function}_{part['name']}"
        if kind == "handle" and part["direction"] == "in":
            if "array" in part:
                return f"one_tensor({i})"
            return "op" if base == "hr_op" else f"all.{base[len('hr_'):]}"
        if kind == "text" and part["direction"] == "in":
            return f"one_text({i})" if "array" in part else TEXTS.get(part["name"], '"x"')
        if kind == "struct" and base in self.sized:
            return f"sized({i}, sizeof({base}))"
        return f"slot({i})"

    def call(self, one, missing):
        arguments = []
        for i, part in enumerate(one["parameters"]):
            null = part["name"] in missing or part.get("nullable", False)
            arguments.append("NULL" if null else self.given(part, i, one["name"]))
        return f"{one['name']}({', '.join(arguments)})"

    def required(self, one):
        return [part for part in one["parameters"] if part.get("nullable") is False]

    def refusals(self, one):
        for part in self.required(one):
            buffer = part.get("array", {}).get("unit", "").startswith("elements of")
            words = "buffer, got null" if buffer else f"'{part['name']}'"
            yield f"  refuses({self.call(one, [part['name']])}, \"{one['name']}\", \"{words}\");"

    def acceptance(self, one):
        """The call with NULL for all that may be NULL, and the release of what it gives. Rank 1
        does nothing, so operations are only started."""
        if one["waits"] == "within limits" and one["parameters"][0]["type"] == "hr_group*":
            return
        if not any(part["kind"] != "context" and part["type"] != "const hr_limits*"
                   for part in one["parameters"] if part.get("nullable")):
            return
        yield f"  accepts({self.call(one, [])}, \"{one['name']}\");"
        for i, part in enumerate(one["parameters"]):
            base = part["type"].rstrip("*")
            if part["kind"] == "handle" and part.get("ownership") == "caller" and (
                    not part["nullable"] and "array" not in part):
                yield f"  {self.releases[base]}(*({base}**)&slots[{i}]);"

    def survivals(self, one):
        for part in one["parameters"]:
            if "nullable" in part and part["kind"] != "context":
                call = self.call(one, [part["name"]])
                owned = one["returns"].get("ownership") == "caller"
                release = self.releases[one["returns"]["type"].rstrip("*")] if owned else ""
                yield f"  {release}({call});"

    def callbacks(self):
        """Functions of the host that do nothing."""
        for one in self.api["callbacks"]:
            owner, name = one["name"].rsplit(".", 1)
            if name != "release" and any(owner == function["name"] for function in self.functions):
                names = [(part["type"], part["name"]) for part in one["parameters"]]
                parameters = ", ".join(" ".join(pair) for pair in names)
                unused = " ".join(f"(void){name};" for _, name in names)
                yield f"static void do_{owner}_{name}({parameters}) {{ {unused} }}"

    def text(self):
        can_fail = [one for one in self.functions if one["returns"]["kind"] == "failure"]
        others = [one for one in self.functions if one not in can_fail]
        of_op = [one for one in self.functions if one["parameters"][0]["type"].endswith("hr_op*")]
        in_op = [line for one in of_op
                 for line in (self.refusals(one) if one in can_fail else self.survivals(one))]
        parts = {
            "refusals": [line for one in can_fail if one not in of_op
                         for line in self.refusals(one)],
            "acceptances": [line for one in can_fail if one not in of_op
                            for line in self.acceptance(one)],
            "survivals": [line for one in others if one not in of_op
                          for line in self.survivals(one)]}
        out = [PRELUDE, *self.callbacks(), "", "static void check_in_op(hr_op* op) {", *in_op, "}"]
        for name, lines in parts.items():
            out += ["", f"static void test_{name}(hr_env* env) {{", "  (void)env;",
                    "  all = open_every_handle(check_in_op);", *lines,
                    "  close_every_handle(&all);", "}"]
        out += ["", "const test tests[] = {"]
        out += [f"    {{\"{name}\", test_{name}}}," for name in parts]
        return "\n".join(out + ["    {NULL, NULL}};", ""])


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    api = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(Writer(api).text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
