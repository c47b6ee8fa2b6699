#include "runtime/engine/recompute.h"

#include <algorithm>
#include <iterator>

#include "runtime/engine/arena_planner.h"

namespace hr::engine {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// So many moves are compared: those that save most for their cost.
constexpr size_t kCompared = 64;

}  // namespace

Recomputation::Recomputation(std::span<const MemoryStep> steps, std::span<const size_t> bytes)
    : steps_(steps),
      bytes_(bytes),
      split_(steps.size(), kNone),
      chosen_(steps.size(), false),
      made_again_(steps.size(), false),
      lives_(2 * bytes.size()) {
  FindMakers();
  FindCandidates();
  moves_left_ = 4 * candidates_.size();
  Simulate();
}

// ---- What may run again ----

void Recomputation::FindMakers() {
  makers_.assign(bytes_.size(), kNone);
  std::vector<bool> several(bytes_.size(), false);
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for (const uint32_t value : steps_[i].writes) {
      several[value] = several[value] || makers_[value] != kNone;
      makers_[value] = i;
    }
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].in_flight) continue;
    for (const auto* touched : {&steps_[i].reads, &steps_[i].writes}) {
      for (const uint32_t value : *touched) several[value] = true;
    }
  }
  for (uint32_t value = 0; value < bytes_.size(); ++value) {
    if (several[value]) makers_[value] = kNone;
  }
}

void Recomputation::FindCandidates() {
  std::vector<std::vector<uint32_t>> touches(bytes_.size());
  uint32_t first_write = kNone;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].writes_variables) first_write = std::min(first_write, i);
    for (const uint32_t value : steps_[i].reads) touches[value].push_back(i);
    for (const uint32_t value : steps_[i].writes) touches[value].push_back(i);
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (IsCandidate(i, touches, first_write)) candidates_.push_back(i);
  }
}

// The largest value of a step says between which of its uses it could go.
bool Recomputation::IsCandidate(uint32_t step, std::span<const std::vector<uint32_t>> touches,
                                uint32_t first_write) {
  const MemoryStep& one = steps_[step];
  if (!one.repeatable || one.writes.empty()) return false;
  const auto known = [this](uint32_t value) { return makers_[value] != kNone; };
  if (!std::all_of(one.writes.begin(), one.writes.end(), known)) return false;
  if (!std::all_of(one.reads.begin(), one.reads.end(), known)) return false;
  const uint32_t largest =
      *std::max_element(one.writes.begin(), one.writes.end(),
                        [this](uint32_t a, uint32_t b) { return bytes_[a] < bytes_[b]; });
  const std::vector<uint32_t>& uses = touches[largest];
  uint32_t longest = 1, next = 0;
  for (size_t i = 1; i < uses.size(); ++i) {
    if (uses[i] - uses[i - 1] <= longest) continue;
    longest = uses[i] - uses[i - 1];
    split_[step] = uses[i - 1];
    next = uses[i];
  }
  return split_[step] != kNone && next <= first_write;
}

std::vector<uint32_t> Recomputation::ByCost() const {
  std::vector<uint32_t> out;
  for (const uint32_t step : candidates_) {
    if (chosen_[step]) out.push_back(step);
  }
  std::stable_sort(out.begin(), out.end(),
                   [this](uint32_t a, uint32_t b) { return steps_[a].cost > steps_[b].cost; });
  return out;
}

void Recomputation::Toggle(uint32_t step) {
  chosen_[step] = !chosen_[step];
  Simulate();
}

// ---- What a choice means ----

void Recomputation::Simulate() {
  std::fill(made_again_.begin(), made_again_.end(), false);
  for (uint32_t i = 0; i < lives_.size(); ++i) lives_[i] = {.storage = i};
  order_.clear();
  shares_.clear();
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for (const uint32_t value : steps_[i].reads) {
      if (makers_[value] != kNone) RunAgain(makers_[value], i);
    }
    Emit({i, false});
  }
  ShareInPlace();
  AddUp();
}

void Recomputation::RunAgain(uint32_t step, uint32_t place) {
  const auto due = [&](uint32_t one) {
    return one != kNone && chosen_[one] && !made_again_[one] && place > split_[one];
  };
  if (!due(step)) return;
  pending_.assign(1, step);
  while (!pending_.empty()) {
    const uint32_t next = pending_.back();
    uint32_t first = kNone;  // that it needs
    for (const uint32_t value : steps_[next].reads) {
      if (first == kNone && due(makers_[value])) first = makers_[value];
    }
    if (first != kNone) {
      pending_.push_back(first);
      continue;
    }
    pending_.pop_back();
    Emit({next, true});
    made_again_[next] = true;
  }
}

uint32_t Recomputation::LifeOf(uint32_t value) const {
  const uint32_t maker = makers_[value];
  return 2 * value + (maker != kNone && made_again_[maker] ? 1 : 0);
}

void Recomputation::Touch(uint32_t life) {
  const auto at = static_cast<uint32_t>(order_.size());
  lives_[life].first = std::min(lives_[life].first, at);
  lives_[life].last = std::max(lives_[life].last, at);
}

void Recomputation::Emit(StepRun run) {
  const MemoryStep& step = steps_[run.step];
  const auto made = [&](uint32_t value) { return run.again ? 2 * value + 1 : LifeOf(value); };
  for (const uint32_t value : step.reads) Touch(LifeOf(value));
  for (const uint32_t value : step.writes) Touch(made(value));
  for (const auto& [out, in] : step.in_place) {
    shares_.push_back({static_cast<uint32_t>(order_.size()), made(out), LifeOf(in)});
  }
  order_.push_back(run);
}

// As ProgramBuilder does it.
void Recomputation::ShareInPlace() {
  for (const Share& share : shares_) {
    Life& out = lives_[share.out];
    if (out.storage != share.out) continue;
    uint32_t root = share.in;
    while (lives_[root].storage != root) root = lives_[root].storage;
    Life& in = lives_[root];
    if (root == share.out || in.last != share.at) continue;
    if (out.first != share.at || out.last == share.at) continue;
    if (bytes_[share.out / 2] > bytes_[root / 2]) continue;
    out.storage = root;
    in.last = out.last;
  }
}

void Recomputation::AddUp() {
  live_.assign(order_.size() + 1, 0);
  for (uint32_t i = 0; i < lives_.size(); ++i) {
    if (lives_[i].first == kNone || lives_[i].storage != i) continue;
    live_[lives_[i].first] += AlignedInArena(bytes_[i / 2]);
    live_[lives_[i].last + 1] -= AlignedInArena(bytes_[i / 2]);  // the sum over the order is exact
  }
  live_.pop_back();
  peak_ = 0;
  size_t now = 0;
  for (uint32_t at = 0; at < live_.size(); ++at) {
    now += live_[at];
    live_[at] = now + AlignedInArena(steps_[order_[at].step].scratch_bytes);
    if (live_[at] > peak_) {
      peak_ = live_[at];
      peak_at_ = at;
    }
  }
}

double Recomputation::Above(size_t level) const {
  double sum = 0;
  for (const size_t live : live_) sum += live > level ? static_cast<double>(live - level) : 0;
  return sum;
}

// ---- Moves ----

bool Recomputation::IsAliveAtPeak(uint32_t step) const {
  return std::any_of(steps_[step].writes.begin(), steps_[step].writes.end(), [&](uint32_t value) {
    const auto alive = [&](uint32_t life) {
      return lives_[life].first <= peak_at_ && peak_at_ <= lives_[life].last;
    };
    return alive(2 * value) || alive(2 * value + 1);
  });
}

uint32_t Recomputation::BestMove() {
  std::vector<std::pair<double, uint32_t>> moves;  // what could be saved for the cost
  for (const uint32_t step : candidates_) {
    if (!IsAliveAtPeak(step)) continue;
    double bytes = 0;
    for (const uint32_t value : steps_[step].writes) bytes += static_cast<double>(bytes_[value]);
    moves.emplace_back(chosen_[step] ? bytes : bytes / steps_[step].cost, step);
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  moves.resize(std::min(moves.size(), kCompared));
  // First what is above a half of the peak, then what is nearer to it. A move is simulated once for
  // all of these levels.
  constexpr size_t kLevels = 5;
  const size_t peak = peak_;
  size_t levels[kLevels];
  double before[kLevels], best_score[kLevels] = {};
  uint32_t best[kLevels];
  for (size_t i = 0; i < kLevels; ++i) {
    levels[i] = peak - (peak >> (i + 1));
    before[i] = Above(levels[i]);
    best[i] = kNone;
  }
  for (const auto& [bytes, step] : moves) {
    Toggle(step);
    for (size_t i = 0; i < kLevels && peak_ <= peak; ++i) {
      const double gain = before[i] - Above(levels[i]);
      // What runs once less costs nothing.
      const double score = chosen_[step] ? gain / steps_[step].cost : gain * 1e9;
      if (gain <= 0 || score <= best_score[i]) continue;
      best_score[i] = score;
      best[i] = step;
    }
    chosen_[step] = !chosen_[step];
  }
  Simulate();
  const uint32_t* const found =
      std::find_if(std::begin(best), std::end(best), [](uint32_t step) { return step != kNone; });
  return found == std::end(best) ? kNone : *found;
}

bool Recomputation::Next() {
  const uint32_t step = moves_left_ > 0 ? BestMove() : kNone;
  if (step == kNone) return false;
  Toggle(step);
  --moves_left_;
  return true;
}

}  // namespace hr::engine
