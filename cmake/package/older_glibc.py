"""Links objects of this machine's compiler so that they run with glibc 2.28: against the libraries that
PyPI's ziglang brings, with libstdc++ inside. What newer headers ask for besides is in shim.c."""
import os
import platform

from common import Failure, Missing, run

GLIBC = "2.28"
LIBSTDCXX = ["libstdc++.a", "libgcc_eh.a", "libgcc.a"]

# A compiler that compiles with this machine's, and links shared libraries with zig.
DRIVER = """#!/bin/sh
for word in "$@"; do
  if [ "$word" = -shared ]; then
    exec {zig} cc -target {target} -s "$@" {shim} {libraries} -lm -lpthread -ldl
  fi
done
exec {compiler} "$@"
"""


class Linker:
    """Drivers `cc` and `cxx` in a folder. Missing if ziglang is not there or there is none for this machine."""

    def __init__(self, tools, folder):
        if platform.machine() not in ("x86_64", "aarch64"):
            raise Missing(f"nobody has tried this on {platform.machine()}")
        found = list(tools.parent.glob("lib/python3*/site-packages/ziglang/zig"))
        if not found:
            raise Missing("there is no ziglang")
        folder.mkdir()
        shim, self.cc, self.cxx = folder / "shim.o", folder / "cc", folder / "c++"
        run("cc", "-O2", "-fPIC", "-c", os.path.join(os.path.dirname(__file__), "shim.c"), "-o", shim)
        libraries = [run("c++", f"-print-file-name={name}").strip() for name in LIBSTDCXX]
        if not all(os.path.isabs(path) for path in libraries):
            raise Missing(f"the compiler has no {' or '.join(LIBSTDCXX)}")
        for driver, compiler in ((self.cc, "cc"), (self.cxx, "c++")):
            driver.write_text(DRIVER.format(zig=found[0], target=f"{platform.machine()}-linux-gnu.{GLIBC}", shim=shim,
                                            libraries=" ".join(libraries), compiler=compiler))
            driver.chmod(0o755)

    def link(self, build, what, version_script, out, *libraries):
        """Links the objects that BUILD/package/WHAT.txt names."""
        objects = build / "package" / f"{what}.txt"
        missing = [line for line in objects.read_text().splitlines() if not os.path.exists(line)]
        if missing:
            raise Failure(f"{missing[0]} is not there: build {build} first")
        run(self.cxx, "-shared", "-o", out, f"@{objects}", f"-Wl,--version-script={version_script}", "-Wl,--gc-sections",
            "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN", f"-Wl,-soname,{out.name}", *libraries)
