// ResNet-18 (He et al., arXiv:1512.03385, table 1) for 1,000 classes, for the benchmarks.
#pragma once

#include "side.h"

enum { kResnetSize = 64 };  // of the images, both ways

// A call of a session of it for `batch` images, all inputs bound. Training: one step of SGD with
// momentum, normalizing by the batch's statistics, which are not kept. Else: the scores,
// normalizing by kept statistics.
const char* resnet18_call(hr_env* env, int batch, int training, hr_call** out);
