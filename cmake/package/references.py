"""The references of all languages, made from the comments. A warning is a failure."""
import shutil
import tarfile

from common import ROOT, Failure, Missing, need, run, version
from native import make_wheel


def make_reference(context, out):
    folder = context.scratch / f"headrace-{version()}-reference"
    for language, make in LANGUAGES.items():
        target = folder / language
        target.mkdir(parents=True)
        try:
            make(context, target)
        except Missing as reason:
            print(f"the reference of {language} is left out: {reason}")
            target.rmdir()
    with tarfile.open(out / f"{folder.name}.tar.gz", "w:gz") as archive:
        archive.add(folder, folder.name)


def of_c(context, out):
    need("doxygen")
    run("doxygen", "cmake/package/Doxyfile", cwd=ROOT, env={"HEADRACE_VERSION": version(), "HEADRACE_OUT": str(out)})


def of_python(context, out):
    """Of the package as it is installed, because half of it is compiled."""
    made, site = context.scratch / "reference-wheel", context.scratch / "site"
    made.mkdir()
    make_wheel(context, made)
    run(context.tools / "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", site,
        next(made.glob("*.whl")))
    said = run(context.tools / "python", "-m", "pdoc", "-d", "numpy", "-o", out, "headrace", cwd=context.scratch,
               env={"PYTHONPATH": str(site)})
    if said.strip():
        raise Failure(f"pdoc has warnings:\n{said}")


def of_rust(context, out):
    need("cargo")
    target = context.scratch / "rustdoc"
    run("cargo", "doc", "--quiet", "--all-features", "--no-deps", "--target-dir", target, "-p", "headrace-sys",
        "-p", "headrace", cwd=ROOT / "bindings/rust", env={"DOCS_RS": "1", "RUSTDOCFLAGS": "-D warnings"})
    shutil.copytree(target / "doc", out, dirs_exist_ok=True)


def of_java(context, out):
    need("javadoc")
    sources = ROOT / "bindings/java/src/main/java"
    run("javadoc", "-quiet", "-Xdoclint:all,-missing", "-Werror", "-encoding", "UTF-8", "-d", out,
        *sorted(sources.rglob("*.java")))


def of_go(context, out):
    need("go", "gofmt")
    (out / "headrace.txt").write_text(run("go", "doc", "-all", ".", cwd=ROOT / "bindings/go"))


LANGUAGES = {"c": of_c, "python": of_python, "rust": of_rust, "java": of_java, "go": of_go}
