// Sound files.
#ifndef HEADRACE_SAMPLES_VOICE_WAV_H_
#define HEADRACE_SAMPLES_VOICE_WAV_H_

#include <string>
#include <vector>

struct Sound {
  int rate = 0;                // samples a second
  std::vector<float> samples;  // from -1 to 1; the mean of all channels
};

// Reads a WAV file of 8, 16, 24 or 32 bits, or of 32-bit floats. Throws std::runtime_error with
// what is wrong.
Sound read_wav(const std::string& path);

// The same sound at another rate: filtered to what that can hold (a sinc under a Hann window), so
// that nothing folds back.
Sound resampled(const Sound& sound, int rate);

#endif
