// A small transformer that says which character comes next.
#ifndef HEADRACE_SAMPLES_CHARACTERS_MODEL_H_
#define HEADRACE_SAMPLES_CHARACTERS_MODEL_H_

#include <headrace/headrace.hpp>

struct Sizes {
  int64_t vocabulary;    // different characters
  int64_t context = 64;  // characters that it sees
  int64_t width = 96;
  int64_t heads = 4;
  int64_t layers = 2;
};

// Signatures: "train" (tokens and targets int64 [batch, time], rate; loss, the mean in nats), and
// "next" (tokens; scores float32 [batch, time, vocabulary], of what follows each token).
hr::Graph make_model(const hr::Env& env, const Sizes& sizes);

#endif
