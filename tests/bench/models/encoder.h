// A transformer encoder (Vaswani et al., arXiv:1706.03762; layers as BERT's: normalization after
// the sums, Gelu) of 6 layers of 384 features and 12 heads, for the benchmarks.
#pragma once

#include "side.h"

// A call of a session of it for `batch` sequences of `length` tokens, all inputs bound. Training:
// one step of AdamW of a classifier of the sequences' mean. Else: the scores of the classes.
const char* encoder_call(hr_env* env, int batch, int length, int training, hr_call** out);

// The body of a bench_run: milliseconds of a call, for cases such as "8x128".
const char* encoder_run(const char* name, int training, int repeats, double* values);
