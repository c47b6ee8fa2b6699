// An LSTM network (Hochreiter and Schmidhuber 1997) of two layers of 256 units and a classifier of
// the last step, for the benchmarks.
#pragma once

#include "side.h"

enum { kLstmSteps = 64, kLstmInputs = 128 };  // inputs of each step, both ways

// A call of a session of it for `batch` sequences, all inputs bound: one step of Adam.
const char* lstm_call(hr_env* env, int batch, hr_call** out);
