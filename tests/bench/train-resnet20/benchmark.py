from harness.networks import row_of_sweep

BENCHMARK = row_of_sweep("train-resnet20", "one training step of ResNet-20 at 32 x 32, SGD with momentum",
                         "resnet20", "train", [64])
