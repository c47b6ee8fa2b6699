from harness.networks import row_of_sweep

BENCHMARK = row_of_sweep("infer-mobilenet", "inference of MobileNetV2 at 224 x 224",
                         "mobilenet-224", "infer", [1, 8])
