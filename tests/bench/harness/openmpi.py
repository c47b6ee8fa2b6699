"""OpenMPI as a peer: compiles comm/openmpi.c and becomes mpirun, which passes rank 0 the input."""
import os
import pathlib
import subprocess

from .peer import SCRATCH

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "comm/openmpi.c"
TRANSPORTS = {"tcp": "tcp,self", "shm": "vader,self"}


def serve(operation, ranks, transport):
    program = pathlib.Path(SCRATCH) / f"openmpi-{operation}-{transport}"
    subprocess.run(["mpicc", "-O2", SOURCE, "-o", program], check=True)
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_btl=TRANSPORTS[transport], OMPI_MCA_pml="ob1")
    binding = "core" if ranks <= len(os.sched_getaffinity(0)) else "none"
    options = ["--oversubscribe", "--bind-to", binding]
    os.execvp("mpirun", ["mpirun", *options, "-n", str(ranks), str(program), operation])
