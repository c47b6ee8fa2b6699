// Chooses which steps of a program run a second time, so that what they make is not kept in between
// (activation recomputation: T. Chen et al., arXiv:1604.06174). A step that runs again has the same
// operands and so gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hr::engine {

// A step as far as working memory is concerned. Values are numbers of pieces of the arena.
struct MemoryStep {
  std::vector<uint32_t> reads, writes;
  std::vector<std::pair<uint32_t, uint32_t>> in_place;  // (written, read): may share memory
  size_t scratch_bytes = 0;
  double cost = 0;  // of a run, in any unit
  // Whether it may run again: it changes nothing but what it writes, all of which lies in the
  // arena.
  bool repeatable = false;
  // Whether values that it touches are in use beyond it, by what goes on beside the steps.
  bool in_flight = false;
  bool writes_variables = false;  // after it no step runs again, for it may have read these
};

// A place in the order of a program that repeats some steps.
struct StepRun {
  uint32_t step = 0;
  bool again = false;
};

// The choice, made by and by: each move lowers the peak of the memory that is in use, or what is
// near it, by as much as it can for its cost. Moves depend on the program alone and not on a limit,
// so what fits into some limit fits into every larger one. Deterministic.
class Recomputation {
 public:
  // `bytes`: of the values. Both outlive it.
  Recomputation(std::span<const MemoryStep> steps, std::span<const size_t> bytes);

  // Makes the next move. Returns false if there is none that helps.
  bool Next();
  // Takes back what is not needed, the most expensive first: `fits` says whether the order is still
  // good enough.
  template <typename Fits>
  void Prune(const Fits& fits) {
    for (const uint32_t step : ByCost()) {
      Toggle(step);
      if (!fits(*this)) Toggle(step);
    }
  }
  // The most memory that is in use at one time, if no gaps are between values.
  size_t peak() const { return peak_; }
  const std::vector<StepRun>& order() const { return order_; }

 private:
  // A value, or its second making.
  struct Life {
    uint32_t first = UINT32_MAX, last = 0;
    uint32_t storage = 0;  // whose memory it has
  };
  struct Share {
    uint32_t at, out, in;
  };

  void FindMakers();
  void FindCandidates();
  bool IsCandidate(uint32_t step, std::span<const std::vector<uint32_t>> touches,
                   uint32_t first_write);
  std::vector<uint32_t> ByCost() const;
  void Toggle(uint32_t step);

  // ---- What a choice means ----
  void Simulate();
  // Runs a step again at this place of the original order, and before it what it needs.
  void RunAgain(uint32_t step, uint32_t place);
  void Emit(StepRun run);
  uint32_t LifeOf(uint32_t value) const;
  void Touch(uint32_t life);
  void ShareInPlace();
  void AddUp();
  // Returns the bytes above a level, summed over the order.
  double Above(size_t level) const;
  bool IsAliveAtPeak(uint32_t step) const;
  // Returns the best move by how much it lowers Above(level), for the first level that one lowers;
  // UINT32_MAX if none does.
  uint32_t BestMove();

  const std::span<const MemoryStep> steps_;
  const std::span<const size_t> bytes_;
  std::vector<uint32_t> makers_;  // the only step that writes a value; kNone if there are several
  std::vector<uint32_t> candidates_;
  std::vector<uint32_t> split_;  // by step: uses of its values after this place take new ones
  std::vector<uint8_t> chosen_;  // by step, whether; bytes, as they are read very often
  size_t moves_left_ = 0;

  std::vector<uint8_t> made_again_;  // by step, while the order is made
  std::vector<uint32_t> pending_;
  std::vector<StepRun> order_;
  std::vector<Life> lives_;  // value * 2, + 1 for its second making
  std::vector<Share> shares_;
  std::vector<size_t> live_;  // by place in the order
  size_t peak_ = 0;
  uint32_t peak_at_ = 0;
};

}  // namespace hr::engine
