from harness.catalog import Benchmark

MODELS = ["n2-25MB", "n2-100MB", "n4-25MB"]
CASES = [f"{model}{overlap}{what}" for model in MODELS for overlap in ("", "-off")
         for what in ("", "-ms")]

# 1 is forward + max(backward, 2X(N-1)/(N rate)) + the transfer of the last bucket, by the side's own
# forward and backward passes.
BENCHMARK = Benchmark(
    name="mirrored-overlap",
    about="a training step of an MLP between network namespaces at 1 Gbit/s, as a multiple of what it "
          "must take at least, and in milliseconds; -off: nothing is computed while gradients travel "
          "(needs root)",
    unit="x", units={case: "ms" for case in CASES if case.endswith("-ms")}, cases=CASES,
    peers=["torch"], repeats=3)
