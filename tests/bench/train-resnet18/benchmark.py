from harness.networks import row_of_sweep

BENCHMARK = row_of_sweep("train-resnet18", "one training step of ResNet-18 at 64 x 64, SGD with momentum",
                         "resnet18", "train", [8, 32])
