"""OpenMPI, shared memory."""
from harness.openmpi import serve

serve("send", 2, "shm")
