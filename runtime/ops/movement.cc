// Operators that move elements: transpose, join, cut, repeat, pad.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kPerm[] = {{"perm", AttributeKind::kInts}};

// The permutation of a Transpose; reversed order where none is given.
Result<std::vector<int64_t>> Permutation(const Node& node, size_t rank) {
  auto given = node.Ints("perm");
  std::vector<int64_t> perm(given.begin(), given.end());
  if (given.empty()) {
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  std::vector<bool> seen(rank, false);
  for (int64_t axis : perm) {
    bool fits = perm.size() == rank && axis >= 0 && axis < static_cast<int64_t>(rank) &&
                !seen[static_cast<size_t>(axis)];
    if (!fits) {
      return InvalidArgument("Transpose's attribute 'perm' ", ShapeText(perm),
                             " is no permutation of ", rank, " axes");
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return perm;
}

Status InferTranspose(InferContext& context) {
  const ValueType& x = context.input(0);
  ValueType out = x;
  if (x.ranked) {
    HR_ASSIGN_OR_RETURN(auto perm, Permutation(context.node(), x.dims.size()));
    for (size_t i = 0; i < perm.size(); ++i) out.dims[i] = x.dims[static_cast<size_t>(perm[i])];
  }
  context.SetOutput(0, std::move(out));
  return {};
}

Status TransposeGradient(GradientContext& g) {
  HR_ASSIGN_OR_RETURN(auto perm, Permutation(g.node(), g.Rank(g.input(0))));
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  g.SetGrad(0, g.Emit("Transpose", {g.grad(0)}, {{"perm", std::move(inverse)}}));
  return g.status();
}

constexpr OpDef kOps[] = {
    {.domain = kOnnx, .name = "Transpose", .attributes = kPerm, .infer = InferTranspose,
     .gradient = TransposeGradient},
};

}  // namespace

std::span<const OpDef> MovementOps() { return kOps; }

}  // namespace hr::ops
