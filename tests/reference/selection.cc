// Operators whose results are as large as the data says.
#include <algorithm>
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

Array FromRows(DType dtype, Dims dims, const std::vector<Number>& data) {
  Array out(dtype, std::move(dims));
  out.data = data;
  return out;
}

void NonZero(Call& call) {
  const Array& x = call.In(0);
  std::vector<Dims> found;
  ForEach(x.dims, [&](const Dims& i) {
    if (x[i] != 0) found.push_back(i);
  });
  Array out(DType::kInt64, {static_cast<int64_t>(x.rank()), static_cast<int64_t>(found.size())});
  ForEach(out.dims, [&](const Dims& i) {
    out[i] = static_cast<Number>(found[static_cast<size_t>(i[1])][static_cast<size_t>(i[0])]);
  });
  call.Out(0, std::move(out));
}

// x along one axis; without the attribute, all of its elements as one axis.
struct Along {
  Array x;
  size_t axis;
  int64_t size() const { return x.dims[axis]; }
  // The slices with these indices, joined.
  Array Take(const std::vector<int64_t>& which) const {
    Dims dims = x.dims;
    dims[axis] = static_cast<int64_t>(which.size());
    Array out(x.dtype, dims);
    ForEach(dims, [&](const Dims& i) {
      Dims from = i;
      from[axis] = which[static_cast<size_t>(i[axis])];
      out[i] = x[from];
    });
    return out;
  }
};

Along AxisOf(const Call& call) {
  if (call.node.Find("axis") != nullptr) {
    return {call.In(0), call.Axis(0, call.In(0).rank())};
  }
  Array flat = call.In(0);
  flat.dims = {static_cast<int64_t>(flat.size())};
  return {std::move(flat), 0};
}

void Compress(Call& call) {
  const Along along = AxisOf(call);
  const Array& condition = call.In(1);
  if (condition.dims[0] > along.size()) Fail("more conditions than elements");
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < condition.dims[0]; ++i) {
    if (condition[{i}] != 0) kept.push_back(i);
  }
  call.Out(0, along.Take(kept));
}

bool Less(Number a, Number b) { return a < b || (!std::isnan(a) && std::isnan(b)); }

Array IntsOf(const std::vector<int64_t>& values) {
  return FromRows(DType::kInt64, {static_cast<int64_t>(values.size())},
                  {values.begin(), values.end()});
}

void Unique(Call& call) {
  const Along along = AxisOf(call);
  std::vector<std::vector<Number>> slices;
  for (int64_t i = 0; i < along.size(); ++i) slices.push_back(along.Take({i}).data);
  const auto less = [&](int64_t a, int64_t b) {
    const auto &left = slices[static_cast<size_t>(a)], &right = slices[static_cast<size_t>(b)];
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(), Less);
  };
  std::vector<int64_t> firsts, inverse, counts;
  const auto find = [&](int64_t i) {
    return std::find_if(firsts.begin(), firsts.end(),
                        [&](int64_t f) { return !less(f, i) && !less(i, f); });
  };
  for (int64_t i = 0; i < along.size(); ++i) {
    if (find(i) == firsts.end()) firsts.push_back(i);
  }
  if (call.Int("sorted", 1) != 0) std::sort(firsts.begin(), firsts.end(), less);
  counts.resize(firsts.size());
  for (int64_t i = 0; i < along.size(); ++i) {
    inverse.push_back(find(i) - firsts.begin());
    ++counts[static_cast<size_t>(inverse.back())];
  }
  call.Out(0, along.Take(firsts));
  call.Out(1, IntsOf(firsts));
  call.Out(2, IntsOf(inverse));
  call.Out(3, IntsOf(counts));
}

// The part of the line from a to b that lies between c and d.
Number Common(Number a, Number b, Number c, Number d) {
  return std::max<Number>(0, std::min(b, d) - std::max(a, c));
}

// Two corners, the smaller numbers first.
std::vector<Number> Corners(const Array& boxes, int64_t n, int64_t i, bool center) {
  const auto at = [&](int64_t k) { return boxes[{n, i, k}]; };
  if (center) {
    return {at(0) - at(2) / 2, at(1) - at(3) / 2, at(0) + at(2) / 2, at(1) + at(3) / 2};
  }
  return {std::min(at(0), at(2)), std::min(at(1), at(3)), std::max(at(0), at(2)),
          std::max(at(1), at(3))};
}

Number IntersectionOverUnion(const std::vector<Number>& a, const std::vector<Number>& b) {
  const auto area = [](const std::vector<Number>& x) { return (x[2] - x[0]) * (x[3] - x[1]); };
  const Number both = Common(a[0], a[2], b[0], b[2]) * Common(a[1], a[3], b[1], b[3]);
  const Number all = area(a) + area(b) - both;
  return both > 0 && all > 0 ? both / all : 0;
}

void NonMaxSuppression(Call& call) {
  const Array &boxes = call.In(0), &scores = call.In(1);
  const bool center = call.Int("center_point_box", 0) != 0;
  const Number most = call.Scalar(2, 0), overlap = call.Scalar(3, 0);
  std::vector<Number> rows;
  for (int64_t n = 0; n < scores.dims[0]; ++n) {
    for (int64_t c = 0; c < scores.dims[1]; ++c) {
      std::vector<int64_t> order, taken;
      for (int64_t i = 0; i < scores.dims[2]; ++i) {
        if (scores[{n, c, i}] > call.Scalar(4, -INFINITY) ||
            (!call.Has(4) && !std::isnan(scores[{n, c, i}]))) {
          order.push_back(i);
        }
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return scores[{n, c, a}] > scores[{n, c, b}];
      });
      for (int64_t i : order) {
        const bool apart = std::all_of(taken.begin(), taken.end(), [&](int64_t other) {
          return IntersectionOverUnion(Corners(boxes, n, i, center),
                                       Corners(boxes, n, other, center)) <= overlap;
        });
        if (!apart || static_cast<Number>(taken.size()) >= most) continue;
        taken.push_back(i);
        for (int64_t number : {n, c, i}) rows.push_back(static_cast<Number>(number));
      }
    }
  }
  call.Out(0, FromRows(DType::kInt64, {static_cast<int64_t>(rows.size() / 3), 3}, rows));
}

// A flat result behind which there is room.
Array WithRoom(const Array& flat, size_t room) {
  std::vector<Number> data = flat.data;
  data.resize(room, 0);
  return FromRows(DType::kInt64, {static_cast<int64_t>(room)}, data);
}

Array One(Number value) { return FromRows(DType::kInt64, {1}, {value}); }

// What an operator of ONNX gives, for those of headrace.sized.
std::vector<Array> OutputsOf(const Call& call, size_t outputs, void (*function)(Call&)) {
  Call inner{call.module, call.node, call.name, call.version, call.inputs, {}, call.variables};
  inner.outputs.resize(outputs);
  function(inner);
  return inner.outputs;
}

void SizedNonZero(Call& call) {
  const Array places = OutputsOf(call, 1, NonZero)[0];
  call.Out(0, WithRoom(places, call.In(0).size() * call.In(0).rank()));
  call.Out(1, One(static_cast<Number>(places.dims[1])));
}

void SizedUnique(Call& call) {
  const auto unique = OutputsOf(call, 4, Unique);
  const auto room = static_cast<size_t>(AxisOf(call).size());
  call.Out(0, WithRoom(unique[1], room));
  call.Out(1, unique[2]);
  call.Out(2, WithRoom(unique[3], room));
  call.Out(3, One(static_cast<Number>(unique[1].size())));
}

void SizedSuppression(Call& call) {
  const Array rows = OutputsOf(call, 1, NonMaxSuppression)[0];
  call.Out(0, WithRoom(rows, call.In(1).size() * 3));
  call.Out(1, One(static_cast<Number>(rows.dims[0])));
}

const Entry kSelectionEntries[] = {{"headrace.sized", "NonZero", SizedNonZero},
                                   {"headrace.sized", "Unique", SizedUnique},
                                   {"headrace.sized", "NonMaxSuppression", SizedSuppression},
                                   {"", "NonZero", NonZero},
                                   {"", "Compress", Compress},
                                   {"", "Unique", Unique},
                                   {"", "NonMaxSuppression", NonMaxSuppression}};

}  // namespace

std::span<const Entry> SelectionFunctions() { return kSelectionEntries; }

}  // namespace hr::reference
