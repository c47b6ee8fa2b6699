// Milliseconds of inference of the encoder, always on the same tokens.
#include "models/encoder.h"

static const char* Run(const char* name, int repeats, double* values) {
  return encoder_run(name, 0, repeats, values);
}

int main(void) { return bench_serve(Run); }
