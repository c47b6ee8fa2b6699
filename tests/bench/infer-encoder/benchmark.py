from harness.catalog import Benchmark
from models.encoder_flops import forward_flops, weight_bytes

BENCHMARK = Benchmark(
    name="infer-encoder", about="inference of a transformer encoder (6 x 384, 12 heads)",
    unit="ms", cases=["8x128", "1x128", "1x16"], peers=["onnxruntime"], more_peers=["torch"],
    floor=lambda case, machine: 1e3 * max(forward_flops(case) / machine.flops,
                                          weight_bytes() / machine.bytes))
