// The memory that the ranks of a group share, for algorithms that read each other's data in place.
//
// Each rank has two slots, used by turns, so that it may begin the next operation while others
// still read the last one: an operation here ends on no rank before every rank has begun it, hence
// nobody is two operations ahead. A slot begins with a count that only its rank raises, beside the
// first bytes of the data, so that a small operation takes one cache line from each peer. The
// others are not trusted: nothing that they write is used as a place or a size.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/comm/shared_memory.h"

namespace hr::comm {

class SharedArea {
 public:
  // `slot_bytes` is a power of two.
  static constexpr size_t Bytes(int ranks, size_t slot_bytes) {
    return static_cast<size_t>(ranks) * (kLine + 2 * Stride(slot_bytes));
  }
  SharedArea(std::unique_ptr<SharedBlock> block, int rank, int ranks, size_t slot_bytes)
      : block_(std::move(block)), rank_(rank), ranks_(ranks), slot_bytes_(slot_bytes) {}

  // Operations are carried out one after the other, in the order in which they were posted.
  uint64_t turn() const { return turn_; }
  // Ends the one whose turn it is, after so many Raise() of every rank.
  void EndTurn(uint32_t raises) {
    base_[turn_ % 2] += raises;
    raised_ = 0;
    ++turn_;
  }

  // Of the operation whose turn it is.
  // `place` counts through the slots' data of all ranks.
  std::byte* At(uint64_t place) const {
    const uint64_t rank = place / slot_bytes_, offset = place % slot_bytes_;
    return reinterpret_cast<std::byte*>(&SlotOf(rank) + 1) + offset;
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
  static constexpr size_t kLine = 64;
  struct Slot {
    std::atomic<uint64_t> raised;
    std::atomic<uint64_t> label;
  };
  static constexpr size_t Stride(size_t slot_bytes) {
    return (sizeof(Slot) + slot_bytes + kLine - 1) / kLine * kLine;
  }
  std::atomic<uint32_t>& SleepsOf(int rank) const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(block_->data() + kLine * rank);
  }
  Slot& SlotOf(uint64_t rank) const {
    const size_t number = static_cast<size_t>(ranks_) * (turn_ % 2) + rank;
    return *reinterpret_cast<Slot*>(block_->data() + kLine * ranks_ + Stride(slot_bytes_) * number);
  }

  const std::unique_ptr<SharedBlock> block_;
  const int rank_, ranks_;
  const size_t slot_bytes_;
  uint64_t turn_ = 0;
  uint64_t base_[2] = {0, 0};  // what slots were raised to by operations that have ended
  uint32_t raised_ = 0;        // by this rank in the one whose turn it is
};

}  // namespace hr::comm
