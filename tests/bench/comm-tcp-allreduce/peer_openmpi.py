"""OpenMPI, TCP."""
from harness.openmpi import serve

serve("all_reduce", 2, "tcp")
