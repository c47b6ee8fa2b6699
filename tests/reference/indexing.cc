#include <algorithm>
#include <numeric>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// An index of an axis; negative ones count from the end.
int64_t Position(Number index, int64_t size) {
  auto at = static_cast<int64_t>(index);
  if (at < 0) at += size;
  if (at < 0 || at >= size) Fail("index ", static_cast<int64_t>(index), " of ", size, " elements");
  return at;
}

// Visits the pairs of indices of a Gather: in the output and in the data.
Dims ForEachGathered(const Call& call, const Dims& data, const Array& indices,
                     const std::function<void(const Dims& out, const Dims& in)>& visit) {
  size_t axis = call.Axis(0, data.size());
  auto at = static_cast<std::ptrdiff_t>(axis);
  Dims dims(data.begin(), data.begin() + at);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.begin() + at + 1, data.end());
  auto count = static_cast<std::ptrdiff_t>(indices.rank());
  ForEach(dims, [&](const Dims& out) {
    Dims index(out.begin() + at, out.begin() + at + count);
    Dims in(out.begin(), out.begin() + at);
    in.push_back(Position(indices[index], data[axis]));
    in.insert(in.end(), out.begin() + at + count, out.end());
    visit(out, in);
  });
  return dims;
}

void Gather(Call& call) {
  const Array& data = call.In(0);
  Array out(data.dtype, {});
  out.data.clear();
  out.dims = ForEachGathered(call, data.dims, call.In(1),
                             [&](const Dims&, const Dims& in) { out.data.push_back(data[in]); });
  call.Out(0, std::move(out));
}

void GatherGrad(Call& call) {
  const Array& dy = call.In(0);
  Array dx(dy.dtype, call.In(2).dims);
  ForEachGathered(call, dx.dims, call.In(1),
                  [&](const Dims& out, const Dims& in) { dx[in] += dy[out]; });
  call.Out(0, std::move(dx));
}

// The place in the data of element i of GatherElements' and ScatterElements' indices.
Dims ElementPlace(const Call& call, const Dims& i) {
  const Dims& data = call.In(0).dims;
  size_t axis = call.Axis(0, data.size());
  Dims place = i;
  place.at(axis) = Position(call.In(1)[i], data[axis]);
  for (size_t d = 0; d < place.size(); ++d) Position(place[d], data.at(d));
  return place;
}

void GatherElements(Call& call) {
  Array out(call.In(0).dtype, call.In(1).dims);
  ForEach(out.dims, [&](const Dims& i) { out[i] = call.In(0)[ElementPlace(call, i)]; });
  call.Out(0, std::move(out));
}

void Combine(Number& into, Number value, std::string_view reduction) {
  if (reduction == "add")
    into += value;
  else if (reduction == "mul")
    into *= value;
  else if (reduction == "max")
    into = std::max(into, value);
  else if (reduction == "min")
    into = std::min(into, value);
  else
    into = value;
}

void ScatterElements(Call& call) {
  Array out = call.In(0);
  std::string_view reduction = call.String("reduction", "none");
  ForEach(call.In(1).dims,
          [&](const Dims& i) { Combine(out[ElementPlace(call, i)], call.In(2)[i], reduction); });
  call.Out(0, std::move(out));
}

// The beginning of a place in the data that row `i` of the indices names.
Dims RowPlace(const Array& indices, const Dims& row, const Dims& data, size_t batch) {
  Dims place(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(batch));
  for (int64_t k = 0; k < indices.dims.back(); ++k) {
    Dims at = row;
    at.push_back(k);
    place.push_back(Position(indices[at], data.at(place.size())));
  }
  return place;
}

void GatherND(Call& call) {
  const Array& data = call.In(0);
  const Array& indices = call.In(1);
  auto batch = static_cast<size_t>(call.Int("batch_dims", 0));
  Dims rows(indices.dims.begin(), indices.dims.end() - 1);
  size_t taken = batch + static_cast<size_t>(indices.dims.back());
  Dims inner(data.dims.begin() + static_cast<std::ptrdiff_t>(taken), data.dims.end());
  Dims dims = rows;
  dims.insert(dims.end(), inner.begin(), inner.end());
  Array out(data.dtype, dims);
  ForEach(dims, [&](const Dims& i) {
    auto split = i.begin() + static_cast<std::ptrdiff_t>(rows.size());
    Dims place = RowPlace(indices, Dims(i.begin(), split), data.dims, batch);
    place.insert(place.end(), split, i.end());
    out[i] = data[place];
  });
  call.Out(0, std::move(out));
}

void ScatterND(Call& call) {
  Array out = call.In(0);
  const Array& indices = call.In(1);
  const Array& updates = call.In(2);
  size_t rows = indices.rank() - 1;
  ForEach(updates.dims, [&](const Dims& i) {
    auto split = i.begin() + static_cast<std::ptrdiff_t>(rows);
    Dims place = RowPlace(indices, Dims(i.begin(), split), out.dims, 0);
    place.insert(place.end(), split, i.end());
    Combine(out[place], updates[i], call.String("reduction", "none"));
  });
  call.Out(0, std::move(out));
}

// Indices outside [-depth, depth) give rows of "off".
void OneHot(Call& call) {
  const Array& indices = call.In(0);
  auto depth = static_cast<int64_t>(call.In(1).data[0]);
  size_t axis = call.Axis(-1, indices.rank() + 1);
  Dims dims = indices.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  Array out(call.In(2).dtype, dims);
  ForEach(dims, [&](const Dims& i) {
    Dims at = i;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
    Number index = indices[at] < 0 ? indices[at] + depth : indices[at];
    out[i] = call.In(2).data[index == i[axis] ? 1 : 0];
  });
  call.Out(0, std::move(out));
}

// Of equal elements the one with the lower index comes first.
void TopK(Call& call) {
  const Array& x = call.In(0);
  size_t axis = call.Axis(-1, x.rank());
  bool largest = call.Int("largest", 1) != 0;
  Dims dims = x.dims;
  dims.at(axis) = static_cast<int64_t>(call.In(1).data[0]);
  Array values(x.dtype, dims);
  Array indices(DType::kInt64, dims);
  Dims lines = x.dims;
  lines[axis] = 1;
  ForEach(lines, [&](const Dims& line) {
    auto at = [&](int64_t k) {
      Dims i = line;
      i[axis] = k;
      return i;
    };
    std::vector<int64_t> order(static_cast<size_t>(x.dims[axis]));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return largest ? x[at(a)] > x[at(b)] : x[at(a)] < x[at(b)];
    });
    for (int64_t k = 0; k < dims[axis]; ++k) {
      indices[at(k)] = order.at(static_cast<size_t>(k));
      values[at(k)] = x[at(order[static_cast<size_t>(k)])];
    }
  });
  call.Out(0, std::move(values));
  call.Out(1, std::move(indices));
}

// An axis that is an input.
size_t GivenAxis(const Array& axis, size_t rank) {
  return static_cast<size_t>(Position(axis.data[0], static_cast<int64_t>(rank)));
}

// For each element, those up to it, joined from `start` on.
void Running(Call& call, Number start, Number (*join)(Number, Number)) {
  const Array& x = call.In(0);
  const size_t axis = GivenAxis(call.In(1), x.rank());
  bool exclusive = call.Int("exclusive", 0) != 0;
  bool reverse = call.Int("reverse", 0) != 0;
  Array out(x.dtype, x.dims, start);
  ForEach(x.dims, [&](const Dims& i) {
    for (int64_t k = 0; k < x.dims.at(axis); ++k) {
      bool before = reverse ? k > i[axis] : k < i[axis];
      if (!before && (exclusive || k != i[axis])) continue;
      Dims from = i;
      from[axis] = k;
      out[i] = Fit(out.dtype, join(out[i], x[from]));
    }
  });
  call.Out(0, std::move(out));
}

void CumSum(Call& call) {
  Running(call, 0, [](Number a, Number b) { return a + b; });
}

void CumProd(Call& call) {
  Running(call, 1, [](Number a, Number b) { return a * b; });
}

// Each product that has an element as a factor, without it.
void CumProdGrad(Call& call) {
  const Array &dy = call.In(0), &x = call.In(1);
  const size_t axis = GivenAxis(call.In(2), x.rank());
  const bool exclusive = call.Int("exclusive", 0) != 0, reverse = call.Int("reverse", 0) != 0;
  const auto is_factor = [&](int64_t factor, int64_t of) {
    return factor == of ? !exclusive : reverse ? factor > of : factor < of;
  };
  Array dx(dy.dtype, x.dims);
  ForEach(x.dims, [&](const Dims& i) {
    Dims of = i, other = i;
    for (of[axis] = 0; of[axis] < x.dims[axis]; ++of[axis]) {
      if (!is_factor(i[axis], of[axis])) continue;
      Number term = dy[of];
      for (other[axis] = 0; other[axis] < x.dims[axis]; ++other[axis]) {
        if (other[axis] != i[axis] && is_factor(other[axis], of[axis])) term *= x[other];
      }
      dx[i] += term;
    }
  });
  call.Out(0, std::move(dx));
}

const Entry kIndexingEntries[] = {
    {"", "Gather", Gather},
    {"", "GatherElements", GatherElements},
    {"", "ScatterElements", ScatterElements},
    {"", "GatherND", GatherND},
    {"", "ScatterND", ScatterND},
    {"", "OneHot", OneHot},
    {"", "TopK", TopK},
    {"", "CumSum", CumSum},
    {"", "CumProd", CumProd},
    {"headrace.grad", "CumProdGrad", CumProdGrad},
    {"headrace.grad", "GatherGrad", GatherGrad},
};

}  // namespace

std::span<const Entry> IndexingFunctions() { return kIndexingEntries; }

}  // namespace hr::reference
