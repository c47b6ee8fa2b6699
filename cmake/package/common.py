"""What the packages share: commands, the version, the installed library, sizes."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failure(Exception):
    """Why no package can be made."""


class Missing(Exception):
    """A tool that this machine does not have."""


def run(*command, **options):
    """Runs a command quietly; its output is shown if it fails."""
    options["env"] = {**os.environ, **options.get("env", {})}
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise Missing(f"there is no {tool}")


def version():
    """The version of all packages, which CMakeLists.txt has."""
    return re.search(r"^project\(Headrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def glibc_of(files):
    """The glibc that the symbols of these files ask for, as (2, 28)."""
    versions = {(2, 5)}
    for path in files:
        for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path)):
            versions.add((int(major), int(minor)))
    return max(versions)


class Context:
    """A build, and what is made of it once for several packages."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch

    @functools.cached_property
    def prefix(self):
        """The installed tree."""
        prefix = self.scratch / "prefix"
        run("cmake", "--install", self.build, "--prefix", prefix, "--strip")
        return prefix

    @functools.cached_property
    def tools(self):
        """The folder of the programs of requirements.txt, in a virtual environment of this project."""
        venv, wanted = ROOT / ".venv-package", ROOT / "cmake/package/requirements.txt"
        stamp = venv / "installed.txt"
        if not stamp.exists() or stamp.read_text() != wanted.read_text():
            try:
                run("python3", "-m", "venv", "--clear", venv)
                run(venv / "bin/pip", "install", "-q", "--disable-pip-version-check", "-r", wanted)
            except Failure as failure:
                raise Missing(f"pip cannot install {wanted.relative_to(ROOT)}: {failure}") from None
            shutil.copy(wanted, stamp)
        return venv / "bin"


def print_sizes(out, files):
    """A table of packages, and for archives the largest of what is in them."""
    for path in files:
        print(f"{path.stat().st_size / 1e6:9.3f} MB  {path.relative_to(out)}")
        if path.suffix not in (".whl", ".jar") or "sources" in path.name or "javadoc" in path.name:
            continue
        with zipfile.ZipFile(path) as archive:
            inside = sorted(archive.infolist(), key=lambda info: -info.compress_size)
        for info in inside[:5]:
            print(f"{info.compress_size / 1e6:20.3f} MB  {info.filename} ({info.file_size / 1e6:.3f} unpacked)")
        rest = sum(info.compress_size for info in inside[5:])
        print(f"{rest / 1e6:20.3f} MB  {len(inside) - 5} other files")
