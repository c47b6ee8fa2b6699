"""Packages of sources: Rust's and Go's, which call the library that is installed."""
import datetime
import json
import shutil
import subprocess
import zipfile

from common import ROOT, need, run, version


def make_crates(context, out):
    """Not compiled here: tests/packages does that, from what is packed."""
    need("cargo")
    target = context.scratch / "crates"
    run("cargo", "package", "--no-verify", "--allow-dirty", "--target-dir", target, "-p", "headrace-sys", "-p", "headrace",
        cwd=ROOT / "bindings/rust")
    for crate in (target / "package").glob("*.crate"):
        shutil.copy(crate, out)


def make_module(context, out):
    """The files that the go command asks a module proxy for: GOPROXY=file://OUT."""
    source = ROOT / "bindings/go"
    name = (source / "go.mod").read_text().split()[1]
    tag = f"v{version()}"
    folder = out / name / "@v"
    folder.mkdir(parents=True)
    (folder / "list").write_text(f"{tag}\n")
    (folder / f"{tag}.info").write_text(json.dumps({"Version": tag, "Time": committed()}) + "\n")
    shutil.copy(source / "go.mod", folder / f"{tag}.mod")
    files = [path for pattern in ("*.go", "*.h", "go.mod") for path in sorted(source.glob(pattern))]
    with zipfile.ZipFile(folder / f"{tag}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*files, ROOT / "LICENSE"]:
            archive.write(path, f"{name}@{tag}/{path.name}")


def committed():
    """When the last commit was made, as the go command writes times."""
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=False)
    seconds = int(done.stdout.strip() or 0)
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
