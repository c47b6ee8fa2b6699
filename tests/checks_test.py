#!/usr/bin/env python3
"""Tests of the checks: each is shown what it must find."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_abi
import check_api
import check_includes
import check_library
import check_versions

sys.path.insert(0, str(check_api.ROOT / "capi"))
import describe_api  # noqa: E402
import read_headers  # noqa: E402


class Includes(unittest.TestCase):
    def faults(self, path, line, *others):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in (path, *others):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(line + "\n" if name == path else "")
            return list(check_includes.faults(root))

    def assertWrong(self, *arguments):
        self.assertEqual(len(self.faults(*arguments)), 1, arguments)

    def assertRight(self, *arguments):
        self.assertEqual(self.faults(*arguments), [], arguments)

    def test_rooms_see_only_rooms_before_them(self):
        self.assertRight("runtime/graph/a.cc", '#include "runtime/base/status.h"')
        self.assertRight("runtime/graph/a.cc", '#include "runtime/graph/b.h"')
        self.assertWrong("runtime/graph/a.cc", '#include "runtime/ops/b.h"')
        self.assertWrong("runtime/graph/a.cc", '#include "backends/cpu/b.h"')
        self.assertWrong("runtime/graph/a.cc", '#include "capi/src/b.h"')

    def test_backends_stop_at_engine(self):
        self.assertRight("backends/cpu/kernels/a.cc", '#include "runtime/engine/b.h"')
        self.assertWrong("backends/cpu/a.cc", '#include "runtime/session/b.h"')
        self.assertWrong("backends/cpu/a.cc", '#include "backends/cuda/b.h"')

    def test_transports_see_base_device_comm(self):
        self.assertRight("transport/shm/a.cc", '#include "runtime/comm/b.h"')
        self.assertWrong("transport/shm/a.cc", '#include "runtime/graph/b.h"')
        self.assertWrong("transport/shm/a.cc", '#include "transport/tcp/b.h"')

    def test_only_the_register_names_backends(self):
        self.assertRight("capi/src/register.cc", '#include "backends/cpu/b.h"')
        self.assertWrong("capi/src/session.cc", '#include "backends/cpu/b.h"')

    def test_outsiders_see_the_public_headers_only(self):
        for path in ("tools/headrace/a.cc", "samples/lenet/a.c", "tests/capi/a.c",
                     "tests/bench/load/ours.c"):
            self.assertRight(path, "#include <headrace/headrace.h>")
            self.assertWrong(path, '#include "runtime/base/status.h"')
            self.assertWrong(path, '#include "capi/src/handles.h"')
            beside = str(pathlib.PurePosixPath(path).parent / "b.h")
            self.assertRight(path, '#include "b.h"', beside)
        self.assertRight("tests/bench/load/ours.c", '#include "side.h"', "tests/bench/side.h")

    def test_public_headers_stay_outside_the_runtime(self):
        self.assertWrong("runtime/base/a.cc", "#include <headrace/headrace.h>")
        self.assertRight("runtime/device/a.cc", "#include <headrace/plugin.h>")
        self.assertWrong("runtime/device/a.cc", "#include <headrace/plugins.h>")

    def test_listed_paths_exist(self):
        self.assertEqual(check_includes.missing(pathlib.Path(__file__).parent.parent), [])
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path in check_includes.listed_paths():
                (root / path).mkdir(parents=True, exist_ok=True)
            self.assertEqual(check_includes.missing(root), [])
            (root / "capi/include/headrace/plugin.h").rmdir()
            self.assertEqual(len(check_includes.missing(root)), 1)

    def test_public_headers_include_only_each_other(self):
        path = "capi/include/headrace/a.h"
        self.assertRight(path, "#include <headrace/b.h>")
        self.assertRight(path, "#include <stdint.h>")
        self.assertWrong(path, '#include "runtime/base/status.h"')

    def test_the_core_uses_flatbuffers_alone(self):
        self.assertRight("runtime/format/a.cc", "#include <flatbuffers/flatbuffers.h>")
        self.assertRight("runtime/base/a.cc", "#include <sys/mman.h>")
        self.assertWrong("runtime/session/a.cc", "#include <nlohmann/json.hpp>")
        self.assertRight("runtime/train/a.cc", "#include <nlohmann/json.hpp>")
        self.assertWrong("runtime/ops/a.cc", "#include <hwy/highway.h>")
        self.assertWrong("runtime/base/a.cc", "#include <boost/any.hpp>")

    def test_paths_are_written_from_the_root(self):
        self.assertWrong("runtime/base/a.cc", '#include "b.h"', "runtime/base/b.h")


class Library(unittest.TestCase):
    def build(self, folder, source, *flags):
        file = pathlib.Path(folder) / "a.cc"
        file.write_text(source)
        built = file.with_suffix(".out")
        subprocess.run(["c++", str(file), "-o", str(built), *flags], check=True)
        return str(built)

    def test_finds_static_constructors(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = self.build(folder, "constinit int a = 1;", "-c", "-std=c++20")
            self.assertEqual(check_library.check_constructors(plain), [])
            bad = self.build(folder, "int f(); int a = f();", "-c")
            self.assertEqual(len(check_library.check_constructors(bad)), 1)

    def test_finds_wrong_exports(self):
        with tempfile.TemporaryDirectory() as folder:
            library = self.build(folder, 'extern "C" { int hr_x; int other; }', "-shared", "-fPIC")
            self.assertEqual(check_library.exported(library), {"hr_x", "other"})
            faults = check_library.check_symbols(library)
            self.assertIn("other: exported, but only hr_ names may be", faults)
            self.assertIn("hr_x: exported, not in capi/symbols.txt", faults)


class Versions(unittest.TestCase):
    def test_one_that_differs_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path in {path for path, _, _ in check_versions.wanted("1.2.3")}:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text((check_versions.ROOT / path).read_text())
            check_versions.write(root, "1.2.3")
            self.assertEqual(list(check_versions.faults(root, "1.2.3")), [])
            for path, _, _ in check_versions.wanted("1.2.3"):
                whole = (root / path).read_text()
                (root / path).write_text((check_versions.ROOT / path).read_text())
                self.assertTrue(all(path in fault for fault in check_versions.faults(root, "1.2.3")))
                self.assertTrue(list(check_versions.faults(root, "1.2.3")), path)
                (root / path).write_text(whole)


class Interface(unittest.TestCase):
    KEPT = {"function hr_f": "void (int32_t)", "constant HR_A": "1", "struct hr_s": "float x;",
            "struct hr_o": "size_t struct_size; int32_t a;"}

    def faults(self, **changes):
        now = self.KEPT | {name.replace("_", " ", 1): value for name, value in changes.items()}
        return list(check_abi.faults(self.KEPT, now))

    def test_may_grow(self):
        self.assertEqual(self.faults(function_hr_g="void ()", constant_HR_B="2"), [])
        self.assertEqual(self.faults(struct_hr_o="size_t struct_size; int32_t a; float b;"), [])

    def test_may_not_change(self):
        for name, value in {"function_hr_f": "void (int64_t)", "constant_HR_A": "2", "struct_hr_s": "float x; float y;",
                            "struct_hr_o": "size_t struct_size; float b; int32_t a;"}.items():
            self.assertEqual(len(self.faults(**{name: value})), 1, name)
        self.assertEqual(len(self.faults(struct_hr_o="size_t struct_size; int32_t ab;")), 1)
        gone = list(check_abi.faults(self.KEPT, {}))
        self.assertEqual(len(gone), 4)

    def test_kept_is_what_the_headers_say(self):
        api = json.loads((check_abi.ROOT / "docs/c_api.json").read_text())
        now = check_abi.interface(api)
        self.assertEqual(now["function hr_env_release"], "void (hr_env*)")
        self.assertEqual(now["constant HR_NOT_FOUND"], "5")
        self.assertTrue(now["struct hr_env_options"].startswith("size_t struct_size; "))


SAMPLE = """/* Sample. */
#define HR_API_VERSION 7
typedef int32_t hr_code;
enum {
  HR_OK = 0,
  HR_NOT_FOUND = 5, /* nothing there */
};
typedef struct hr_status hr_status;
HR_API void hr_status_release(hr_status* status);
typedef struct hr_limits {
  size_t struct_size;
} hr_limits;
/* A thing. */
typedef struct hr_thing hr_thing;
HR_API void hr_thing_release(hr_thing* thing);
%s
"""


def describe(text):
    """The description of a header with the declarations of SAMPLE and these."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "headrace.h").write_text('#include "headrace/sample.h"\n')
        pathlib.Path(folder, "sample.h").write_text(SAMPLE % text)
        return describe_api.described(folder)


class Description(unittest.TestCase):
    """The reader of headers and the description that is made of them."""

    def function(self, text):
        return describe(text)["functions"][-1]

    def parameter(self, text):
        return self.function(f"HR_API hr_status* hr_f({text});")["parameters"][0]

    def assertRefused(self, text, words):
        with self.assertRaisesRegex(read_headers.HeaderError, words, msg=text):
            describe(text)

    def test_without_marks(self):
        handle = self.parameter("hr_thing* thing")
        self.assertEqual((handle["kind"], handle["ownership"]), ("handle", "borrowed"))
        self.assertFalse(handle["nullable"])
        out = self.parameter("hr_thing** out")
        self.assertEqual((out["direction"], out["ownership"]), ("out", "caller"))
        self.assertEqual(self.parameter("const char** out")["ownership"], "library")
        self.assertTrue(self.parameter("const hr_limits* limits")["nullable"])
        self.assertEqual(self.parameter("hr_limits* out")["direction"], "inout")
        self.assertEqual(self.parameter("int64_t* out")["direction"], "out")

    def test_marks(self):
        self.assertTrue(self.parameter("HR_NULLABLE const char* name")["nullable"])
        dims = self.parameter("HR_ARRAY(rank) const int64_t* dims, size_t rank")
        self.assertEqual(dims["array"], {"count": "rank", "unit": "elements"})
        self.assertEqual(self.parameter("HR_TAKES hr_limits* taken")["ownership"], "taken")
        data = self.parameter("HR_KEEPS HR_BYTES(bytes) void* data, size_t bytes")
        self.assertEqual((data["ownership"], data["array"]["unit"]), ("kept", "bytes"))

    def test_waits_and_errors(self):
        one = self.function("/* HR_NOT_FOUND: no. */\n"
                            "HR_API hr_status* hr_f(const hr_limits* limits);")
        self.assertEqual((one["waits"], one["errors"]), ("within limits", ["HR_NOT_FOUND"]))
        one = self.function("HR_API HR_BLOCKS void hr_f(void);")
        self.assertEqual(one["waits"], "without limits")
        one = self.function("HR_API HR_RESULT hr_status* hr_f(void);")
        self.assertEqual(one["returns"]["kind"], "handle")

    def test_started_functions_have_the_marks(self):
        one = self.function("""typedef struct hr_work hr_work;
HR_API hr_status* hr_f(HR_ELEMENTS(count) const void* data, size_t count);
HR_API hr_status* hr_f_start(const void* data, size_t count, hr_work** out);""")
        data = one["parameters"][0]
        self.assertEqual((data["array"]["count"], data["ownership"]), ("count", "kept"))

    def test_comments(self):
        api = describe("""
/* Return two
 * things. */
HR_API int hr_f(void);
HR_API int hr_g(void);

HR_API int hr_h(void);
/* Returns one. */
HR_API int hr_i(void);
HR_API int hr_j(void);""")
        docs = {one["name"]: one["description"] for one in api["functions"]}
        self.assertEqual([docs[f"hr_{name}"] for name in "fghij"],
                         ["Return two\nthings.", "Return two\nthings.", "", "Returns one.", ""])
        self.assertEqual(api["enumerations"][0]["constants"][1],
                         {"name": "HR_NOT_FOUND", "value": 5, "description": "nothing there"})

    def test_functions_of_the_host_have_threads(self):
        fields = "typedef struct hr_host {\n  size_t struct_size;\n  %s\n} hr_host;"
        one = describe(fields % "HR_CALLED_BY(run) int (*ask)(void* context);")["callbacks"][0]
        self.assertEqual((one["name"], one["called_by"]), ("hr_host.ask", "run"))
        self.assertRefused(fields % "int (*ask)(void* context);", "sample.h:.*HR_CALLED_BY")
        self.assertRefused(fields % "HR_CALLED_BY(me) int (*ask)(void);", "HR_CALLED_BY")

    def test_what_it_cannot_express(self):
        for text, words in (
                ("int hr_f(void);", r"sample.h:\d+: expected a typedef or HR_API"),
                ("HR_API int hr_f(unknown* x);", r"sample.h:\d+: .*unknown type"),
                ("HR_API int hr_f(hr_thing x);", r"sample.h:\d+: .*by value"),
                ("HR_API int hr_f(const void* data);", r"sample.h:\d+: .*HR_BYTES"),
                ("HR_API int hr_f(const int64_t* dims);", r"sample.h:\d+: .*HR_ARRAY"),
                ("HR_API int hr_f(HR_ARRAY(n) const int64_t* dims);", r"sample.h:\d+: .*names n"),
                ("HR_API int hr_f(HR_NULLABLE int n);", r"sample.h:\d+: .*no meaning here"),
                ("HR_API int hr_f(HR_OR_NULL const char* x);", r"sample.h:\d+: .*is HR_NULLABLE"),
                ("HR_API HR_NULLABLE const char* hr_f(void);", r"sample.h:\d+: .*no meaning"),
                ("HR_API int hr_f(hr_thing*** out);", r"sample.h:\d+: .*too many levels"),
                ("#define HR_NAME (1 + 1)", r"sample.h:\d+: expected a constant"),
                ("typedef int32_t hr_kind;\nenum { HR_A };", r"sample.h:\d+: expected ="),
                ("typedef union hr_x hr_x;", r"sample.h:\d+: ")):
            self.assertRefused(text, words)


class Api(unittest.TestCase):
    """The checks of the description."""

    def assertRight(self, text):
        self.assertEqual(check_api.check_prose(describe(text)), [], text)

    def assertWrong(self, text, words):
        faults = check_api.check_prose(describe(text))
        self.assertEqual(len(faults), 1, faults)
        self.assertRegex(faults[0], words)

    def test_prose_and_marks(self):
        text = "/* Finds. %s */\nHR_API hr_status* hr_f(%sconst char* name);"
        self.assertRight(text % ("", ""))
        self.assertRight(text % ("`name` may be NULL.", "HR_NULLABLE "))
        self.assertRight(text % ("`name` must not be NULL.", ""))
        self.assertWrong(text % ("`name` may be NULL.", ""), "mark it HR_NULLABLE")
        self.assertWrong(text % ("", "HR_NULLABLE "), "no sentence says")

    def test_results_fields_and_waits(self):
        self.assertWrong("/* Gives it. */\nHR_API hr_status* hr_f(HR_OR_NULL hr_thing** out);",
                         "no sentence says when")
        self.assertWrong("/* Returns NULL at times. */\nHR_API const char* hr_f(void);",
                         "is a result HR_OR_NULL")
        fields = "typedef struct hr_x {\n  %s\n} hr_x;"
        self.assertRight(fields % "HR_NULLABLE const char* a; /* NULL: all */")
        self.assertWrong(fields % "const char* a; /* NULL: all */", "mark it HR_NULLABLE")
        self.assertWrong(fields % "HR_NULLABLE const char* a; /* a name */", "what NULL means")
        self.assertWrong("/* Ends. */\nHR_API HR_BLOCKS void hr_f(void);", "for what it waits")

    def test_handles_are_released(self):
        give = "typedef struct hr_x hr_x;\nHR_API hr_status* hr_f(hr_x** out);"
        self.assertWrong(give, "no hr_x_release")
        self.assertRight(give + "\nHR_API void hr_x_release(hr_x* x);")

    def test_symbols(self):
        names = {"hr_status_release", "hr_thing_release"}
        for listed, faults in ((names, 0), (names | {"hr_more"}, 1), ({"hr_thing_release"}, 1)):
            self.assertEqual(len(check_api.check_symbols(describe(""), listed)), faults)

    def test_calls(self):
        api = describe("HR_API int hr_f(void);")
        others = "hr_status_release(s); hr_thing_release (t);"
        self.assertEqual(check_api.uncalled(api, [others, "x = hr_f();"]), [])
        for no_call in ("/* hr_f() */", '"hr_f()"', "// hr_f()", "hr_f_start()", "take(hr_f)"):
            self.assertEqual(check_api.uncalled(api, [others + no_call]), ["hr_f"], no_call)


if __name__ == "__main__":
    unittest.main()
