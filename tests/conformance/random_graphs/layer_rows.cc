// Products, convolutions, pools and normalizations.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {

std::string Weights(Draft& draft, DType dtype, Dims dims, double low, double high) {
  return draft.rng().Chance(60) ? draft.Variable(dtype, std::move(dims), low, high)
                                : draft.Leaf(dtype, std::move(dims), low, high);
}

std::string Images(Draft& draft, double low, double high) {
  std::string found = draft.Find([&](const Known& k) {
    return (KindOf(k.dtype) & kReal) != 0 && k.rank() >= 3 && k.rank() <= 5 && k.low >= low &&
           k.high <= high;
  });
  if (!found.empty() && draft.rng().Chance(80)) return found;
  const DType dtype =
      (KindOf(draft.main_type()) & kReal) != 0 ? draft.main_type() : DType::kFloat32;
  const auto side = [&] { return draft.rng().Pick<int64_t>({1, 3, 4, 5, 6, 7}); };
  Dims dims = {draft.batch(), draft.rng().Pick<int64_t>({1, 2, 3, 4, 8, 16}), side(), side()};
  // Now and then large enough for winograd tiles and for two threads.
  if (draft.rng().Chance(12)) dims[2] = dims[3] = draft.rng().Between(8, 15);
  const bool line = draft.rng().Chance(20);
  if (line) dims.pop_back();
  if (!line && draft.rng().Chance(15)) dims.push_back(draft.rng().Between(1, 3));
  return draft.Input(dtype, dims, -2, 2);
}

std::vector<int64_t> Kernel(Draft& draft, const Known& images) {
  std::vector<int64_t> out;
  for (size_t i = 2; i < images.rank(); ++i)
    out.push_back(draft.rng().Between(1, std::min<int64_t>(3, images.dims[i])));
  return out;
}

namespace {

std::string MatMul(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -30, .high = 30, .least_rank = 1});
  if (x.empty()) return "";
  const Known known = draft[x];
  if (known.rank() == 2 && known.dims[0] == known.dims[1] && draft.rng().Chance(50))
    return draft.One(row.op, row.version, {x, x});
  Dims dims = {known.dims.back(), draft.rng().Pick<int64_t>({1, 2, 5, 8, 17, 33})};
  if (draft.rng().Chance(10)) dims.pop_back();
  if (known.rank() > 2 && draft.rng().Chance(40)) {
    dims = {known.dims[known.rank() - 3], known.dims.back(), 3};
  }
  return draft.One(row.op, row.version, {x, Weights(draft, known.dtype, dims)});
}

std::string Gemm(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -30, .high = 30, .least_rank = 2, .most_rank = 2});
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t trans_a = draft.rng().Chance(30), trans_b = draft.rng().Chance(50);
  const int64_t m = known.dims[trans_a != 0 ? 1 : 0], k = known.dims[trans_a != 0 ? 0 : 1];
  const auto n = draft.rng().Pick<int64_t>({1, 2, 5, 8, 16, 17, 33});
  std::vector<std::string> operands = {
      x, Weights(draft, known.dtype, trans_b != 0 ? Dims{n, k} : Dims{k, n})};
  if (draft.rng().Chance(70))
    operands.push_back(
        Weights(draft, known.dtype, draft.rng().Pick<Dims>({{n}, {n}, {m, 1}, {m, n}, {}, {1}})));
  std::vector<NamedAttribute> attributes = {Int("transA", trans_a), Int("transB", trans_b)};
  if (draft.rng().Chance(30)) attributes.push_back(Float("alpha", 0.5));
  if (draft.rng().Chance(30)) attributes.push_back(Float("beta", -0.75));
  std::string y = draft.One(row.op, row.version, operands, attributes);
  return draft.rng().Chance(40) ? draft.One("Relu", 14, {y}) : y;
}

// Strides, pads and dilations for windows of this size.
std::vector<NamedAttribute> Window(Draft& draft, const std::vector<int64_t>& kernel, bool pool) {
  std::vector<NamedAttribute> out;
  std::vector<int64_t> strides, pads;
  for (size_t i = 0; i < kernel.size(); ++i) strides.push_back(draft.rng().Between(1, 2));
  for (size_t i = 0; i < 2 * kernel.size(); ++i)
    pads.push_back(draft.rng().Between(0, std::min<int64_t>(2, kernel[i % kernel.size()] - 1)));
  if (draft.rng().Chance(50)) out.push_back(List("strides", strides));
  if (draft.rng().Chance(40)) {
    out.push_back(List("pads", pads));
  } else if (draft.rng().Chance(30)) {
    out.push_back(String("auto_pad", draft.rng().Chance(50) ? "SAME_UPPER" : "SAME_LOWER"));
  }
  if (pool && draft.rng().Chance(30)) out.push_back(Int("ceil_mode", 1));
  return out;
}

std::string Conv(Draft& draft, const Row& row) {
  const std::string x = Images(draft);
  if (x.empty()) return "";
  const Known images = draft[x];
  const std::vector<int64_t> kernel = Kernel(draft, images);
  const int64_t channels = images.dims[1];
  const int64_t groups =
      channels % 2 == 0 && draft.rng().Chance(25) ? draft.rng().Pick<int64_t>({2, channels}) : 1;
  const int64_t out = groups * draft.rng().Pick<int64_t>({1, 2, 3, 8, 16, 17});
  Dims dims = {out, channels / groups};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  std::vector<std::string> operands = {x, Weights(draft, images.dtype, dims)};
  if (draft.rng().Chance(60)) operands.push_back(Weights(draft, images.dtype, {out}));
  std::vector<NamedAttribute> attributes = Window(draft, kernel, false);
  if (groups != 1) attributes.push_back(Int("group", groups));
  std::string y = draft.One(row.op, row.version, operands, attributes);
  if (!y.empty() && draft[y].dims == images.dims && draft.rng().Chance(60))
    y = draft.One("Add", 14, {y, x});
  if (draft.rng().Chance(50)) y = draft.One("Relu", 14, {y});
  return y;
}

std::string Pool(Draft& draft, const Row& row) {
  const std::string x = Images(draft, -1e4, 1e4);
  if (x.empty()) return "";
  const std::vector<int64_t> kernel = Kernel(draft, draft[x]);
  std::vector<NamedAttribute> attributes = Window(draft, kernel, true);
  attributes.push_back(List("kernel_shape", kernel));
  const bool largest = std::string(row.op) == "MaxPool";
  const bool average = std::string(row.op) == "AveragePool";
  if (average && draft.rng().Chance(40)) attributes.push_back(Int("count_include_pad", 1));
  const auto names =
      draft.Node(row.op, row.version, {x}, largest && draft.rng().Chance(20) ? 2 : 1, attributes);
  return names.empty() ? "" : names[0];
}

std::string LpPool(Draft& draft, const Row& row) {
  const std::string x = Images(draft, -1e4, 1e4);
  if (x.empty()) return "";
  const std::vector<int64_t> kernel = Kernel(draft, draft[x]);
  std::vector<NamedAttribute> attributes = Window(draft, kernel, row.version >= 18);
  attributes.push_back(List("kernel_shape", kernel));
  if (draft.rng().Chance(60)) attributes.push_back(Int("p", draft.rng().Between(1, 3)));
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string GlobalLpPool(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {Images(draft, -1e4, 1e4)},
                   {Int("p", draft.rng().Between(1, 3))});
}

std::string GlobalPool(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {Images(draft, -1e4, 1e4)});
}

std::string BatchNormalization(Draft& draft, const Row& row) {
  const std::string x = Images(draft, -100, 100);
  if (x.empty()) return "";
  const Known images = draft[x];
  const Dims channels = {images.dims[1]};
  const std::vector<std::string> operands = {x, Weights(draft, images.dtype, channels, 0.5, 1.5),
                                             Weights(draft, images.dtype, channels),
                                             draft.Variable(images.dtype, channels, -0.5, 0.5),
                                             draft.Variable(images.dtype, channels, 0.5, 1.5)};
  // One value a channel has no spread to divide by.
  const bool training =
      row.version >= 14 && ElementCount(images.dims) > 4 * channels[0] && draft.rng().Chance(60);
  std::vector<NamedAttribute> attributes;
  if (training) attributes.push_back(Int("training_mode", 1));
  if (draft.rng().Chance(30)) attributes.push_back(Float("momentum", 0.75));
  const auto names = draft.Node(row.op, row.version, operands,
                                training && draft.rng().Chance(70) ? 3 : 1, attributes);
  return names.empty() ? "" : names[0];
}

std::string LayerNormalization(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -100, .high = 100, .least_rank = 1});
  if (x.empty()) return "";
  const Known known = draft[x];
  const auto axis = static_cast<int64_t>(draft.rng().Index(known.rank()));
  const Dims row_dims(known.dims.begin() + axis, known.dims.end());
  std::vector<std::string> operands = {x, Weights(draft, known.dtype, row_dims, 0.5, 1.5)};
  if (draft.rng().Chance(60)) operands.push_back(Weights(draft, known.dtype, row_dims));
  const auto names = draft.Node(row.op, row.version, operands, draft.rng().Chance(20) ? 3 : 1,
                                {Int("axis", axis)});
  return names.empty() ? "" : names[0];
}

std::string GroupNormalization(Draft& draft, const Row& row) {
  const std::string x = Images(draft, -100, 100);
  if (x.empty()) return "";
  const Known images = draft[x];
  const int64_t channels = images.dims[1];
  int64_t groups = draft.rng().Pick<int64_t>({1, 2, 4, channels});
  if (channels % groups != 0) groups = 1;
  // A few values that happen to be near each other have no spread to divide by.
  if (ElementCount(images.dims) <= 4 * images.dims[0] * groups) groups = 1;
  if (ElementCount(images.dims) <= 4 * images.dims[0]) return "";
  return draft.One(row.op, row.version,
                   {x, Weights(draft, images.dtype, {channels}, 0.5, 1.5),
                    Weights(draft, images.dtype, {channels})},
                   {Int("num_groups", groups)});
}

// RNN, GRU or LSTM over what has three axes.
std::string Recurrent(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.low = -4, .high = 4, .least_rank = 3, .most_rank = 3});
  if (x.empty()) return "";
  Rng& rng = draft.rng();
  const Known known = draft[x];
  if (ElementCount(known.dims) == 0 || ElementCount(known.dims) > 2000) return "";
  const std::string cell = row.op;
  const int64_t gates = cell == "LSTM" ? 4 : cell == "GRU" ? 3 : 1;
  const int64_t hidden = rng.Pick<int64_t>({1, 2, 3, 5, 8}), ways = rng.Chance(40) ? 2 : 1;
  const bool batch_first = row.version >= 14 && rng.Chance(50);
  const int64_t batch = known.dims[batch_first ? 0 : 1], steps = known.dims[batch_first ? 1 : 0];
  const Dims state = batch_first ? Dims{batch, ways, hidden} : Dims{ways, batch, hidden};
  const auto perhaps = [&](const Dims& dims) {
    return rng.Chance(50) ? Weights(draft, known.dtype, dims, -0.5, 0.5) : std::string();
  };
  std::vector<std::string> operands = {
      x, Weights(draft, known.dtype, {ways, gates * hidden, known.dims[2]}, -0.5, 0.5),
      Weights(draft, known.dtype, {ways, gates * hidden, hidden}, -0.5, 0.5),
      perhaps({ways, 2 * gates * hidden})};
  std::vector<double> lengths;
  for (int64_t n = 0; n < batch; ++n) lengths.push_back(static_cast<double>(rng.Between(0, steps)));
  operands.push_back(rng.Chance(30) ? draft.Constant(DType::kInt32, {batch}, lengths) : "");
  operands.push_back(perhaps(state));
  if (gates == 4) operands.insert(operands.end(), {perhaps(state), perhaps({ways, 3 * hidden})});
  std::vector<NamedAttribute> attributes;
  if (batch_first) attributes.push_back(Int("layout", 1));
  if (ways == 2) attributes.push_back(String("direction", "bidirectional"));
  if (ways == 1 && rng.Chance(30)) attributes.push_back(String("direction", "reverse"));
  if (gates == 3 && rng.Chance(50)) attributes.push_back(Int("linear_before_reset", 1));
  if (gates == 4 && rng.Chance(30)) attributes.push_back(Int("input_forget", 1));
  if (rng.Chance(20)) attributes.push_back(Float("clip", 0.75));
  while (operands.back().empty()) operands.pop_back();
  const auto names =
      draft.Node(row.op, row.version, operands, gates == 4 ? 3 : 2, std::move(attributes));
  return names.empty() ? "" : names[static_cast<size_t>(rng.Between(0, gates == 4 ? 2 : 1))];
}

// The first operand is a value, if its axes fit; the others follow from its sizes.
std::string Einsum(Draft& draft, const Row& row) {
  static const char* const kEquations[] = {
      "ij->ji",          "ij->",         "ij->j",          "ij,jk->ik",    "ij,kj->ki",
      "ij,ij->i",        "ij,k->jik",    "ij,jk",          "i,ij,j",       "i,j",
      "bij,bjk->bik",    "bij,bkj->bki", "bij->ib",        "bij,jk,k->bi", "bhqd,bhkd->bhqk",
      "bqhd,bkhd->bhqk", "bijd,dij->b",  "ijk,kjl->il",    "ii->i",        "iji->j",
      "abij,ii->baj",    "ij,jk,kl->il", "abc,adc,ae->bde"};
  const std::string equation =
      draft.rng().Pick<std::string>({std::begin(kEquations), std::end(kEquations)});
  const std::string left = equation.substr(0, equation.find("->"));
  std::map<char, int64_t> sizes;
  std::vector<std::string> operands;
  const size_t first = std::min(left.find(','), left.size());
  const std::string x = draft.Operand(
      {.types = row.types, .low = -50, .high = 50, .least_rank = first, .most_rank = first});
  if (x.empty()) return "";
  const Known known = draft[x];
  if (ElementCount(known.dims) > 3000 || ElementCount(known.dims) == 0) return "";
  bool fits = true;
  for (size_t i = 0; i < first; ++i) {
    fits &= sizes.try_emplace(left[i], known.dims[i]).first->second == known.dims[i];
  }
  std::string term;
  for (const char c : left + ',') {
    if (c != ',') {
      term += c;
      continue;
    }
    Dims dims;
    for (const char letter : term) {
      dims.push_back(sizes.try_emplace(letter, draft.rng().Between(1, 4)).first->second);
    }
    operands.push_back(operands.empty() && fits ? x : Weights(draft, known.dtype, dims));
    term.clear();
  }
  return draft.One(row.op, row.version, operands, {String("equation", equation)});
}

std::string CausalConv(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.low = -30, .high = 30, .least_rank = 3, .most_rank = 3});
  if (x.empty()) return "";
  const Known known = draft[x];
  if (ElementCount(known.dims) == 0) return "";
  Rng& rng = draft.rng();
  const int64_t channels = known.dims[1], kernel = rng.Between(1, 5);
  std::vector<std::string> operands = {x, Weights(draft, known.dtype, {channels, 1, kernel})};
  operands.push_back(rng.Chance(50) ? Weights(draft, known.dtype, {channels}) : "");
  if (rng.Chance(50) && kernel > 1) {
    operands.push_back(Weights(draft, known.dtype, {known.dims[0], channels, kernel - 1}));
  }
  while (operands.back().empty()) operands.pop_back();
  const auto names =
      draft.Node(row.op, row.version, operands, 2,
                 {String("activation", rng.Pick<std::string>({"none", "silu", "swish"}))});
  return names.empty() ? "" : names[rng.Chance(80) ? 0 : 1];
}

std::string LinearAttention(Draft& draft, const Row& row) {
  Rng& rng = draft.rng();
  const std::string x = draft.Operand({.low = -2, .high = 2, .least_rank = 3, .most_rank = 3});
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t n = known.dims[0], steps = known.dims[1];
  if (ElementCount(known.dims) == 0 || steps > 20) return "";
  // x is the values of all heads; the others are as small as keeps the state small.
  const int64_t heads = known.dims[2] % 2 == 0 ? rng.Between(1, 2) : 1, group = rng.Between(1, 2);
  const int64_t keys = rng.Between(1, 4);
  const bool decay = rng.Chance(50), beta = rng.Chance(50);
  const auto leaf = [&](const Dims& dims, double low, double high) {
    return Weights(draft, known.dtype, dims, low, high);
  };
  std::vector<std::string> operands = {leaf({n, steps, heads * group * keys}, -0.5, 0.5),
                                       leaf({n, steps, heads * keys}, -0.5, 0.5), x};
  const Dims state = {n, heads, keys, known.dims[2] / heads};
  operands.push_back(rng.Chance(50) ? leaf(state, -0.5, 0.5) : "");
  operands.push_back(decay ? leaf({n, steps, rng.Chance(50) ? heads : heads * keys}, -0.7, -0.1)
                           : "");
  operands.push_back(beta ? leaf({n, steps, rng.Chance(50) ? heads : 1}, 0.1, 0.9) : "");
  while (operands.back().empty()) operands.pop_back();
  const char* const rule = decay ? (beta ? "gated_delta" : "gated") : beta ? "delta" : "linear";
  const auto names = draft.Node(
      row.op, row.version, operands, 2,
      {Int("q_num_heads", heads * group), Int("kv_num_heads", heads), String("update_rule", rule)});
  return names.empty() ? "" : names[rng.Chance(70) ? 0 : 1];
}

const Row kLayerRows[] = {
    {"MatMul", 13, MatMul, kReal, 0, 0, 4},
    {"Gemm", 13, Gemm, kReal, 0, 0, 4},
    {"Conv", 11, Conv, kReal, 0, 0, 6},
    {"MaxPool", 12, Pool, kReal, 0, 0, 3},
    {"AveragePool", 11, Pool, kReal},
    {"AveragePool", 19, Pool, kReal},
    {"LinearAttention", 27, LinearAttention},
    {"CausalConvWithState", 27, CausalConv},
    {"Einsum", 12, Einsum, kFloats | kWords, 0, 0, 3},
    {"RNN", 7, Recurrent},
    {"RNN", 14, Recurrent},
    {"GRU", 7, Recurrent},
    {"GRU", 14, Recurrent, kFloats, 0, 0, 2},
    {"LSTM", 7, Recurrent},
    {"LSTM", 14, Recurrent, kFloats, 0, 0, 2},
    {"LpPool", 11, LpPool},
    {"LpPool", 18, LpPool},
    {"GlobalLpPool", 2, GlobalLpPool},
    {"GlobalAveragePool", 1, GlobalPool},
    {"GlobalMaxPool", 1, GlobalPool},
    {"BatchNormalization", 9, BatchNormalization},
    {"BatchNormalization", 15, BatchNormalization, kReal, 0, 0, 2},
    {"LayerNormalization", 17, LayerNormalization, kReal, 0, 0, 3},
    {"GroupNormalization", 21, GroupNormalization, kReal, 0, 0, 2},
};

}  // namespace

std::span<const Row> LayerRows() { return kLayerRows; }

}  // namespace hr::random_graphs
