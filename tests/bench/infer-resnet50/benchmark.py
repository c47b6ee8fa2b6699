from harness.networks import row_of_sweep

BENCHMARK = row_of_sweep("infer-resnet50", "inference of ResNet-50 at 224 x 224",
                         "resnet50-224", "infer", [1, 8])
