// The LeNet of the benchmarks.
#pragma once

#include "side.h"

// Signatures: "train" (inputs images float32 [batch, 1, 28, 28], labels int64 [batch] and
// learning_rate; output loss) and "infer" (input images; output classes int64 [batch]).
const char* lenet_model(hr_env* env, hr_model** out);

// A session of it, and its training call with the learning rate bound.
const char* lenet_training(hr_env* env, uint64_t seed, hr_session** session, hr_call** train);
