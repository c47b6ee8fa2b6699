"""Installs the peers into .venv-bench below the project, and says how to start them."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv-bench"
PACKAGES = {
    "torch": ["torch", "numpy"],
    "torch-channels": ["torch", "numpy"],
    "torch-compile": ["torch", "numpy"],
    "tensorflow": ["tensorflow-cpu"],
    "tensorflow-xla": ["tensorflow-cpu"],
    "onnxruntime": ["onnxruntime", "onnx"],
    "onnxruntime-lean": ["onnxruntime", "onnx"],
    "gloo": ["torch", "numpy"],
    "pyarrow": ["pyarrow", "numpy"],
    "numpy": ["numpy"],
    "models": ["torch", "numpy", "onnx"],  # what writes the networks of a sweep
}
SYSTEM_PACKAGES = {  # of Debian and Ubuntu
    "openmpi": ["openmpi-bin", "libopenmpi-dev"],
    "ucx": ["ucx-utils"],
}


class Failure(Exception):
    pass


def run_pip(*arguments):
    command = [VENV / "bin/pip", "-q", "--disable-pip-version-check", *arguments]
    if subprocess.run(command).returncode != 0:
        raise Failure(f"pip {' '.join(arguments)} failed (see above); "
                      "--peer none measures ours alone")


def is_in_system(package):
    asked = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return asked.stdout == "installed"


def install_in_system(packages):
    missing = [package for package in packages if not is_in_system(package)]
    if not missing:
        return
    print(f"installing {', '.join(missing)}", file=sys.stderr)
    command = [*([] if os.geteuid() == 0 else ["sudo"]), "apt-get", "install", "-y", "-qq",
               "--no-install-recommends", *missing]
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
        raise Failure(f"{' '.join(command)} failed (see above); --peer none measures ours alone")


def install(peer):
    """Makes `peer` usable: in .venv-bench, or of the distribution. Quick when it is."""
    if peer in SYSTEM_PACKAGES:
        return install_in_system(SYSTEM_PACKAGES[peer])
    if peer not in PACKAGES:
        raise Failure(f"no peer '{peer}'; there are {', '.join([*PACKAGES, *SYSTEM_PACKAGES])}")
    if not (VENV / "bin/pip").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    for package in PACKAGES[peer]:
        if not is_installed(package):
            print(f"installing {package} into {VENV.name}", file=sys.stderr)
            run_pip("install", package)


def is_installed(package):
    name = package.replace("-", "_").lower()
    return any(path.name.lower().startswith(name + "-")
               for path in VENV.glob("lib/python*/site-packages/*.dist-info"))


def language_side(peer, folder):
    """The start of a command, for a peer LANGUAGE or ENGINE-LANGUAGE of a benchmark that has the
    script side_LANGUAGE PREFIX [ENGINE]; else None."""
    engine, _, language = peer.rpartition("-")
    script = folder / f"side_{language}"
    if not script.exists():
        return None
    return lambda prefix: [str(script), str(prefix), *filter(None, [engine])]


def command(peer, folder):
    """`torch-compile` is peer_torch.py with the argument `compile`."""
    module, _, variant = peer.partition("-")
    python = sys.executable if peer in SYSTEM_PACKAGES else str(VENV / "bin/python")
    return [python, str(folder / f"peer_{module}.py"), *filter(None, [variant])]


def prepare(folder, environment):
    """Runs prepare.py of the benchmark, which may use what `onnxruntime` installs."""
    install("onnxruntime")
    command = [str(VENV / "bin/python"), str(folder / "prepare.py")]
    if subprocess.run(command, env=environment).returncode != 0:
        raise Failure(f"{folder.name}/prepare.py failed (see above)")


def environment(threads, scratch):
    return {**os.environ, "PYTHONPATH": str(ROOT / "tests/bench"),
            "HEADRACE_BENCH_THREADS": str(threads), "HEADRACE_BENCH_SCRATCH": str(scratch),
            "HEADRACE_BENCH_PREPARED": str(scratch),
            "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": "",
            "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONWARNINGS": "ignore"}
