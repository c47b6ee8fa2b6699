from harness.catalog import Benchmark
from models.encoder_flops import forward_flops, product_flops, weight_bytes

# Of the same ONNX on both sides, with products of 8-bit numbers by dynamic quantization. What they
# take at least: four times as many of them as of float32 at once, or a byte of memory a weight.
BENCHMARK = Benchmark(
    name="infer-encoder-int8", unit="ms", cases=["8x128", "1x128", "1x16"], peers=["onnxruntime"],
    about="inference of a transformer encoder (6 x 384, 12 heads), dynamically quantized to int8",
    prepared=True,
    floor=lambda case, machine: 1e3 * max(
        (product_flops(case) / 4 + forward_flops(case) - product_flops(case)) / machine.flops,
        weight_bytes() / 4 / machine.bytes))
