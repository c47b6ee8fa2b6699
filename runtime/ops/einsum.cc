// Einsum, computed by matrix products, products and sums.
#include "runtime/ops/einsum.h"

#include <map>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kEquation[] = {{"equation", AttributeKind::kString, true}};

bool Contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// ---- Types ----

// The dimension of a label in two operands: those of an ellipsis broadcast.
Result<Dim> Meet(const InferContext& context, size_t i, Label label, Dim a, Dim b) {
  if (IsEllipsis(label)) {
    if (a == FixedDim(1)) return b;
    if (b == FixedDim(1)) return a;
    // The unknown one may be 1, or what the other is.
    if (!a.fixed() && !b.fixed()) return a == b ? a : Dim{};
  }
  const std::string name = IsEllipsis(label) ? "..." : std::string(1, static_cast<char>(label));
  return EqualDims(context, Cat("sizes of '", name, "' up to ", context.InputText(i)), a, b);
}

Status InferEinsum(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_ASSIGN_OR_RETURN(
      const EinsumEquation equation,
      EinsumEquation::Parse(context.node().String("equation", ""), context.input_count()));
  std::map<Label, Dim> sizes;
  size_t ellipsis = 0;
  bool open = false;  // whether it is not known how many axes an ellipsis stands for
  for (size_t i = 0; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    const ValueType& type = context.input(i);
    if (!type.ranked) {
      open |= equation.HasEllipsis(i);
      continue;
    }
    HR_ASSIGN_OR_RETURN(const Labels labels, equation.LabelsOf(i, type.dims.size()));
    ellipsis = std::max(ellipsis, equation.EllipsisRank(i, type.dims.size()));
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      const auto [known, is_new] = sizes.try_emplace(labels[axis], type.dims[axis]);
      if (is_new) continue;
      HR_ASSIGN_OR_RETURN(known->second,
                          Meet(context, i, labels[axis], known->second, type.dims[axis]));
    }
  }
  if (open) {
    context.SetUnranked(0, context.input(0).dtype);
    return {};
  }
  std::vector<Dim> dims;
  for (Label label : equation.OutputLabels(ellipsis)) dims.push_back(sizes[label]);
  SetDims(context, 0, context.input(0).dtype, std::move(dims));
  return {};
}

// ---- The composition ----

// A value whose axes have labels.
struct Term {
  ValueId value = kNone;
  Labels labels;

  size_t AxisOf(Label label) const {
    return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
};

class EinsumComposer {
 public:
  explicit EinsumComposer(ComposeContext& c) : c_(c) {}

  // The sum over what is not `kept`.
  Term Sum(Term x, const Labels& kept) {
    std::vector<int64_t> axes;
    Labels rest;
    for (size_t axis = 0; axis < x.labels.size(); ++axis) {
      if (Contains(kept, x.labels[axis])) {
        rest.push_back(x.labels[axis]);
      } else {
        axes.push_back(static_cast<int64_t>(axis));
      }
    }
    if (axes.empty()) return x;
    return {c_.Emit("ReduceSum", {x.value, c_.Ints(axes)}, {{"keepdims", int64_t{0}}}), rest};
  }

  Term Ordered(const Term& x, const Labels& labels) {
    std::vector<int64_t> order;
    bool moves = false;
    for (Label label : labels) {
      order.push_back(static_cast<int64_t>(x.AxisOf(label)));
      moves |= x.AxisOf(label) != order.size() - 1;
    }
    return {moves ? c_.Transpose(x.value, std::move(order)) : x.value, labels};
  }

  // Axes of the same label become one: with both at the end and joined, the diagonal is every
  // (size + 1)-th element.
  Term Diagonal(Term x) {
    for (size_t first = 0; first < x.labels.size(); ++first) {
      const Label label = x.labels[first];
      const auto again =
          std::find(x.labels.begin() + static_cast<ptrdiff_t>(first) + 1, x.labels.end(), label);
      if (again == x.labels.end()) continue;
      x = TakeDiagonal(x, first, static_cast<size_t>(again - x.labels.begin()));
      first = static_cast<size_t>(-1);  // from the start: the axes have moved
    }
    return x;
  }

  // The sum of products over the labels that are not kept.
  Term Product(Term a, Term b, const Labels& kept) {
    Labels of_a = kept, of_b = kept;
    of_a.insert(of_a.end(), b.labels.begin(), b.labels.end());
    of_b.insert(of_b.end(), a.labels.begin(), a.labels.end());
    a = Sum(a, of_a);
    b = Sum(b, of_b);
    // What is last in the output comes last of the product.
    if (!kept.empty() && Contains(a.labels, kept.back()) && !Contains(b.labels, kept.back())) {
      std::swap(a, b);
    }
    Labels batch, summed, only_a, only_b;
    for (Label label : a.labels) {
      const bool both = Contains(b.labels, label);
      (!both ? only_a : Contains(kept, label) ? batch : summed).push_back(label);
    }
    for (Label label : b.labels) {
      if (!Contains(a.labels, label)) only_b.push_back(label);
    }
    // By the output's order, so that less is left to be moved.
    const auto sort = [&](Labels& labels) {
      std::stable_sort(labels.begin(), labels.end(), [&](Label x, Label y) {
        return std::find(kept.begin(), kept.end(), x) < std::find(kept.begin(), kept.end(), y);
      });
    };
    for (Labels* labels : {&batch, &only_a, &only_b}) sort(*labels);
    if (!summed.empty() && IsFloating(c_.type(a.value).dtype)) {
      return MatMul(a, b, batch, summed, only_a, only_b);
    }
    return Sum(Multiplied(a, b, {&batch, &only_a, &only_b, &summed}), kept);
  }

 private:
  ValueId Dim(const Term& x, Label label) { return c_.DimOf(x.value, x.AxisOf(label)); }
  // What is known becomes a constant here, so that types follow before there is a plan.
  ValueId Times(ValueId a, ValueId b) {
    if (!c_.ok()) return kNone;
    const auto x = c_.ConstantInts(a), y = c_.ConstantInts(b);
    int64_t product = 0;
    if (x && y && !__builtin_mul_overflow((*x)[0], (*y)[0], &product)) {
      return c_.Ints(std::array{product});
    }
    return c_.Mul(a, b);
  }
  ValueId Joined(const std::vector<ValueId>& sizes) {
    std::vector<int64_t> all;
    for (ValueId size : sizes) {
      const auto known = c_.ConstantInts(size);
      if (!known) return c_.Joined(sizes);
      all.push_back((*known)[0]);
    }
    return c_.Ints(all);
  }
  // The sizes may be 0, which are no copies of others.
  ValueId Reshape(ValueId value, const std::vector<ValueId>& sizes) {
    if (!c_.ok()) return kNone;
    const ValueId shape = Joined(sizes);
    return c_.Emit("Reshape", {value, shape}, {{"allowzero", int64_t{1}}});
  }

  Term TakeDiagonal(const Term& x, size_t first, size_t second) {
    std::vector<int64_t> order;
    std::vector<ValueId> sizes;
    Labels labels;
    for (size_t axis = 0; axis < x.labels.size(); ++axis) {
      if (axis == first || axis == second) continue;
      order.push_back(static_cast<int64_t>(axis));
      sizes.push_back(c_.DimOf(x.value, axis));
      labels.push_back(x.labels[axis]);
    }
    order.insert(order.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
    labels.push_back(x.labels[first]);
    if (!c_.ok()) return x;
    const ValueId size = c_.DimOf(x.value, first);
    sizes.push_back(Times(size, size));
    const ValueId flat = Reshape(c_.Transpose(x.value, std::move(order)), sizes);
    const auto one = [&](int64_t value) { return c_.Ints(std::array{value}); };
    const auto known = c_.ConstantInts(size);
    const ValueId step = known ? one((*known)[0] + 1) : c_.Add(size, one(1));
    return {c_.Emit("Slice", {flat, one(0), one(INT64_MAX), one(-1), step}), labels};
  }

  // The value with sizes of 1 for the labels that it does not have.
  ValueId Spread(const Term& x, const Labels& all) {
    Labels own;
    std::vector<int64_t> missing;
    for (size_t i = 0; i < all.size(); ++i) {
      if (Contains(x.labels, all[i])) {
        own.push_back(all[i]);
      } else {
        missing.push_back(static_cast<int64_t>(i));
      }
    }
    const ValueId value = Ordered(x, own).value;
    return missing.empty() ? value : c_.Emit("Unsqueeze", {value, c_.Ints(missing)});
  }

  Term Multiplied(const Term& a, const Term& b, std::initializer_list<const Labels*> parts) {
    Labels all;
    for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
    return {c_.Mul(Spread(a, all), Spread(b, all)), all};
  }

  // x as [batch…, the sizes of `rows` multiplied, those of `columns` multiplied].
  ValueId Matrix(const Term& x, const Labels& batch, const Labels& rows, const Labels& columns) {
    Labels all = batch;
    all.insert(all.end(), rows.begin(), rows.end());
    all.insert(all.end(), columns.begin(), columns.end());
    const Term ordered = Ordered(x, all);
    if (rows.size() == 1 && columns.size() == 1) return ordered.value;
    std::vector<ValueId> sizes;
    for (Label label : batch) sizes.push_back(Dim(ordered, label));
    for (const Labels* group : {&rows, &columns}) {
      ValueId size = kNone;
      for (Label label : *group) {
        const ValueId next = Dim(ordered, label);
        size = size == kNone ? next : Times(size, next);
      }
      sizes.push_back(size == kNone ? c_.Ints(std::array{int64_t{1}}) : size);
    }
    return Reshape(ordered.value, sizes);
  }

  Term MatMul(const Term& a, const Term& b, const Labels& batch, const Labels& summed,
              const Labels& only_a, const Labels& only_b) {
    const ValueId product =
        c_.Emit("MatMul", {Matrix(a, batch, only_a, summed), Matrix(b, batch, summed, only_b)});
    Labels all = batch;
    all.insert(all.end(), only_a.begin(), only_a.end());
    all.insert(all.end(), only_b.begin(), only_b.end());
    if (only_a.size() == 1 && only_b.size() == 1) return {product, all};
    std::vector<ValueId> sizes;
    if (!c_.ok()) return {kNone, all};
    for (size_t i = 0; i < batch.size(); ++i) sizes.push_back(c_.DimOf(product, i));
    for (Label label : only_a) sizes.push_back(Dim(a, label));
    for (Label label : only_b) sizes.push_back(Dim(b, label));
    return {Reshape(product, sizes), all};
  }

  ComposeContext& c_;
};

// The type in which it is computed: that of products, or of sums of integers.
DType Wide(DType dtype) {
  if (IsFloating(dtype)) return dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  return dtype == DType::kInt32 ? dtype : DType::kInt64;
}

// From left to right; each product sums over what nobody needs any more.
void ComposeEinsum(ComposeContext& c) {
  auto equation = EinsumEquation::Parse(c.node().String("equation", ""), c.input_count());
  if (!equation.ok()) return c.Fail(std::move(equation).status());
  EinsumComposer composer(c);
  std::vector<Term> terms;
  size_t ellipsis = 0;
  const DType dtype = c.type(c.input(0)).dtype;
  for (size_t i = 0; i < c.input_count(); ++i) {
    const size_t rank = c.Rank(c.input(i));
    if (!c.ok()) return;
    auto labels = equation->LabelsOf(i, rank);
    if (!labels.ok()) return c.Fail(std::move(labels).status());
    ellipsis = std::max(ellipsis, equation->EllipsisRank(i, rank));
    terms.push_back(composer.Diagonal({c.Cast(c.input(i), Wide(dtype)), *std::move(labels)}));
  }
  const Labels output = equation->OutputLabels(ellipsis);
  Term result = terms[0];
  for (size_t i = 1; i < terms.size() && c.ok(); ++i) {
    Labels kept = output;
    for (size_t later = i + 1; later < terms.size(); ++later) {
      for (Label label : terms[later].labels) {
        if (!Contains(kept, label)) kept.insert(kept.begin(), label);
      }
    }
    result = composer.Product(result, terms[i], kept);
  }
  if (!c.ok()) return;
  result = composer.Ordered(composer.Sum(result, output), output);
  c.SetOutput(0, c.Cast(result.value, dtype));
}

constexpr OpDef kEinsumOps[] = {
    {.domain = kOnnx,
     .name = "Einsum",
     .since_version = 12,
     .inputs = {1, kUnlimited},
     .attributes = kEquation,
     .infer = InferEinsum,
     .compose = ComposeEinsum},
};

}  // namespace

OpFamily EinsumOps() { return Chosen<kEinsumOps>(); }

}  // namespace hr::ops
