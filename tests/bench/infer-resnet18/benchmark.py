from harness.networks import row_of_sweep

BENCHMARK = row_of_sweep("infer-resnet18", "inference of ResNet-18 at 64 x 64",
                         "resnet18", "infer", [1, 8, 32])
