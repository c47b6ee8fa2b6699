#!/usr/bin/env python3
"""Tests of the checks: each is shown what it must find."""
import pathlib
import subprocess
import tempfile
import unittest

import check_includes
import check_library


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


if __name__ == "__main__":
    unittest.main()
