// Layers that are composed of other operators: attention, transposed convolutions, normalizations,
// and images whose pixels become channels.
#include <numeric>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

int64_t AnyDivisor(Draft& draft, int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i) {
    if (number % i == 0) divisors.push_back(i);
  }
  return draft.rng().Pick(divisors);
}

// What an attention is about.
struct Heads {
  int64_t batch, query_heads, key_heads, queries, keys, past, size, value_size;
  int64_t positions() const { return past + keys; }
};

// [batch, heads, positions, size], or with the heads joined as rank 3.
Dims HeadDims(bool joined, int64_t batch, int64_t heads, int64_t positions, int64_t size) {
  return joined ? Dims{batch, positions, heads * size} : Dims{batch, heads, positions, size};
}

// Position 0 is always seen, so that something is.
std::string Mask(Draft& draft, DType dtype, const Heads& of) {
  const int64_t seen =
      draft.rng().Chance(15) ? draft.rng().Between(1, of.positions()) : of.positions();
  const Dims dims = draft.rng().Pick<Dims>({{of.queries, seen},
                                            {1, seen},
                                            {of.batch, 1, of.queries, seen},
                                            {1, of.query_heads, 1, seen},
                                            {of.batch, of.query_heads, of.queries, seen}});
  if (draft.rng().Chance(50)) return draft.Leaf(dtype, dims, -3, 3);
  std::vector<double> values;
  for (int64_t i = 0; i < ElementCount(dims); ++i) {
    values.push_back(i % seen == 0 || draft.rng().Chance(60) ? 1 : 0);
  }
  return draft.Constant(DType::kBool, dims, std::move(values));
}

std::string KeyLengths(Draft& draft, const Heads& of) {
  std::vector<double> lengths;
  for (int64_t i = 0; i < of.batch; ++i) {
    lengths.push_back(static_cast<double>(draft.rng().Between(1, of.positions())));
  }
  return draft.Constant(DType::kInt64, {of.batch}, std::move(lengths));
}

std::string Attention(Draft& draft, const Row& row) {
  const std::string q =
      draft.Operand({.types = row.types, .low = -5, .high = 5, .least_rank = 3, .most_rank = 4});
  if (q.empty()) return "";
  const Known known = draft[q];
  const bool joined = known.rank() == 3;
  Heads of{};
  of.batch = known.dims[0];
  of.query_heads = joined ? AnyDivisor(draft, known.dims[2]) : known.dims[1];
  of.key_heads = draft.rng().Chance(50) ? of.query_heads : AnyDivisor(draft, of.query_heads);
  of.queries = known.dims[joined ? 1 : 2];
  of.size = joined ? known.dims[2] / of.query_heads : known.dims[3];
  of.keys = draft.rng().Chance(50) ? of.queries : draft.rng().Between(1, 6);
  of.value_size = draft.rng().Chance(50) ? of.size : draft.rng().Between(1, 5);
  std::string k = q, v = q;
  if (of.key_heads != of.query_heads || of.keys != of.queries || draft.rng().Chance(60)) {
    k = draft.Leaf(known.dtype, HeadDims(joined, of.batch, of.key_heads, of.keys, of.size));
    v = draft.Leaf(known.dtype, HeadDims(joined, of.batch, of.key_heads, of.keys, of.value_size));
  } else {
    of.value_size = of.size;
  }
  std::vector<std::string> operands = {q, k, v, "_", "_", "_", "_"};
  if (draft.rng().Chance(30)) {
    of.past = draft.rng().Between(1, 3);
    operands[4] = draft.Leaf(known.dtype, {of.batch, of.key_heads, of.past, of.size});
    operands[5] = draft.Leaf(known.dtype, {of.batch, of.key_heads, of.past, of.value_size});
  }
  if (draft.rng().Chance(40)) operands[3] = Mask(draft, known.dtype, of);
  if (of.past == 0 && draft.rng().Chance(15)) operands[6] = KeyLengths(draft, of);
  while (operands.back() == "_") operands.pop_back();
  std::vector<NamedAttribute> attributes;
  if (joined) {
    attributes = {Int("q_num_heads", of.query_heads), Int("kv_num_heads", of.key_heads)};
  }
  if (draft.rng().Chance(35)) attributes.push_back(Int("is_causal", 1));
  if (draft.rng().Chance(30)) attributes.push_back(Float("scale", 0.625));
  if (draft.rng().Chance(30)) attributes.push_back(Float("softcap", 2.5));
  const auto outputs = draft.rng().Pick<size_t>({1, 1, 1, 3, 4});
  if (outputs == 4) attributes.push_back(Int("qk_matmul_output_mode", draft.rng().Between(0, 3)));
  const auto names = draft.Node(row.op, row.version, operands, outputs, attributes);
  return names.empty() ? "" : names[0];
}

std::string RotaryEmbedding(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(
      {.types = row.types, .low = -100, .high = 100, .least_rank = 3, .most_rank = 4});
  if (x.empty()) return "";
  const Known known = draft[x];
  std::vector<NamedAttribute> attributes;
  int64_t size = known.dims.back(), positions = known.dims[known.rank() - 2];
  if (known.rank() == 3) {
    const int64_t heads = AnyDivisor(draft, size);
    size /= heads;
    attributes.push_back(Int("num_heads", heads));
  }
  int64_t turned = size;
  if (size % 2 != 0 || draft.rng().Chance(30)) turned = draft.rng().Between(0, size / 2) * 2;
  if (size % 2 != 0 && turned == 0) return "";
  if (turned != size) attributes.push_back(Int("rotary_embedding_dim", turned));
  const int64_t pairs = (turned == 0 ? size : turned) / 2;
  if (draft.rng().Chance(50)) attributes.push_back(Int("interleaved", 1));
  std::vector<std::string> operands = {x, "", ""};
  const bool by_position = draft.rng().Chance(60);
  const int64_t most = draft.rng().Between(1, 9);
  for (size_t i : {1, 2}) {
    operands[i] =
        draft.Leaf(known.dtype,
                   by_position ? Dims{most, pairs} : Dims{known.dims[0], positions, pairs}, -1, 1);
  }
  if (by_position) {
    Data data{.dtype = DType::kInt64,
              .dims = {known.dims[0], positions},
              .kind = "integers",
              .low = 0,
              .high = static_cast<double>(most - 1),
              .seed = draft.rng().Next()};
    operands.push_back(draft.Special(std::move(data)));
  }
  return draft.One(row.op, row.version, operands, attributes);
}

std::string ConvTranspose(Draft& draft, const Row& row) {
  const std::string x = Images(draft);
  if (x.empty()) return "";
  const Known images = draft[x];
  if (ElementCount(images.dims) > 4000) return "";
  const int64_t groups = draft.rng().Chance(30) ? AnyDivisor(draft, images.dims[1]) : 1;
  const int64_t out = draft.rng().Pick<int64_t>({1, 2, 3, 5, 8});
  Dims dims = {images.dims[1], out};
  std::vector<int64_t> strides, dilations, kernel, more, shape;
  for (size_t i = 2; i < images.rank(); ++i) {
    kernel.push_back(draft.rng().Between(1, 3));
    strides.push_back(draft.rng().Between(1, 3));
    dilations.push_back(draft.rng().Between(1, 2));
    more.push_back(draft.rng().Between(0, strides.back() - 1));
    const int64_t most =
        (images.dims[i] - 1) * strides.back() + (kernel.back() - 1) * dilations.back() + 1;
    shape.push_back(draft.rng().Between(std::max<int64_t>(1, most - 3), most + 2));
  }
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  std::vector<std::string> operands = {x, Weights(draft, images.dtype, dims)};
  if (draft.rng().Chance(50)) operands.push_back(Weights(draft, images.dtype, {groups * out}));
  std::vector<NamedAttribute> attributes = {List("strides", strides)};
  if (draft.rng().Chance(50)) attributes.push_back(List("dilations", dilations));
  if (draft.rng().Chance(40)) attributes.push_back(List("output_padding", more));
  if (draft.rng().Chance(50)) attributes.push_back(List("kernel_shape", kernel));
  if (groups != 1) attributes.push_back(Int("group", groups));
  const int64_t how = draft.rng().Between(0, 9);
  if (how < 3) {
    std::vector<int64_t> pads(2 * kernel.size());
    for (int64_t& pad : pads) pad = draft.rng().Between(0, 1);
    attributes.push_back(List("pads", pads));
  }
  if (how == 3) attributes.push_back(List("output_shape", shape));
  if (how > 6) {
    attributes.push_back(
        String("auto_pad", draft.rng().Pick({"SAME_UPPER", "SAME_LOWER", "VALID"})));
  }
  return draft.One(row.op, row.version, operands, attributes);
}

std::string RmsNormalization(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -100, .high = 100, .least_rank = 1});
  if (x.empty()) return "";
  const Known known = draft[x];
  const auto axis = static_cast<int64_t>(draft.rng().Index(known.rank()));
  const Dims rows(known.dims.begin() + axis, known.dims.end());
  return draft.One(row.op, row.version, {x, Weights(draft, known.dtype, rows, 0.5, 1.5)},
                   {Int("axis", axis)});
}

std::string LpNormalization(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -100, .high = 100, .least_rank = 1});
  if (x.empty()) return "";
  const auto axis = static_cast<int64_t>(draft.rng().Index(draft[x].rank()));
  return draft.One(row.op, row.version, {x},
                   {Int("axis", axis), Int("p", draft.rng().Between(1, 2))});
}

// Channels of a few values have no spread to divide by.
std::string Spread(Draft& draft) {
  const std::string x = Images(draft, -100, 100);
  if (x.empty()) return "";
  const Dims& dims = draft[x].dims;
  return ElementCount(dims) <= 4 * dims[0] * dims[1] ? "" : x;
}

std::string MeanVarianceNormalization(Draft& draft, const Row& row) {
  const std::string x = Spread(draft);
  if (x.empty()) return "";
  std::vector<int64_t> axes(draft[x].rank() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  if (axes.size() == 2 && draft.rng().Chance(50)) return draft.One(row.op, row.version, {x});
  if (draft.rng().Chance(40)) axes.push_back(draft.rng().Between(0, 1));
  return draft.One(row.op, row.version, {x}, {List("axes", axes)});
}

std::string InstanceNormalization(Draft& draft, const Row& row) {
  const std::string x = Spread(draft);
  if (x.empty()) return "";
  const Known images = draft[x];
  const Dims channels = {images.dims[1]};
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(50)) attributes.push_back(Float("epsilon", 0.0078125));
  return draft.One(
      row.op, row.version,
      {x, Weights(draft, images.dtype, channels, 0.5, 1.5), Weights(draft, images.dtype, channels)},
      attributes);
}

// A scale and a bias for each group.
std::string GroupNormalization(Draft& draft, const Row& row) {
  const std::string x = Spread(draft);
  if (x.empty()) return "";
  const Known images = draft[x];
  const int64_t groups = AnyDivisor(draft, images.dims[1]);
  return draft.One(
      row.op, row.version,
      {x, Weights(draft, images.dtype, {groups}, 0.5, 1.5), Weights(draft, images.dtype, {groups})},
      {Int("num_groups", groups)});
}

std::string Lrn(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -30, .high = 30, .least_rank = 2});
  if (x.empty()) return "";
  std::vector<NamedAttribute> attributes = {Int("size", draft.rng().Between(1, 6))};
  if (draft.rng().Chance(60)) attributes.push_back(Float("alpha", 0.25));
  if (draft.rng().Chance(50)) attributes.push_back(Float("beta", 0.625));
  if (draft.rng().Chance(50)) attributes.push_back(Float("bias", 1.5));
  return draft.One(row.op, row.version, {x}, attributes);
}

// Of any images, or of some whose channels are blocks.
std::string DepthToSpace(Draft& draft, const Row& row) {
  const int64_t block = draft.rng().Between(1, 3);
  std::string x = draft.Find([&](const Known& k) {
    return (KindOf(k.dtype) & row.types) != 0 && k.rank() == 4 && k.dims[1] % (block * block) == 0;
  });
  if (x.empty()) {
    x = draft.Leaf(draft.AnyType(row.types),
                   {draft.batch(), block * block * draft.rng().Between(1, 2),
                    draft.rng().Between(1, 4), draft.rng().Between(1, 4)});
  }
  std::vector<NamedAttribute> attributes = {Int("blocksize", block)};
  if (draft.rng().Chance(60)) {
    attributes.push_back(String("mode", draft.rng().Chance(70) ? "CRD" : "DCR"));
  }
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string SpaceToDepth(Draft& draft, const Row& row) {
  const int64_t block = draft.rng().Between(1, 3);
  std::string x = draft.Find([&](const Known& k) {
    return (KindOf(k.dtype) & row.types) != 0 && k.rank() == 4 && k.dims[2] % block == 0 &&
           k.dims[3] % block == 0;
  });
  if (x.empty()) {
    x = draft.Leaf(draft.AnyType(row.types),
                   {draft.batch(), draft.rng().Between(1, 3), block * draft.rng().Between(1, 3),
                    block * draft.rng().Between(1, 3)});
  }
  return draft.One(row.op, row.version, {x}, {Int("blocksize", block)});
}

std::string CenterCropPad(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 1, .most_rank = 4});
  if (x.empty()) return "";
  std::vector<int64_t> axes(draft[x].rank()), sizes;
  std::iota(axes.begin(), axes.end(), 0);
  if (draft.rng().Chance(60)) axes.resize(draft.rng().Index(axes.size()) + 1);
  for (int64_t axis : axes) {
    const int64_t size = draft[x].dims[static_cast<size_t>(axis)];
    sizes.push_back(draft.rng().Between(std::max<int64_t>(1, size - 3), size + 3));
  }
  if (draft.rng().Chance(30)) axes.back() -= static_cast<int64_t>(draft[x].rank());
  return draft.One(row.op, row.version, {x, draft.Ints(sizes)}, {List("axes", axes)});
}

std::string Hardmax(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 1});
  if (x.empty()) return "";
  const auto axis = static_cast<int64_t>(draft.rng().Index(draft[x].rank()));
  return draft.One(row.op, row.version, {x}, {Int("axis", axis)});
}

const Row kComposedLayerRows[] = {
    {"Attention", 23, Attention, kReal, 0, 0, 3},
    {"Attention", 24, Attention, kReal, 0, 0, 3},
    {"RotaryEmbedding", 23, RotaryEmbedding, kReal, 0, 0, 2},
    {"ConvTranspose", 11, ConvTranspose, kReal, 0, 0, 4},
    {"RMSNormalization", 23, RmsNormalization, kReal, 0, 0, 2},
    {"LpNormalization", 22, LpNormalization},
    {"MeanVarianceNormalization", 13, MeanVarianceNormalization},
    {"InstanceNormalization", 6, InstanceNormalization, kReal, 0, 0, 2},
    {"GroupNormalization", 18, GroupNormalization},
    {"LRN", 13, Lrn},
    {"DepthToSpace", 13, DepthToSpace, kNumbers},
    {"SpaceToDepth", 13, SpaceToDepth, kNumbers},
    {"CenterCropPad", 18, CenterCropPad, kFloats | kWords},
    {"Hardmax", 13, Hardmax},
    {"Hardmax", 1, Hardmax},
};

}  // namespace

std::span<const Row> ComposedLayerRows() { return kComposedLayerRows; }

}  // namespace hr::random_graphs
