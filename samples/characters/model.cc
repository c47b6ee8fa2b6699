#include "model.h"

#include <cmath>

namespace {

// One graph on its way. Layers have their weights by name, so both signatures share them.
class Builder {
 public:
  Builder(const hr::Env& env, const Sizes& sizes) : env_(env), graph_(env), sizes_(sizes) {
    tokens_ = graph_.input("tokens", HR_INT64, {-1, -1}, {"batch", "time"});
  }

  hr::Graph build() && {
    const hr_value scores = head(trunk());
    graph_.signature_input("next", "tokens", tokens_);
    graph_.signature_output("next", "scores", scores);

    const hr_value targets = graph_.input("targets", HR_INT64, {-1, -1}, {"batch", "time"});
    const hr_value rate = graph_.input("rate", HR_FLOAT32, {});
    const hr_value by_class = graph_.op("Transpose", {scores}, "perm=0,2,1");
    const hr_value loss = graph_.op("SoftmaxCrossEntropyLoss", {by_class, targets});
    graph_.signature_input("train", "tokens", tokens_);
    graph_.signature_input("train", "targets", targets);
    graph_.signature_input("train", "rate", rate);
    graph_.signature_output("train", "loss", loss);
    graph_.minimize("train", loss, "adam beta2=0.99 weight_decay=0.01 decoupled=1", rate);
    return std::move(graph_);
  }

 private:
  hr_value weight(const std::string& name, const std::vector<int64_t>& dims, double deviation) {
    const std::string attributes = "mean=0 scale=" + std::to_string(deviation);
    return graph_.read(graph_.variable(name, HR_FLOAT32, dims, "RandomNormal", attributes));
  }
  hr_value filled(const std::string& name, int64_t size, float value) {
    const std::vector<float> values(static_cast<size_t>(size), value);
    return graph_.read(graph_.variable(name, hr::Tensor::copy_of(env_, {size}, values)));
  }
  hr_value add(hr_value a, hr_value b) { return graph_.op("Add", {a, b}); }

  hr_value dense(const std::string& name, hr_value x, int64_t from, int64_t to) {
    const hr_value w =
        weight(name + "/weight", {from, to}, 1 / std::sqrt(static_cast<double>(from)));
    return add(graph_.op("MatMul", {x, w}), filled(name + "/bias", to, 0));
  }
  hr_value normalized(const std::string& name, hr_value x) {
    const hr_value scale = filled(name + "/scale", sizes_.width, 1);
    return graph_.op("LayerNormalization", {x, scale, filled(name + "/bias", sizes_.width, 0)});
  }

  hr_value attention(const std::string& name, hr_value x) {
    const hr_value all = dense(name + "/qkv", x, sizes_.width, 3 * sizes_.width);
    const auto parts = graph_.ops("Split", {all}, 3, "axis=2 num_outputs=3");
    const std::string heads = std::to_string(sizes_.heads);
    const hr_value mixed = graph_.op("Attention", {parts[0], parts[1], parts[2]},
                                     "is_causal=1 q_num_heads=" + heads + " kv_num_heads=" + heads);
    return dense(name + "/out", mixed, sizes_.width, sizes_.width);
  }
  hr_value feed_forward(const std::string& name, hr_value x) {
    const hr_value wide = dense(name + "/up", x, sizes_.width, 4 * sizes_.width);
    return dense(name + "/down", graph_.op("Gelu", {wide}), 4 * sizes_.width, sizes_.width);
  }

  // What a token is and where it stands, then the layers.
  hr_value trunk() {
    const hr_value table = weight("tokens/table", {sizes_.vocabulary, sizes_.width}, 0.1);
    const hr_value places = weight("places/table", {sizes_.context, sizes_.width}, 0.1);
    const hr_value time = graph_.op("Shape", {tokens_}, "start=1 end=2");
    const hr_value zero = graph_.op("Constant", {}, "value_ints=0");
    hr_value x =
        add(graph_.op("Gather", {table, tokens_}), graph_.op("Slice", {places, zero, time}));
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      const std::string name = "layer" + std::to_string(i);
      x = add(x, attention(name + "/attention", normalized(name + "/before_attention", x)));
      x = add(x,
              feed_forward(name + "/feed_forward", normalized(name + "/before_feed_forward", x)));
    }
    return x;
  }
  hr_value head(hr_value x) {
    return dense("head", normalized("before_head", x), sizes_.width, sizes_.vocabulary);
  }

  const hr::Env& env_;
  hr::Graph graph_;
  const Sizes sizes_;
  hr_value tokens_;
};

}  // namespace

hr::Graph make_model(const hr::Env& env, const Sizes& sizes) { return Builder(env, sizes).build(); }
