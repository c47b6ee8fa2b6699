from harness.catalog import Benchmark
from models.encoder_flops import forward_flops

BENCHMARK = Benchmark(
    name="train-encoder",
    about="one training step of a transformer encoder (6 x 384, 12 heads), AdamW",
    unit="ms", cases=["8x128", "2x128", "8x512"], peers=["torch"],
    floor=lambda case, machine: 3e3 * forward_flops(case) / machine.flops)
