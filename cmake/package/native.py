"""Packages with compiled code: the installed tree, Debian's, Python's and Java's."""
import base64
import functools
import hashlib
import platform
import re
import shutil
import tarfile
import zipfile

from common import ROOT, Missing, glibc_of, need, run, version
from older_glibc import Linker


def make_tree(context, out):
    name = f"headrace-{version()}-{platform.system().lower()}-{platform.machine()}"
    with tarfile.open(out / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(context.prefix, name)


def make_deb(context, out):
    need("cpack", "dpkg-shlibdeps")
    work = context.scratch / "deb"
    run("cpack", "--config", context.build / "CPackConfig.cmake", "-B", work)
    for package in work.glob("*.deb"):
        shutil.copy(package, out)


@functools.cache
def portable(context):
    """A prefix with the library for packages of other languages, and the drivers to compile what joins it."""
    folder = context.scratch / "portable"
    shutil.copytree(context.prefix, folder, symlinks=True)
    for plugin in ("ucx", "images"):  # of their libraries few machines have all
        (folder / f"lib/libheadrace_{plugin}.so").unlink(missing_ok=True)
    try:
        linker = Linker(context.tools, context.scratch / "linker")
    except Missing as reason:
        print(f"wheel and jar need the glibc of this machine, because {reason}")
        return folder, {}
    for old in [*folder.glob("lib/libheadrace.so*"), *folder.glob("lib/libheadrace_*.so"), *folder.glob("lib/libuv.so*")]:
        old.unlink()
    archive = run("c++", "-print-file-name=libz.a").strip()
    linker.link(context.build, "library", context.build / "capi/headrace.map", folder / "lib/libheadrace.so.0",
                folder / "lib/libhwy.so", archive)
    (folder / "lib/libheadrace.so").symlink_to("libheadrace.so.0")
    if (context.build / "package/net.txt").exists():
        names = ["libuv.so", "libssl.so", "libcrypto.so"]
        linker.link(context.build, "net", ROOT / "cmake/plugin.map", folder / "lib/libheadrace_net.so",
                    *(run("c++", f"-print-file-name={name}").strip() for name in names))
    return folder, {"CC": str(linker.cc), "CXX": str(linker.cxx)}


def make_wheel(context, out):
    shutil.copy(wheel_of(context), out)


@functools.cache
def wheel_of(context):
    prefix, compilers = portable(context)
    path = f"{context.tools}:/usr/local/bin:/usr/bin:/bin"
    run(context.tools / "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
        "-w", context.scratch, "-C", f"build-dir={context.scratch}/wheel-build", ROOT / "bindings/python",
        env={"HEADRACE_PREFIX": str(prefix), "PATH": path, **compilers})
    return finish_wheel(context, next(context.scratch.glob("*.whl")))


def finish_wheel(context, wheel):
    """Writes the wheel anew: with the tag that its symbols ask for, and as small as it can be."""
    work, out = context.scratch / "wheel", context.scratch / "finished"
    out.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work)
    major, minor = glibc_of(path for path in work.rglob("*.so*"))
    name = re.sub(r"linux_(\w+)\.whl$", rf"manylinux_{major}_{minor}_\1.whl", wheel.name)
    tag = "-".join(name.removesuffix(".whl").split("-")[2:])
    info = next(work.glob("*.dist-info"))
    text = (info / "WHEEL").read_text()
    (info / "WHEEL").write_text(re.sub(r"^Tag: .*$", f"Tag: {tag}", text, flags=re.M))
    files = sorted(path for path in work.rglob("*") if path.is_file() and path != info / "RECORD")
    record = "".join(f"{path.relative_to(work)},sha256={digest(path)},{path.stat().st_size}\n" for path in files)
    (info / "RECORD").write_text(f"{record}{info.name}/RECORD,,\n")
    names = [path.relative_to(work) for path in [*files, info / "RECORD"]]
    run(context.tools / "python", ROOT / "cmake/package/smallest_zip.py", work, out / name, *names)
    return out / name


def digest(path):
    return base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()


def make_jar(context, out):
    need("mvn", "javac")
    prefix, compilers = portable(context)
    work = context.scratch / "java"
    shutil.copytree(ROOT / "bindings/java", work, ignore=shutil.ignore_patterns("target"))
    run(work / "natives", prefix, env=compilers)
    run("mvn", "-q", "-B", "-DskipTests", "package", "source:jar", "javadoc:jar", cwd=work)
    for jar in (work / "target").glob("headrace-*.jar"):
        shutil.copy(jar, out)
    shutil.copy(work / "pom.xml", out / f"headrace-{version()}.pom")
