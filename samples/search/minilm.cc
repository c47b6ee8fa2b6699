// Makes a model of MiniLM, a small BERT (Apache-2.0, from its package): a graph by hand, and its
// weights from the safetensors file of the package.
//
//   minilm model.safetensors MODEL.hrg
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include <headrace/headrace.hpp>

namespace {

constexpr int64_t kVocabulary = 30522, kPlaces = 512, kWidth = 384, kInner = 1536;
constexpr int kLayers = 6, kHeads = 12;

// Variables have the names of the file.
class Builder {
 public:
  explicit Builder(const hr::Env& env) : env_(env), graph_(env) {}

  hr::Graph build() && {
    const hr_value tokens = input("input_ids"), mask = input("attention_mask"),
                   kinds = input("token_type_ids");
    hr_value x = embedded(tokens, kinds);
    const hr_value seen = attended(mask);
    for (int i = 0; i < kLayers; ++i) {
      x = layer("encoder.layer." + std::to_string(i), x, seen);
    }
    graph_.signature_output("infer", "last_hidden_state", x);
    return std::move(graph_);
  }

 private:
  hr_value input(const std::string& name) {
    const hr_value out = graph_.input(name, HR_INT64, {-1, -1}, {"batch", "sequence"});
    graph_.signature_input("infer", name, out);
    return out;
  }
  // Its values come with the import.
  hr_value weight(const std::string& name, const std::vector<int64_t>& dims) {
    return graph_.read(graph_.variable(name, hr::Tensor(env_, HR_FLOAT32, dims)));
  }
  hr_value axes(const std::string& values) {
    return graph_.op("Constant", {}, "value_ints=" + values);
  }
  hr_value add(hr_value a, hr_value b) { return graph_.op("Add", {a, b}); }

  // Weights are [to, from] in the file.
  hr_value dense(const std::string& name, hr_value x, int64_t from, int64_t to) {
    const hr_value turned = graph_.op("Transpose", {weight(name + ".weight", {to, from})});
    return add(graph_.op("MatMul", {x, turned}), weight(name + ".bias", {to}));
  }
  hr_value normalized(const std::string& name, hr_value x) {
    return graph_.op("LayerNormalization",
                     {x, weight(name + ".weight", {kWidth}), weight(name + ".bias", {kWidth})},
                     "axis=-1 epsilon=1e-12");
  }

  // What a token is, where it stands, and to which of two texts it belongs.
  hr_value embedded(hr_value tokens, hr_value kinds) {
    const hr_value table = weight("embeddings.word_embeddings.weight", {kVocabulary, kWidth});
    const hr_value places = weight("embeddings.position_embeddings.weight", {kPlaces, kWidth});
    const hr_value texts = weight("embeddings.token_type_embeddings.weight", {2, kWidth});
    const hr_value length = graph_.op("Shape", {tokens}, "start=1 end=2");
    const hr_value first = graph_.op("Slice", {places, axes("0"), length});
    const hr_value what =
        add(graph_.op("Gather", {table, tokens}), graph_.op("Gather", {texts, kinds}));
    return normalized("embeddings.LayerNorm", add(what, first));
  }
  // bool [batch, 1, 1, sequence]: nobody looks at what fills a text up.
  hr_value attended(hr_value mask) {
    return graph_.op("Unsqueeze", {graph_.op("Cast", {mask}, "to=9"), axes("1,2")});
  }

  hr_value layer(const std::string& name, hr_value x, hr_value seen) {
    const std::string self = name + ".attention.self.", heads = std::to_string(kHeads);
    const hr_value mixed =
        graph_.op("Attention",
                  {dense(self + "query", x, kWidth, kWidth), dense(self + "key", x, kWidth, kWidth),
                   dense(self + "value", x, kWidth, kWidth), seen},
                  "q_num_heads=" + heads + " kv_num_heads=" + heads);
    const hr_value told = dense(name + ".attention.output.dense", mixed, kWidth, kWidth);
    x = normalized(name + ".attention.output.LayerNorm", add(x, told));
    const hr_value wide =
        graph_.op("Gelu", {dense(name + ".intermediate.dense", x, kWidth, kInner)});
    const hr_value thought = dense(name + ".output.dense", wide, kInner, kWidth);
    return normalized(name + ".output.LayerNorm", add(x, thought));
  }

  const hr::Env& env_;
  hr::Graph graph_;
};

// The file also has the numbers 0 to 511, and a layer on top that sentences do not need.
constexpr char kNames[] =
    R"({"embeddings.position_ids": null, "pooler.dense.weight": null, "pooler.dense.bias": null})";

void make(const std::string& weights, const std::string& model) {
  const hr::Env env;
  const hr::Session session{hr::Model(Builder(env).build())};
  hr_weights_options options{};
  options.struct_size = sizeof options;
  options.names = kNames;
  hr::check(hr_session_import_weights(session.get(), weights.c_str(), &options, nullptr, nullptr));
  session.save_model(model, {"infer"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: minilm model.safetensors MODEL.hrg\n");
    return 2;
  }
  try {
    make(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "minilm: %s\n", error.what());
    return 1;
  }
}
