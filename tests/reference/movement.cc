#include <algorithm>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

void Same(Call& call) { call.Out(0, call.In(0)); }

void SetDims(Call& call, Dims dims) {
  Array out = call.In(0);
  if (ElementCount(dims) != static_cast<int64_t>(out.size())) {
    Fail("cannot turn ", ShapeText(out.dims), " into ", ShapeText(dims));
  }
  out.dims = std::move(dims);
  call.Out(0, std::move(out));
}

void Reshape(Call& call) {
  const Array& x = call.In(0);
  Dims dims = call.In(1).Ints();
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && call.Int("allowzero", 0) == 0) dims[i] = x.dims.at(i);
    if (dims[i] != -1) known *= dims[i];
  }
  for (int64_t& dim : dims) {
    if (dim == -1) dim = static_cast<int64_t>(x.size()) / known;
  }
  SetDims(call, dims);
}

void ReshapeLike(Call& call) { SetDims(call, call.In(1).dims); }

void Flatten(Call& call) {
  const Dims& dims = call.In(0).dims;
  size_t axis = call.Axis(1, dims.size());
  SetDims(call,
          {ElementCount(std::span(dims).first(axis)), ElementCount(std::span(dims).subspan(axis))});
}

std::vector<bool> Marked(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> marked(rank, false);
  for (int64_t axis : axes) {
    marked.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)) = true;
  }
  return marked;
}

void Squeeze(Call& call) {
  const Dims& dims = call.In(0).dims;
  std::vector<bool> removed(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) removed[d] = dims[d] == 1;
  if (call.Has(1)) removed = Marked(call.In(1).Ints(), dims.size());
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!removed[d]) out.push_back(dims[d]);
  }
  SetDims(call, out);
}

void Unsqueeze(Call& call) {
  const Dims& dims = call.In(0).dims;
  std::vector<bool> added = Marked(call.In(1).Ints(), dims.size() + call.In(1).size());
  Dims out;
  size_t next = 0;
  for (bool add : added) out.push_back(add ? 1 : dims[next++]);
  SetDims(call, out);
}

void Transpose(Call& call) {
  const Array& x = call.In(0);
  std::vector<int64_t> perm = call.Ints("perm");
  for (size_t d = x.rank(); perm.size() < x.rank();) perm.push_back(static_cast<int64_t>(--d));
  auto permuted = [&](const Dims& from) {
    Dims to;
    for (int64_t axis : perm) to.push_back(from.at(static_cast<size_t>(axis)));
    return to;
  };
  Array out(x.dtype, permuted(x.dims));
  ForEach(x.dims, [&](const Dims& i) { out[permuted(i)] = x[i]; });
  call.Out(0, std::move(out));
}

void Concat(Call& call) {
  Dims dims = call.In(0).dims;
  size_t axis = call.Axis(0, dims.size());
  for (size_t i = 1; i < call.inputs.size(); ++i) dims.at(axis) += call.In(i).dims[axis];
  Array out(call.In(0).dtype, dims);
  int64_t offset = 0;
  for (const Array* part : call.inputs) {
    ForEach(part->dims, [&](const Dims& i) {
      Dims to = i;
      to[axis] += offset;
      out[to] = (*part)[i];
    });
    offset += part->dims[axis];
  }
  call.Out(0, std::move(out));
}

void Split(Call& call) {
  const Array& x = call.In(0);
  size_t axis = call.Axis(0, x.rank());
  auto count = static_cast<int64_t>(call.outputs.size());
  int64_t part = (x.dims.at(axis) + count - 1) / count;
  int64_t offset = 0;
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    Dims dims = x.dims;
    dims[axis] = call.Has(1) ? call.In(1).Ints().at(o) : std::min(part, x.dims[axis] - offset);
    Array out(x.dtype, dims);
    ForEach(dims, [&](const Dims& i) {
      Dims from = i;
      from[axis] += offset;
      out[i] = x[from];
    });
    offset += dims[axis];
    call.Out(o, std::move(out));
  }
}

// The positions that a Slice takes of each axis. The inputs are at `first`: starts, ends, axes,
// steps.
std::vector<std::vector<int64_t>> SlicedPositions(const Call& call, const Dims& dims,
                                                  size_t first) {
  std::vector<std::vector<int64_t>> taken;
  for (int64_t dim : dims) {
    taken.emplace_back();
    for (int64_t i = 0; i < dim; ++i) taken.back().push_back(i);
  }
  std::vector<int64_t> starts = call.In(first).Ints();
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = call.Has(first + 2) ? call.In(first + 2).Ints()[i] : static_cast<int64_t>(i);
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    int64_t size = dims.at(static_cast<size_t>(axis));
    int64_t step = call.Has(first + 3) ? call.In(first + 3).Ints()[i] : 1;
    int64_t start = starts[i] < 0 ? starts[i] + size : starts[i];
    int64_t end = call.In(first + 1).Ints()[i];
    if (end < 0) end += size;
    start = std::clamp<int64_t>(start, 0, step > 0 ? size : std::max<int64_t>(size - 1, 0));
    end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, size);
    auto& positions = taken[static_cast<size_t>(axis)];
    positions.clear();
    for (int64_t at = start; at < size && (step > 0 ? at < end : at > end); at += step) {
      positions.push_back(at);
      if (step > size || step < -size) break;  // also keeps huge steps from overflowing
    }
  }
  return taken;
}

// Visits pairs of indices: in the slice and in the whole.
Dims ForEachSliced(const std::vector<std::vector<int64_t>>& taken,
                   const std::function<void(const Dims& part, const Dims& whole)>& visit) {
  Dims dims;
  for (const auto& positions : taken) dims.push_back(static_cast<int64_t>(positions.size()));
  ForEach(dims, [&](const Dims& i) {
    Dims from = i;
    for (size_t d = 0; d < i.size(); ++d) from[d] = taken[d][static_cast<size_t>(i[d])];
    visit(i, from);
  });
  return dims;
}

void Slice(Call& call) {
  const Array& x = call.In(0);
  Array out(x.dtype, {});
  out.data.clear();
  out.dims = ForEachSliced(SlicedPositions(call, x.dims, 1),
                           [&](const Dims&, const Dims& whole) { out.data.push_back(x[whole]); });
  call.Out(0, std::move(out));
}

void SliceGrad(Call& call) {
  const Array& dy = call.In(0);
  Array dx(dy.dtype, call.In(1).dims);
  ForEachSliced(SlicedPositions(call, dx.dims, 2),
                [&](const Dims& part, const Dims& whole) { dx[whole] += dy[part]; });
  call.Out(0, std::move(dx));
}

// Where a padded position comes from along one axis; -1: from the constant.
int64_t PadSource(std::string_view mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size) return at;
  if (mode == "constant") return -1;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (size == 1) return 0;
  int64_t period = 2 * (size - 1);
  int64_t inside = ((at % period) + period) % period;
  return inside < size ? inside : period - inside;
}

// Visits every padded index with the index it comes from; false: from the constant.
Dims ForEachPadded(const Call& call, const Dims& x, const std::vector<int64_t>& pads,
                   size_t axes_input,
                   const std::function<void(const Dims& out, const Dims& in, bool inside)>& visit) {
  Dims before(x.size(), 0);
  Dims dims = x;
  size_t count = pads.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    int64_t axis =
        call.Has(axes_input) ? call.In(axes_input).Ints().at(i) : static_cast<int64_t>(i);
    auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    before.at(at) = pads[i];
    dims[at] += pads[i] + pads[i + count];
  }
  std::string_view mode = call.String("mode", "constant");
  ForEach(dims, [&](const Dims& i) {
    Dims from = i;
    bool inside = true;
    for (size_t d = 0; d < i.size(); ++d) {
      from[d] = PadSource(mode, i[d] - before[d], x[d]);
      inside = inside && from[d] >= 0;
    }
    visit(i, from, inside);
  });
  return dims;
}

void Pad(Call& call) {
  const Array& x = call.In(0);
  Array out(x.dtype, {});
  out.data.clear();
  Number fill = call.Scalar(2, 0);
  out.dims = ForEachPadded(
      call, x.dims, call.In(1).Ints(), 3,
      [&](const Dims&, const Dims& in, bool inside) { out.data.push_back(inside ? x[in] : fill); });
  call.Out(0, std::move(out));
}

void PadGrad(Call& call) {
  const Array& dy = call.In(0);
  Array dx(dy.dtype, call.In(1).dims);
  ForEachPadded(call, dx.dims, call.In(2).Ints(), 3,
                [&](const Dims& out, const Dims& in, bool inside) {
                  if (inside) dx[in] += dy[out];
                });
  call.Out(0, std::move(dx));
}

Dims Wrapped(Dims index, const Dims& dims) {
  for (size_t d = 0; d < dims.size(); ++d) index[d] %= dims[d];
  return index;
}

void Tile(Call& call) {
  const Array& x = call.In(0);
  Dims dims = x.dims;
  for (size_t d = 0; d < dims.size(); ++d) dims[d] *= call.In(1).Ints().at(d);
  Array out(x.dtype, dims);
  ForEach(dims, [&](const Dims& i) { out[i] = x[Wrapped(i, x.dims)]; });
  call.Out(0, std::move(out));
}

void TileGrad(Call& call) {
  const Array& dy = call.In(0);
  Array dx(dy.dtype, call.In(1).dims);
  ForEach(dy.dims, [&](const Dims& i) { dx[Wrapped(i, dx.dims)] += dy[i]; });
  call.Out(0, std::move(dx));
}

void ExpandTo(Call& call, const Dims& target) {
  const Array& x = call.In(0);
  Array out(x.dtype, BroadcastDims(x.dims, target).value());
  ForEach(out.dims, [&](const Dims& i) { out[i] = x.Broadcast(i); });
  call.Out(0, std::move(out));
}
void Expand(Call& call) { ExpandTo(call, call.In(1).Ints()); }
void ExpandLike(Call& call) { ExpandTo(call, call.In(1).dims); }

void Trilu(Call& call) {
  Array out = call.In(0);
  auto diagonal = static_cast<int64_t>(call.Scalar(1, 0));
  bool upper = call.Int("upper", 1) != 0;
  ForEach(out.dims, [&](const Dims& i) {
    int64_t above = i[i.size() - 1] - i[i.size() - 2] - diagonal;
    if (upper ? above < 0 : above > 0) out[i] = 0;
  });
  call.Out(0, std::move(out));
}

constexpr std::string_view kGrad = "headrace.grad";

const Entry kMovementEntries[] = {
    {"", "Identity", Same},
    {"", "Reshape", Reshape},
    {"", "Flatten", Flatten},
    {"", "Squeeze", Squeeze},
    {"", "Unsqueeze", Unsqueeze},
    {"", "Transpose", Transpose},
    {"", "Concat", Concat},
    {"", "Split", Split},
    {"", "Slice", Slice},
    {"", "Pad", Pad},
    {"", "Tile", Tile},
    {"", "Expand", Expand},
    {"", "Trilu", Trilu},
    {kGrad, "ReshapeLike", ReshapeLike},
    {kGrad, "ExpandLike", ExpandLike},
    {kGrad, "SliceGrad", SliceGrad},
    {kGrad, "PadGrad", PadGrad},
    {kGrad, "TileGrad", TileGrad},
};

}  // namespace

std::span<const Entry> MovementFunctions() { return kMovementEntries; }

}  // namespace hr::reference
