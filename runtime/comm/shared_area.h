// The memory that the ranks of a group share, for algorithms that read each other's data in place.
//
// Each rank has two slots, used by turns, so that it may begin the next operation while others
// still read the last one: an operation here ends on no rank before every rank has begun it, hence
// nobody is two operations ahead. A slot begins with a count that only its rank raises, beside the
// first bytes of the data, so that a small operation takes one cache line from each peer.
//
// What is larger goes through the rank's ring, stage by stage. To write a line that another core
// still holds, because it has read it, takes several times as long as to write one that this core
// has for itself. So what one rank writes and others read goes behind what was there before, in a
// ring that is larger than a core's own cache; and where a line passes to and fro between two ranks
// that both write it, as in a sum, it stays where it is.
//
// The others are not trusted: nothing that they write is used as a place or a size.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/comm/schedule.h"
#include "runtime/comm/shared_memory.h"

namespace hr::comm {

class SharedArea {
 public:
  // `ring_bytes` is a power of two.
  static constexpr size_t Bytes(int ranks, size_t ring_bytes) {
    return RingsAt(ranks) + static_cast<size_t>(ranks) * ring_bytes;
  }
  SharedArea(std::unique_ptr<SharedBlock> block, int rank, int ranks, size_t ring_bytes)
      : block_(std::move(block)), rank_(rank), ranks_(ranks), ring_bytes_(ring_bytes) {}

  // Operations are carried out one after the other, in the order in which they were posted.
  uint64_t turn() const { return turn_; }
  // Ends the one whose turn it is, after as many Raise() of every rank as its schedule says.
  void EndTurn(const Schedule& schedule) {
    base_[turn_ % 2] += schedule.raises;
    if (schedule.ring_stage > 0) ring_at_ = RingAt(schedule.ring_stage) + schedule.ring_bytes;
    raised_ = 0;
    ++turn_;
  }

  // Of the operation whose turn it is.
  // `place` counts through the slots' data of all ranks.
  std::byte* InSlot(uint64_t place) const {
    return reinterpret_cast<std::byte*>(&SlotOf(place / kSlotBytes) + 1) + place % kSlotBytes;
  }
  // `place` counts through the rings of all ranks; in each, from where this operation begins. What
  // lies within one stage does not wrap.
  std::byte* InRing(uint64_t place, uint64_t stage) const {
    const uint64_t within = ring_bytes_ - 1;
    const uint64_t offset = (RingAt(stage) + place) & within;
    return block_->data() + RingsAt(ranks_) + (place & ~within) + offset;
  }
  // Says that everything written before may be read. Others see it in Raised().
  void Raise(uint64_t label) {
    Slot& slot = SlotOf(rank_);
    slot.label.store(label, std::memory_order_relaxed);
    slot.raised.store(base_[turn_ % 2] + ++raised_, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // before the look at who sleeps
  }
  bool Raised(int rank, uint32_t times) const {
    // Behind or ahead as a signed distance: counts of ranks that have lost step are no matter.
    const uint64_t raised = SlotOf(rank).raised.load(std::memory_order_acquire);
    return static_cast<int64_t>(raised - base_[turn_ % 2] - times) >= 0;
  }
  // What a rank that has raised calls.
  uint64_t LabelOf(int rank) const { return SlotOf(rank).label.load(std::memory_order_relaxed); }

  // Before this rank sleeps, and before it looks for the last time at what it waits for.
  void AskToBeWoken() {
    SleepsOf(rank_).store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  // After Raise(): whether a rank has asked; once.
  bool TakeSleeper(int rank) {
    std::atomic<uint32_t>& sleeps = SleepsOf(rank);
    return sleeps.load(std::memory_order_relaxed) != 0 &&
           sleeps.exchange(0, std::memory_order_relaxed) != 0;
  }

 private:
  static constexpr size_t kLine = 64, kPage = 4096;
  struct Slot {
    std::atomic<uint64_t> raised;
    std::atomic<uint64_t> label;
  };
  static constexpr size_t kStride = (sizeof(Slot) + kSlotBytes + kLine - 1) / kLine * kLine;
  static constexpr size_t RingsAt(int ranks) {
    return (static_cast<size_t>(ranks) * (kLine + 2 * kStride) + kPage - 1) / kPage * kPage;
  }
  uint64_t RingAt(uint64_t stage) const { return (ring_at_ + stage - 1) & ~(stage - 1); }
  std::atomic<uint32_t>& SleepsOf(int rank) const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(block_->data() + kLine * rank);
  }
  Slot& SlotOf(uint64_t rank) const {
    const size_t number = static_cast<size_t>(ranks_) * (turn_ % 2) + rank;
    return *reinterpret_cast<Slot*>(block_->data() + kLine * ranks_ + kStride * number);
  }

  const std::unique_ptr<SharedBlock> block_;
  const int rank_, ranks_;
  const size_t ring_bytes_;
  uint64_t turn_ = 0;
  uint64_t base_[2] = {0, 0};  // what slots were raised to by operations that have ended
  uint64_t ring_at_ = 0;       // where what was written in rings ends, counted without end
  uint32_t raised_ = 0;        // by this rank in the one whose turn it is
};

}  // namespace hr::comm
