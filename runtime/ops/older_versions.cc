// Definitions of older operator sets that differ from today's by more than types and defaults: they
// are inferred as the next newer definition and composed of today's.
#include <algorithm>
#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

// An attribute that became an input: integers as a 1-D tensor, a real number as a scalar of the
// type of input 0.
struct Moved {
  Literal attribute;
  size_t input;
  enum { kInts, kInt, kNumber } kind = kInts;
};

struct OlderVersion {
  Literal name;
  int version;
  Literal newer_name;
  std::span<const Moved> moved;
};

constexpr Moved kOlderAxes[] = {{"axes", 1}};
constexpr Moved kSplit[] = {{"split", 1}};
constexpr Moved kSlice[] = {{"starts", 1}, {"ends", 2}, {"axes", 3}};
constexpr Moved kClip[] = {{"min", 1, Moved::kNumber}, {"max", 2, Moved::kNumber}};
constexpr Moved kPad[] = {{"pads", 1}, {"value", 2, Moved::kNumber}};
constexpr Moved kTopK[] = {{"k", 1, Moved::kInt}};
constexpr Moved kOlderDropout[] = {{"ratio", 1, Moved::kNumber}};

constexpr OlderVersion kOlder[] = {
    {"Squeeze", 1, "Squeeze", kOlderAxes},
    {"Unsqueeze", 1, "Unsqueeze", kOlderAxes},
    {"Split", 2, "Split", kSplit},
    {"Slice", 1, "Slice", kSlice},
    {"Clip", 6, "Clip", kClip},
    {"Pad", 2, "Pad", kPad},
    {"TopK", 1, "TopK", kTopK},
    {"Dropout", 7, "Dropout", kOlderDropout},
    {"Scatter", 9, "ScatterElements", {}},
};

const OlderVersion& Description(const OpDef& def) {
  const auto* found = std::find_if(std::begin(kOlder), std::end(kOlder), [&](const auto& older) {
    return def.name == older.name && def.since_version == older.version;
  });
  return *found;
}

bool IsMoved(const OlderVersion& older, std::string_view attribute) {
  return std::any_of(older.moved.begin(), older.moved.end(),
                     [&](const Moved& moved) { return attribute == moved.attribute; });
}

std::vector<graph::Attribute> Kept(const OlderVersion& older, const Node& node) {
  std::vector<graph::Attribute> kept;
  for (const graph::Attribute& attribute : node.attributes) {
    if (!IsMoved(older, attribute.name)) kept.push_back(attribute);
  }
  return kept;
}

// What an attribute says as an input that inference reads.
struct AsInput {
  ValueType type;
  int64_t number = 0;
  Tensor constant;
};

Status MakeInput(const InferContext& context, const Moved& moved, AsInput* input) {
  if (moved.kind == Moved::kNumber) {
    input->type = ValueType::Tensor(context.input(0).dtype, {});
    return {};
  }
  std::span<const int64_t> values = context.node().Ints(moved.attribute);
  if (moved.kind == Moved::kInt) {
    input->number = context.node().Int(moved.attribute, 0);
    values = std::span(&input->number, 1);
  }
  const auto count = static_cast<int64_t>(values.size());
  input->type = ValueType::Tensor(DType::kInt64, {count});
  BufferRef borrowed = AdoptBuffer(const_cast<int64_t*>(values.data()), values.size_bytes(), {},
                                   nullptr, nullptr, /*read_only=*/true);
  HR_ASSIGN_OR_RETURN(input->constant,
                      Tensor::View(std::move(borrowed), 0, DType::kInt64, {count}));
  return {};
}

Status InferAsNewer(InferContext& context) {
  const OlderVersion& older = Description(context.def());
  Node node = context.node();
  node.attributes = Kept(older, node);
  std::vector<const ValueType*> types;
  std::vector<const Tensor*> constants;
  for (size_t i = 0; i < context.input_count(); ++i) {
    types.push_back(context.has_input(i) ? &context.input(i) : nullptr);
    constants.push_back(context.constant(i));
  }
  std::vector<AsInput> inputs(older.moved.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Moved& moved = older.moved[i];
    types.resize(std::max(types.size(), moved.input + 1));
    constants.resize(types.size());
    if (context.node().Find(moved.attribute) == nullptr) continue;
    HR_RETURN_IF_ERROR(MakeInput(context, moved, &inputs[i]));
    types[moved.input] = &inputs[i].type;
    if (inputs[i].constant.defined()) constants[moved.input] = &inputs[i].constant;
  }
  const OpDef& def = NextBuiltin(older.newer_name, older.version);
  std::vector<ValueType> outputs(context.output_count());
  InferContext newer(def, context.module(), node, types, constants, outputs);
  HR_RETURN_IF_ERROR(def.infer(newer));
  for (size_t i = 0; i < outputs.size(); ++i) context.SetOutput(i, std::move(outputs[i]));
  return {};
}

ValueId InputFrom(ComposeContext& c, const Moved& moved) {
  const graph::AttributeValue* value = c.node().Find(moved.attribute);
  if (value == nullptr) return kNone;
  if (moved.kind == Moved::kNumber) {
    return c.Scalar(c.node().Float(moved.attribute, 0), c.input(0));
  }
  if (moved.kind == Moved::kInt) return c.Ints(std::array{c.node().Int(moved.attribute, 0)});
  const std::span<const int64_t> ints = c.node().Ints(moved.attribute);
  return c.Ints(std::vector<int64_t>(ints.begin(), ints.end()));
}

void ComposeOfNewest(ComposeContext& c) {
  const OlderVersion& older = Description(c.def());
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.input(i));
  for (const Moved& moved : older.moved) {
    inputs.resize(std::max(inputs.size(), moved.input + 1), kNone);
    inputs[moved.input] = InputFrom(c, moved);
  }
  while (inputs.back() == kNone) inputs.pop_back();
  std::vector<graph::Attribute> attributes = Kept(older, c.node());
  const size_t outputs = c.node().outputs.size();
  if (c.def().name == "Split" && inputs.size() == 1) {
    graph::Append(&attributes, {"num_outputs", static_cast<int64_t>(outputs)});
  }
  const std::vector<ValueId> values =
      c.EmitMany(kOnnx, older.newer_name, inputs, outputs, std::move(attributes));
  for (size_t i = 0; i < outputs; ++i) c.SetOutput(i, values[i]);
}

Status InferOverRest(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectAxis(context, 1));
  return InferFloatingUnary(context);
}

// Until version 13 the axes from `axis` on were one.
void ComposeOverRest(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x), axis = c.Axis(c.node().Int("axis", 1), rank);
  const auto last = [&](ValueId value) {
    return c.EmitMany(kOnnx, c.def().name, std::span(&value, 1), 1,
                      graph::Attributes({{"axis", int64_t{-1}}}))[0];
  };
  if (axis + 1 == rank) return c.SetOutput(0, last(x));
  std::vector<ValueId> sizes;
  for (size_t i = 0; i < rank; ++i) sizes.push_back(c.DimOf(x, i));
  const ValueId rows = c.Emit("Flatten", {x}, {{"axis", static_cast<int64_t>(axis)}});
  c.SetOutput(0, c.Emit("Reshape", {last(rows), c.Joined(sizes)}, {{"allowzero", int64_t{1}}}));
}

// Scale and bias are those of groups; later ones are those of channels.
ValueId OfChannels(ComposeContext& c, ValueId of_groups, int64_t groups) {
  const ValueId each = c.Div(c.DimOf(c.input(0), 1), c.Ints(std::array{groups}));
  const ValueId shape = c.Joined(std::array{c.Ints(std::array{groups}), each});
  const ValueId column = c.Emit("Unsqueeze", {of_groups, c.Ints(std::array<int64_t, 1>{1})});
  return c.Emit("Reshape", {c.Emit("Expand", {column, shape}), c.Ints(std::array<int64_t, 1>{-1})});
}

Status InferOlderGroupNormalization(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  const int64_t groups = context.node().Int("num_groups", 0);
  if (groups < 1) {
    return InvalidArgument("GroupNormalization's 'num_groups' is 1 or more, got ", groups);
  }
  for (size_t i : {1, 2}) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 1));
    if (!context.input(i).ranked) continue;
    HR_RETURN_IF_ERROR(EqualDims(context, Cat("groups and ", context.InputText(i)),
                                 FixedDim(groups), context.input(i).dims[0])
                           .status());
  }
  const ValueType& x = context.input(0);
  if (x.ranked && x.dims[1].fixed() && x.dims[1].size % groups != 0) {
    return InvalidArgument("GroupNormalization wants channels that are a multiple of num_groups ",
                           groups, ", got ", x.dims[1].size, " in ", context.InputText(0));
  }
  return InferFloatingUnary(context);
}

void ComposeGroupNormalization(ComposeContext& c) {
  const int64_t groups = c.node().Int("num_groups", 1);
  const ValueId inputs[] = {c.input(0), OfChannels(c, c.input(1), groups),
                            OfChannels(c, c.input(2), groups)};
  const std::vector<graph::Attribute> attributes = c.node().attributes;
  c.SetOutput(0, c.EmitMany(kOnnx, c.def().name, inputs, 1, attributes)[0]);
}

constexpr AttributeDef kOlderAxesAttribute[] = {{"axes", AttributeKind::kInts}};
constexpr AttributeDef kNeededAxes[] = {{"axes", AttributeKind::kInts, true}};
constexpr AttributeDef kOlderSplitAttributes[] = {{"axis", AttributeKind::kInt},
                                                  {"split", AttributeKind::kInts}};
constexpr AttributeDef kSliceAttributes[] = {{"starts", AttributeKind::kInts, true},
                                             {"ends", AttributeKind::kInts, true},
                                             {"axes", AttributeKind::kInts}};
constexpr AttributeDef kClipAttributes[] = {{"min", AttributeKind::kFloat},
                                            {"max", AttributeKind::kFloat}};
constexpr AttributeDef kOlderPadAttributes[] = {{"mode", AttributeKind::kString},
                                                {"pads", AttributeKind::kInts, true},
                                                {"value", AttributeKind::kFloat}};
constexpr AttributeDef kOlderTopKAttributes[] = {{"axis", AttributeKind::kInt},
                                                 {"k", AttributeKind::kInt, true}};
constexpr AttributeDef kRatio[] = {{"ratio", AttributeKind::kFloat}};
constexpr AttributeDef kOlderSoftmaxAttributes[] = {{"axis", AttributeKind::kInt}};
constexpr AttributeDef kOlderGroupAttributes[] = {{"num_groups", AttributeKind::kInt, true},
                                                  {"epsilon", AttributeKind::kFloat}};

constexpr OpDef Older(Literal name, int version, std::span<const AttributeDef> attributes,
                      Arity outputs = {1, 1}, Arity inputs = {1, 1}) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = version,
          .inputs = inputs,
          .outputs = outputs,
          .attributes = attributes,
          .infer = InferAsNewer,
          .compose = ComposeOfNewest};
}
constexpr OpDef OverRest(Literal name) {
  return {.domain = kOnnx,
          .name = name,
          .attributes = kOlderSoftmaxAttributes,
          .infer = InferOverRest,
          .compose = ComposeOverRest};
}

constexpr OpDef kOlderVersions[] = {
    Older("Squeeze", 1, kOlderAxesAttribute),
    Older("Unsqueeze", 1, kNeededAxes),
    Older("Split", 2, kOlderSplitAttributes, {1, kUnlimited}),
    Older("Slice", 1, kSliceAttributes),
    Older("Clip", 6, kClipAttributes),
    Older("Pad", 2, kOlderPadAttributes),
    Older("TopK", 1, kOlderTopKAttributes, {2, 2}),
    Older("Dropout", 7, kRatio, {1, 2}),
    Older("Scatter", 9, kOlderSoftmaxAttributes, {1, 1}, {3, 3}),
    OverRest("Softmax"),
    OverRest("LogSoftmax"),
    OverRest("Hardmax"),
    {.domain = kOnnx,
     .name = "GroupNormalization",
     .since_version = 18,
     .inputs = {3, 3},
     .attributes = kOlderGroupAttributes,
     .infer = InferOlderGroupNormalization,
     .compose = ComposeGroupNormalization},
};

}  // namespace

OpFamily OlderVersions() { return Chosen<kOlderVersions>(); }

}  // namespace hr::ops
