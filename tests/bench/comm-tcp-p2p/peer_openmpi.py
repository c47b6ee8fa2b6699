"""OpenMPI, TCP."""
from harness.openmpi import serve

serve("send", 2, "tcp")
