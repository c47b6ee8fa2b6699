from harness.catalog import Benchmark

# KERNEL/STRIDE-CHANNELS-IMAGE; padded by half a kernel.
CONVOLUTIONS = [
    "3x3/1-1x16-28", "3x3/1-4x16-28", "3x3/1-16x32-16", "3x3/1-64x64-16", "3x3/1-64x64-56",
    "3x3/1-64x128-16", "3x3/1-128x128-28", "3x3/1-256x256-14", "3x3/1-512x512-7",
    "5x5/1-1x20-28", "5x5/1-4x8-28", "5x5/1-20x50-12", "5x5/1-20x50-14", "5x5/1-64x64-14",
    "5x5/1-192x64-14",
    "5x5/1-256x256-14", "7x7/1-3x16-28", "7x7/1-16x16-28", "7x7/1-64x64-28", "7x7/1-128x128-14",
    "7x7/2-3x64-64", "3x3/2-64x128-28", "3x3/2-256x512-14", "1x1/1-64x256-14", "1x1/1-512x512-7",
]

# The ratio is theirs / ours; the aim is 1/8 where ours runs Winograd, 1/4 elsewhere. Batch 4 runs
# on plain images, batch 16 on batch-blocked ones.
BENCHMARK = Benchmark(
    name="conv-accuracy", about="rounding errors of convolutions, rms(error) / rms(result)",
    unit="of the result",
    cases=[f"{convolution}-batch{batch}-{what}" for convolution in CONVOLUTIONS
           for batch in (4, 16) for what in ("forward", "data", "weights")],
    peers=["torch"], warm_up=False, repeats=1)
