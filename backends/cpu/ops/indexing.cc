// Gather, Scatter and their like, and OneHot.
#include "backends/cpu/kernels/indexing.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

IntView ViewOf(const OperandInfo& indices) {
  return {.data = nullptr, .is_int64 = indices.dtype == DType::kInt64};
}

IntView At(IntView view, const void* data) { return {data, view.is_int64}; }

GatherShape GatherShapeOf(const graph::Node& node, const Dims& data, const OperandInfo& indices) {
  const AroundAxis around = SplitAround(data, AxisOf(node, 0, data.size()));
  return {around.outer, around.n, around.inner, indices.elements()};
}

Result<LoweredKernel> MakeGather(const KernelRequest& request) {
  const OperandInfo& data = request.input(0);
  const GatherShape shape = GatherShapeOf(request.node, data.dims, request.input(1));
  const size_t bytes = DTypeSize(data.dtype);
  const IntView view = ViewOf(request.input(1));
  const int ranges = GatherRanges(shape, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel("gather", [=](const engine::Operands& p, const engine::LaunchContext& context) {
        return Gather(context.threads, shape, bytes, p.input(0), At(view, p.input(1)), p.output(0),
                      ranges);
      });
  return out;
}

// (index, matrix)
Result<LoweredKernel> MakeOneHotProduct(const KernelRequest& request) {
  const Dims& rows = request.input(1).dims;
  const GatherShape shape{1, rows[0], rows[1], request.input(0).elements()};
  const size_t bytes = DTypeSize(request.input(1).dtype);
  const IntView view = ViewOf(request.input(0));
  const int ranges = GatherRanges(shape, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel("one_hot_product",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   GatherOrZero(context.threads, shape, bytes, p.input(1), At(view, p.input(0)),
                                p.output(0), ranges);
                   return {};
                 });
  return out;
}

// (table, indices, scale?, zero?)
Result<LoweredKernel> MakeGatherWidened(const KernelRequest& request) {
  const OperandInfo& table = request.input(0);
  const GatherShape shape = GatherShapeOf(request.node, table.dims, request.input(1));
  const bool has_scale = request.input(2).present, has_zero = request.input(3).present;
  const NarrowTable narrow{table.dtype, has_scale && request.input(2).elements() > 1};
  const IntView view = ViewOf(request.input(1));
  const int ranges = GatherRanges(shape, request.threads);
  LoweredKernel out;
  out.kernel = MakeKernel("gather_widened",
                          [=](const engine::Operands& p, const engine::LaunchContext& context) {
                            NarrowTable at = narrow;
                            at.numbers = p.input(0);
                            at.scales = has_scale ? p.input<float>(2) : nullptr;
                            at.zeros = has_zero ? p.input(3) : nullptr;
                            return GatherWidened(context.threads, shape, at, At(view, p.input(1)),
                                                 p.output<float>(0), ranges);
                          });
  return out;
}

// (dy, indices, data)
Result<LoweredKernel> MakeGatherGrad(const KernelRequest& request) {
  const GatherShape shape = GatherShapeOf(request.node, request.outputs[0].dims, request.input(1));
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    const IntView view = ViewOf(request.input(1));
    const int ranges = GatherGradRanges(shape, request.threads);
    LoweredKernel out;
    out.kernel = MakeKernel("gather_grad",
                            [=](const engine::Operands& p, const engine::LaunchContext& context) {
                              return GatherGrad<T>(context.threads, shape, p.input<T>(0),
                                                   At(view, p.input(1)), p.output<T>(0), ranges);
                            });
    return out;
  });
}

Result<ElementsShape> ElementsShapeOf(const KernelRequest& request) {
  const Dims& data = request.input(0).dims;
  const Dims& indices = request.input(1).dims;
  const size_t axis = AxisOf(request.node, 0, data.size());
  const Dims strides = ContiguousStrides(data);
  for (size_t i = 0; i < data.size(); ++i) {
    if (i == axis || indices[i] <= data[i]) continue;
    return InvalidArgument(request.op.name, "'s indices ", ShapeText(indices),
                           " are longer than the data ", ShapeText(data), " along axis ", i,
                           "; only along axis ", axis, " they may be");
  }
  if (data.size() > static_cast<size_t>(kMaxAxes)) {
    return Unimplemented(request.op.name, " takes up to ", kMaxAxes, " axes, got ",
                         ShapeText(data));
  }
  ElementsShape shape{.size = data[axis], .stride = strides[axis]};
  const size_t last = data.size() - 1;
  for (size_t i = 0; i < last; ++i) shape.rows.Add(indices[i], i == axis ? 0 : strides[i]);
  shape.length = indices[last];
  shape.step = last == axis ? 0 : 1;
  return shape;
}

Result<LoweredKernel> MakeGatherElements(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const ElementsShape shape, ElementsShapeOf(request));
  const size_t bytes = DTypeSize(request.input(0).dtype);
  const IntView view = ViewOf(request.input(1));
  const int ranges = ElementsRanges(shape, request.threads);
  LoweredKernel out;
  out.kernel = MakeKernel("gather_elements",
                          [=](const engine::Operands& p, const engine::LaunchContext& context) {
                            return GatherElements(context.threads, shape, bytes, p.input(0),
                                                  At(view, p.input(1)), p.output(0), ranges);
                          });
  return out;
}

Scatter ScatterOf(const graph::Node& node) {
  const std::string_view name = node.String("reduction", "none");
  return name == "add"   ? Scatter::kAdd
         : name == "mul" ? Scatter::kMul
         : name == "max" ? Scatter::kMax
         : name == "min" ? Scatter::kMin
                         : Scatter::kReplace;
}

// Calls body.template operator()<T>() for the element type, or for an unsigned integer of its size
// if updates only replace elements.
template <typename Body>
Result<LoweredKernel> ForScattered(const KernelRequest& request, const Body& body) {
  const DType dtype = request.input(0).dtype;
  if (dtype == DType::kInt32) return body.template operator()<int32_t>();
  if (dtype == DType::kInt64) return body.template operator()<int64_t>();
  if (ScatterOf(request.node) == Scatter::kReplace) return ForElementSize(DTypeSize(dtype), body);
  return ForFloating(request, dtype, body);
}

// (data, indices, updates) → y: the data, then place(updates, indices, y).
template <typename Place>
LoweredKernel ScatterKernel(const KernelRequest& request, std::string name, const Place& place) {
  const size_t bytes =
      static_cast<size_t>(request.input(0).elements()) * DTypeSize(request.input(0).dtype);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel =
      MakeKernel(std::move(name), [=](const engine::Operands& p, const engine::LaunchContext&) {
        if (bytes != 0 && p.output(0) != p.input(0)) {
          std::memcpy(p.output(0), p.input(0), bytes);
        };
        return place(p.input(2), p.input(1), p.output(0));
      });
  return out;
}

Result<LoweredKernel> MakeScatterElements(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const ElementsShape shape, ElementsShapeOf(request));
  const Scatter scatter = ScatterOf(request.node);
  const IntView view = ViewOf(request.input(1));
  return ForScattered(request, [&]<typename T>() -> Result<LoweredKernel> {
    return ScatterKernel(request, "scatter_elements",
                         [=](const void* updates, const void* indices, void* y) {
                           return ScatterElements<T>(shape, scatter, static_cast<const T*>(updates),
                                                     At(view, indices), static_cast<T*>(y));
                         });
  });
}

// The shape of an operator on `data` and indices. The last axis of the indices holds positions in
// the axes of `data` that follow the first `batch` ones.
Result<PlacesShape> PlacesShapeOf(const KernelRequest& request, size_t batch) {
  const Dims& data = request.input(0).dims;
  const Dims& indices = request.input(1).dims;
  const auto taken = static_cast<size_t>(indices.back());
  const Dims strides = ContiguousStrides(data);
  const std::span all(data);
  if (taken > static_cast<size_t>(kMaxAxes)) {
    return Unimplemented(request.op.name, " takes up to ", kMaxAxes, " indexed axes, got ", taken);
  }
  if (!std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(batch),
                  indices.begin())) {
    return InvalidArgument(request.op.name, "'s indices ", ShapeText(indices), " and data ",
                           ShapeText(data), " differ in their first ", batch, " dimensions");
  }
  PlacesShape shape;
  for (size_t i = batch; i < batch + taken; ++i) shape.axes.Add(data[i], strides[i]);
  const std::span rows = std::span(indices).first(indices.size() - 1);
  shape.rows = ElementCount(rows);
  shape.inner = ElementCount(all.subspan(batch + taken));
  shape.rows_per_batch = std::max<int64_t>(1, ElementCount(rows.subspan(batch)));
  shape.batch_stride = ElementCount(all.subspan(batch));
  return shape;
}

Result<LoweredKernel> MakeGatherND(const KernelRequest& request) {
  const auto batch = static_cast<size_t>(request.node.Int("batch_dims", 0));
  HR_ASSIGN_OR_RETURN(const PlacesShape shape, PlacesShapeOf(request, batch));
  const size_t bytes = DTypeSize(request.input(0).dtype);
  const int ranges = PlacesRanges(shape, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel("gather_nd", [=](const engine::Operands& p, const engine::LaunchContext& context) {
        return GatherND(context.threads, shape, bytes, p.input(0), p.input<int64_t>(1), p.output(0),
                        ranges);
      });
  return out;
}

Result<LoweredKernel> MakeScatterND(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const PlacesShape shape, PlacesShapeOf(request, 0));
  if (request.input(2).elements() != shape.rows * shape.inner) {
    return InvalidArgument("ScatterND's updates ", ShapeText(request.input(2).dims),
                           " do not fit: the indices ", ShapeText(request.input(1).dims), " name ",
                           shape.rows, " blocks of ", shape.inner, " elements");
  }
  const Scatter scatter = ScatterOf(request.node);
  return ForScattered(request, [&]<typename T>() -> Result<LoweredKernel> {
    return ScatterKernel(
        request, "scatter_nd", [=](const void* updates, const void* indices, void* y) {
          return ScatterND<T>(shape, scatter, static_cast<const T*>(updates),
                              static_cast<const int64_t*>(indices), static_cast<T*>(y));
        });
  });
}

// [outer, inner] indices → [outer, depth, inner].
// Index is what the indices are stored as, U an unsigned integer as large as an element. An index
// outside [-depth, depth), or with a fraction, sets nothing.
template <typename Index, typename U>
void OneHot(const AroundAxis& shape, const Index* indices, const U* off_on, U* y) {
  const int64_t block = shape.n * shape.inner;
  std::fill_n(y, shape.outer * block, off_on[0]);
  for (int64_t o = 0; o < shape.outer; ++o, y += block) {
    for (int64_t i = 0; i < shape.inner; ++i) {
      const Index given = indices[o * shape.inner + i];
      const Index depth = static_cast<Index>(shape.n);
      if (!(given >= -depth && given < depth)) continue;
      const auto index = static_cast<int64_t>(given);
      if (static_cast<Index>(index) != given) continue;
      y[(index < 0 ? index + shape.n : index) * shape.inner + i] = off_on[1];
    }
  }
}

// (indices, depth, [off, on])
template <typename Index>
Result<LoweredKernel> OneHotOf(const KernelRequest& request) {
  const Dims& dims = request.outputs[0].dims;
  const AroundAxis shape = SplitAround(dims, AxisOf(request.node, -1, dims.size()));
  return ForElementSize(
      DTypeSize(request.outputs[0].dtype), [&]<typename U>() -> Result<LoweredKernel> {
        LoweredKernel out;
        out.kernel =
            MakeKernel("one_hot", [=](const engine::Operands& p, const engine::LaunchContext&) {
              OneHot(shape, p.input<Index>(0), p.input<U>(2), p.output<U>(0));
              return Status();
            });
        return out;
      });
}

Result<LoweredKernel> MakeOneHot(const KernelRequest& request) {
  const DType dtype = request.input(0).dtype;
  if (dtype == DType::kInt64) return OneHotOf<int64_t>(request);
  if (dtype == DType::kInt32) return OneHotOf<int32_t>(request);
  return ForFloating(request, dtype, [&]<typename T>() { return OneHotOf<T>(request); });
}

constexpr KernelEntry kIndexingKernels[] = {
    {"", "Gather", MakeGather},
    {"headrace.grad", "GatherGrad", MakeGatherGrad},
    {"", "GatherElements", MakeGatherElements},
    {"", "ScatterElements", MakeScatterElements},
    {"", "GatherND", MakeGatherND},
    {"", "ScatterND", MakeScatterND},
    {"", "OneHot", MakeOneHot},
    {lowering::kLowered, "OneHotProduct", MakeOneHotProduct, false, "MatMul"},
    {lowering::kLowered, "GatherWidened", MakeGatherWidened, false, "Gather"},
};

}  // namespace

KernelPart IndexingFamily() { return ChosenKernels<kIndexingKernels>(); }

}  // namespace hr::cpu
