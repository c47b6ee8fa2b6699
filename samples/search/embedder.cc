#include "embedder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace {

constexpr size_t kMost = 256, kBatch = 16;
// Lengths are rounded up to multiples of this, so that few plans serve all batches.
constexpr size_t kStep = 16;

hr::Graph graph_of(const hr::Env& env, const std::string& model) {
  hr::Graph graph(hr::Model::load(env, model));
  add_embeddings(graph, "infer", "embed");
  return graph;
}

}  // namespace

hr_value add_embeddings(hr::Graph& graph, const std::string& from, const std::string& to) {
  const hr_signature_info inputs = graph.signature(graph.find_signature(from));
  std::vector<std::pair<std::string, hr_value>> named;
  for (size_t i = 0; i < inputs.input_count; ++i) {
    named.emplace_back(inputs.input_names[i], inputs.inputs[i]);
  }
  const hr_value hidden = inputs.outputs[0];
  const auto mask = std::find_if(named.begin(), named.end(),
                                 [](const auto& input) { return input.first == "attention_mask"; });
  if (mask == named.end()) throw std::runtime_error("the model has no input attention_mask");
  // The mask as one row for each text, times the rows of its tokens: their sum, and its direction
  // is that of their mean.
  const hr_value row = graph.op("Cast", {mask->second}, "to=1");
  const hr_value axis = graph.constant(hr::Tensor::adopt<int64_t>({1}, {1}));
  const hr_value sum = graph.op("MatMul", {graph.op("Unsqueeze", {row, axis}), hidden});
  const hr_value out =
      graph.op("LpNormalization", {graph.op("Squeeze", {sum, axis})}, "axis=1 p=2");
  for (const auto& [name, value] : named) graph.signature_input(to, name, value);
  graph.signature_output(to, "embeddings", out);
  return out;
}

Batch::Batch(const hr::Env& env, const std::vector<std::vector<int64_t>>& texts, size_t longest)
    : tokens(env, HR_INT64, {static_cast<int64_t>(texts.size()), static_cast<int64_t>(longest)}),
      mask(env, HR_INT64, tokens.dims()),
      kinds(env, HR_INT64, tokens.dims()) {
  for (const hr::Tensor* tensor : {&tokens, &mask, &kinds}) {
    std::memset(tensor->data<int64_t>(), 0, tensor->bytes());
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    std::copy(texts[i].begin(), texts[i].end(), tokens.data<int64_t>() + i * longest);
    std::fill_n(mask.data<int64_t>() + i * longest, texts[i].size(), 1);
  }
}

void Batch::bind(hr::Call& call) const {
  call.bind("input_ids", tokens).bind("attention_mask", mask).bind("token_type_ids", kinds);
}

Embedder::Embedder(const hr::Env& env, const std::string& model, const std::string& vocabulary)
    : env_(env), tokenizer_(vocabulary), session_(hr::Model(graph_of(env, model))) {}

std::vector<Vector> Embedder::embed(const std::vector<std::string>& texts,
                                    const std::function<void(size_t done)>& done) const {
  std::vector<std::vector<int64_t>> tokens;
  for (const std::string& text : texts) tokens.push_back(tokenizer_.tokens(text, kMost));
  std::vector<size_t> order(texts.size());  // of their lengths, so that little is filled up
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tokens[a].size() < tokens[b].size(); });
  std::vector<Vector> out(texts.size());
  hr::Call call(session_, "embed");
  for (size_t first = 0; first < order.size(); first += kBatch) {
    const size_t last = std::min(first + kBatch, order.size());
    std::vector<std::vector<int64_t>> some;
    for (size_t i = first; i < last; ++i) some.push_back(tokens[order[i]]);
    const size_t longest = (some.back().size() + kStep - 1) / kStep * kStep;
    const Batch batch(env_, some, longest);
    batch.bind(call);
    call.run();
    const hr::Tensor result = call.result("embeddings");
    const auto width = static_cast<size_t>(result.dims()[1]);
    for (size_t i = first; i < last; ++i) {
      const float* row = result.data<float>() + (i - first) * width;
      out[order[i]].assign(row, row + width);
    }
    if (done) done(last);
  }
  return out;
}
