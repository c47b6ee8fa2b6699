#include "backends/cpu/kernels/recurrent_cut.h"

namespace hr::cpu {
namespace {

// Costs in multiply-adds of vectors: of a gate's element behind the products, and of threads that
// wait for each other.
constexpr double kFinishCost = 3, kMeetingCost = 6000;
// Rows of x that are worth reading W for.
constexpr int64_t kLeastRows = 128;

template <typename T>
double StepCost(const RecurrentShape& shape, const RecurrentLayout& layout,
                const RecurrentCut& cut) {
  const RecurrentProducts products(shape, layout, cut);
  const auto cost = [&](const SteadyShape& product) {
    return SteadyCost<T>(product, products.Others(product));
  };
  double out = cost(products.project) / static_cast<double>(cut.steps) + cost(products.joint);
  if (layout.is_gru()) out += cost(products.last);
  out += kFinishCost * static_cast<double>(cut.sequences * cut.hidden * layout.gates());
  return cut.parts == 1 ? out : out + kMeetingCost;
}

RecurrentCut CutInto(const RecurrentShape& shape, const RecurrentLayout& layout, int64_t groups,
                     int64_t parts, int64_t width) {
  RecurrentCut out{.sequences = CeilDiv(shape.batch, groups), .hidden = layout.hidden()};
  out.groups = static_cast<int>(groups);
  if (parts > 1) {
    out.hidden = RoundUp(CeilDiv(layout.hidden(), parts), width);
    out.parts = static_cast<int>(CeilDiv(layout.hidden(), out.hidden));
  }
  const int64_t most = std::max<int64_t>(1, kLeastRows / std::max<int64_t>(1, out.sequences));
  const int64_t rounds = std::max<int64_t>(1, CeilDiv(shape.steps, most));
  out.steps = std::max<int64_t>(1, CeilDiv(shape.steps, rounds));
  return out;
}

}  // namespace

RecurrentProducts::RecurrentProducts(const RecurrentShape& shape, const RecurrentLayout& layout,
                                     const RecurrentCut& cut) {
  const auto product = [&](int64_t rows, int64_t k, int64_t gates) {
    if (cut.parts == 1) return SteadyShape{rows, k, 1, gates * cut.hidden};
    return SteadyShape{rows, k, gates, cut.hidden};
  };
  project = product(cut.sequences * cut.steps, shape.input, layout.gates());
  joint = product(cut.sequences, layout.hidden(), layout.joint_gates());
  if (layout.is_gru()) last = product(cut.sequences, layout.hidden(), 1);
}

int64_t RecurrentProducts::Others(const SteadyShape& product) const {
  int64_t all = 0;
  for (const SteadyShape* one : {&project, &joint, &last}) all += one->n() * one->k;
  return all - product.n() * product.k;
}

template <typename T>
RecurrentCut MakeRecurrentCut(const RecurrentShape& shape, const RecurrentLayout& layout) {
  const int64_t width = SteadyColumns<T>();
  const int64_t most = std::min<int64_t>(shape.slices, CeilDiv(layout.hidden(), width));
  RecurrentCut best;
  double least = 0;
  for (int64_t parts = 1; parts <= most; ++parts) {
    const int64_t groups =
        std::clamp<int64_t>(shape.slices / parts, 1, std::max<int64_t>(1, shape.batch));
    const RecurrentCut cut = CutInto(shape, layout, groups, parts, width);
    const double cost = StepCost<T>(shape, layout, cut);
    if (parts > 1 && cost >= least) continue;
    least = cost;
    best = cut;
  }
  return best;
}

template RecurrentCut MakeRecurrentCut<float>(const RecurrentShape&, const RecurrentLayout&);
template RecurrentCut MakeRecurrentCut<double>(const RecurrentShape&, const RecurrentLayout&);

}  // namespace hr::cpu
