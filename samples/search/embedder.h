// Sentence embeddings: what a text means, as the direction of a vector. Texts that mean the same
// point the same way.
#ifndef HEADRACE_SAMPLES_EMBEDDER_H_
#define HEADRACE_SAMPLES_EMBEDDER_H_

#include <functional>
#include <string>
#include <vector>

#include <headrace/headrace.hpp>

#include "tokenizer.h"

using Vector = std::vector<float>;

// Adds the embeddings of its texts to a graph of BERT's kind, such as a converted model: float32
// [batch, width], the mean of what the signature `from` gives for the tokens of each text, of
// length
// 1. They become the output "embeddings" of the signature `to`, which has the same inputs.
hr_value add_embeddings(hr::Graph& graph, const std::string& from, const std::string& to);

// Some texts' tokens as inputs of such a graph: input_ids, attention_mask and token_type_ids, int64
// [texts, length of the longest].
struct Batch {
  Batch(const hr::Env& env, const std::vector<std::vector<int64_t>>& texts, size_t longest);
  void bind(hr::Call& call) const;

  hr::Tensor tokens, mask, kinds;
};

class Embedder {
 public:
  // `model` is a file with the signature "infer": input_ids, attention_mask and token_type_ids
  // [batch, sequence] to last_hidden_state [batch, sequence, width].
  Embedder(const hr::Env& env, const std::string& model, const std::string& vocabulary);

  // Returns a vector of length 1 for each text, of which no more than 256 tokens count, as the
  // model's makers say. `done` hears how many texts are done.
  std::vector<Vector> embed(const std::vector<std::string>& texts,
                            const std::function<void(size_t done)>& done = {}) const;

 private:
  const hr::Env& env_;
  Tokenizer tokenizer_;
  hr::Session session_;
};

#endif
