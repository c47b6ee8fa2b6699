from harness.catalog import Benchmark
from harness.shaped import PAYLOAD_RATE

RANKS, HOSTS = 8, 2
LARGE = 8 << 20           # bytes of an all_reduce, else of each rank's block: 1 MiB


def floor(case, machine):
    """What has to leave a host, once, at what the line leaves for payload."""
    operation, size, _ = case.split("-")
    if size == "small":
        return None
    blocks = 2 / HOSTS if operation == "all_reduce" else (RANKS - RANKS // HOSTS) / RANKS
    return 1e3 * LARGE * blocks / PAYLOAD_RATE


OPERATIONS = {"all_reduce": "ring", "all_gather": "ring", "reduce_scatter": "ring"}
SMALL = {"barrier": "dissemination", "all_reduce": "recursive_doubling", "reduce": "binomial",
         "all_gather": "ring"}

BENCHMARK = Benchmark(
    name="comm-hierarchical",
    about="8 ranks on 2 hosts at 1 Gbit/s, with what is made for hosts and without (needs root)",
    unit="ms", repeats=5, floor=floor, peers=[],
    cases=[f"{operation}-large-{algorithm}" for operation in OPERATIONS
           for algorithm in (OPERATIONS[operation], "hierarchical")] +
          [f"{operation}-small-{algorithm}" for operation in SMALL
           for algorithm in (SMALL[operation], "hierarchical")])
