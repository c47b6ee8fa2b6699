// What BuildOptions::memory_limit asks for, and what holds the memory of a program.
#include <algorithm>
#include <numeric>

#include "runtime/base/errors.h"
#include "runtime/engine/program_builder.h"
#include "runtime/engine/recompute.h"

namespace hr::engine {
namespace {

// What a step costs, roughly, in nanoseconds of one thread; that of a launch counts, too.
double CostOf(const StepWork& work) {
  constexpr double kLaunch = 1000, kOperations = 200, kBytes = 10;  // a nanosecond
  return kLaunch + work.operations / kOperations + static_cast<double>(work.bytes) / kBytes;
}

}  // namespace

std::vector<MemoryStep> ProgramBuilder::MemorySteps() const {
  const std::vector<BufferIndex> roots = Roots();
  std::vector<MemoryStep> out;
  for (const StepSpec& step : steps_) {
    MemoryStep& one = out.emplace_back(MemoryStep{.cost = CostOf(step.work),
                                                  .repeatable = step.repeatable,
                                                  .in_flight = step.in_flight,
                                                  .writes_variables = step.writes_variables()});
    for (const BufferIndex input : step.buffers.inputs) {
      if (input != kNoBuffer && IsArena(roots[input])) one.reads.push_back(roots[input]);
    }
    for (const BufferIndex output : step.buffers.outputs) {
      if (output == kNoBuffer) continue;
      one.repeatable &= IsArena(output);  // neither a slot nor a part of something larger
      if (IsArena(roots[output])) one.writes.push_back(roots[output]);
    }
    one.repeatable &= !one.writes_variables;
    for (const auto& [out_index, in_index] : step.in_place) {
      const BufferIndex to = step.buffers.outputs[out_index], from = step.buffers.inputs[in_index];
      if (to == kNoBuffer || from == kNoBuffer) continue;
      if (IsArena(to) && IsArena(roots[from])) one.in_place.emplace_back(to, roots[from]);
    }
    const BufferIndex scratch = step.buffers.scratch;
    if (scratch != kNoBuffer) one.scratch_bytes = buffers_[scratch].bytes;
  }
  return out;
}

ProgramBuilder ProgramBuilder::InOrder(std::span<const StepRun> order) const {
  ProgramBuilder out;
  out.buffers_ = buffers_;
  out.preparations_ = preparations_;
  out.preparation_scratch_ = preparation_scratch_;
  std::vector<BufferIndex> made(buffers_.size(), kNoBuffer);  // anew, by root
  const auto now = [&](BufferIndex buffer) {
    if (buffer == kNoBuffer) return buffer;
    size_t offset = 0;
    const BufferIndex root = Root(buffer, &offset);
    return made[root] == kNoBuffer ? buffer : out.AddView(made[root], offset);
  };
  for (const StepRun& run : order) {
    StepSpec step = steps_[run.step];
    for (BufferIndex& input : step.buffers.inputs) input = now(input);
    if (run.again) {
      step.again = true;
      for (BufferIndex& output : step.buffers.outputs) {
        if (output == kNoBuffer) continue;
        const BufferIndex first = output;
        output = out.AddArena(buffers_[first].bytes);
        made[first] = output;
      }
      BufferIndex& scratch = step.buffers.scratch;
      if (scratch != kNoBuffer) scratch = out.AddArena(buffers_[scratch].bytes);
    }
    out.AddStep(std::move(step));
  }
  return out;
}

size_t ProgramBuilder::ArenaBytes() const {
  ProgramBuilder placed = *this;
  placed.ShareInPlace();
  size_t bytes = 0;
  placed.PlaceArena(&bytes);
  return bytes;
}

Status ProgramBuilder::FitInto(size_t limit) {
  if (ArenaBytes() <= limit) return {};
  const std::vector<MemoryStep> steps = MemorySteps();
  std::vector<size_t> bytes;
  for (const BufferSpec& buffer : buffers_) bytes.push_back(buffer.bytes);
  Recomputation choice(steps, bytes);
  const auto fits = [&](const Recomputation& one) {
    return one.peak() <= limit && InOrder(one.order()).ArenaBytes() <= limit;
  };
  bool enough = false;
  while (!enough && choice.Next()) enough = fits(choice);
  if (enough) choice.Prune(fits);
  ProgramBuilder chosen = InOrder(choice.order());
  // Gaps between buffers, and what estimates leave out, may speak against a choice or for it.
  const size_t needed = chosen.ArenaBytes();
  if (needed > limit) return chosen.BeyondLimit(limit, needed);
  *this = std::move(chosen);
  return {};
}

Status ProgramBuilder::BeyondLimit(size_t limit, size_t needed) const {
  ProgramBuilder placed = *this;
  placed.ShareInPlace();
  const MemoryPeak peak = placed.FindPeak();
  std::string holders;
  for (const MemoryHolder& holder : peak.holders) {
    holders += Cat(holders.empty() ? "" : ", ", holder.bytes, " bytes of '", holder.node, "'",
                   holder.workspace ? " (workspace)" : "");
    if (&holder - peak.holders.data() == 3) break;
  }
  return ResourceExhausted("memory_limit is ", limit, " bytes, and the plan needs ", needed,
                           " bytes of working memory even if it computes again what it can; the ",
                           "step '", steps_[peak.step].node, "' finds ", holders,
                           " in use; allow so much, or use a smaller batch");
}

MemoryPeak ProgramBuilder::FindPeak() const {
  const std::vector<size_t> live = LiveBytes();
  const auto most = std::max_element(live.begin(), live.end());
  MemoryPeak peak;
  if (most == live.end()) return peak;
  peak.step = static_cast<uint32_t>(most - live.begin());
  peak.bytes = *most;
  const std::vector<Span> spans = Spans();
  std::vector<bool> workspace(buffers_.size(), false);
  for (const StepSpec& step : steps_) {
    if (step.buffers.scratch != kNoBuffer) workspace[step.buffers.scratch] = true;
  }
  for (BufferIndex b = 0; b < buffers_.size(); ++b) {
    if (!IsArena(b) || spans[b].first > peak.step || spans[b].last < peak.step) continue;
    if (buffers_[b].bytes == 0) continue;
    peak.holders.push_back({steps_[spans[b].first].node, buffers_[b].bytes, spans[b].first,
                            spans[b].last, workspace[b]});
  }
  std::stable_sort(peak.holders.begin(), peak.holders.end(),
                   [](const MemoryHolder& a, const MemoryHolder& b) { return a.bytes > b.bytes; });
  constexpr size_t kShown = 10;
  if (peak.holders.size() > kShown) {
    const auto rest = peak.holders.begin() + kShown;
    peak.other_bytes =
        std::accumulate(rest, peak.holders.end(), size_t{0},
                        [](size_t sum, const MemoryHolder& holder) { return sum + holder.bytes; });
    peak.holders.erase(rest, peak.holders.end());
  }
  return peak;
}

}  // namespace hr::engine
