"""OpenMPI, shared memory."""
from harness.openmpi import serve

serve("all_reduce", 4, "shm")
