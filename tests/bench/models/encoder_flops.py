"""What the encoder of the benchmarks takes at least."""
LAYERS, SIZE, INNER = 6, 384, 1536


def forward_flops(case):
    """Operations of the products of BATCHxLENGTH tokens."""
    batch, length = (int(n) for n in case.split("x"))
    weights = 4 * SIZE * SIZE + 2 * SIZE * INNER
    return 2 * LAYERS * batch * length * (weights + 2 * length * SIZE)


def product_flops(case):
    """Those of products with weights."""
    batch, length = (int(n) for n in case.split("x"))
    return 2 * LAYERS * batch * length * (4 * SIZE * SIZE + 2 * SIZE * INNER)


def weight_bytes():
    return 4 * LAYERS * (4 * SIZE * SIZE + 2 * SIZE * INNER)
