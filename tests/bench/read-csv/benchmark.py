from harness.catalog import Benchmark

ROWS, COLUMNS = 400_000, 20  # as in ours.c, which writes the file
BYTES = {"numbers": 9, "quoted": 11, "precise": 20}  # of a value with its delimiter

# From a file in the page cache to shuffled batches of 256 rows, of one epoch. The floor reads every
# byte of the file once.
BENCHMARK = Benchmark(
    name="read-csv", about="400,000 rows of 20 numbers and a label to shuffled batches", unit="s",
    cases=["numbers", "quoted", "precise"], peers=["pyarrow", "numpy"],
    floor=lambda case, machine: ROWS * (COLUMNS * BYTES[case] + 2) / machine.bytes)
