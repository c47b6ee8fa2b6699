#include "transport/collective/ring.h"

namespace hr::collective {
namespace {

// Slices of a part that are under way at one time. More than two hide the latency of a hop.
constexpr uint64_t kWindow = 4;

// The ring is one row of items, each the receipt of one slice. A batch of `window_` slices of every
// part goes through all steps before the next batch, but the row has no gaps: item i is received
// while item i - window_ is dealt with, and dealing with item i sends what the next rank receives
// as item i + window_. Nobody awaits a send whose receive is posted later than his own next one, so
// the ranks cannot wait in a circle; that is why there are two slots for each slice of the window.
class RingWriter {
 public:
  RingWriter(ScheduleBuilder& b, const Ring& ring) : b_(b), ring_(ring) {
    uint64_t largest = 0;
    for (int part = 0; part < b.size; ++part) {
      largest = std::max(largest, (ring.reduce ? ring.input(part) : ring.result(part)).bytes);
    }
    slices_ = std::max<uint64_t>(1, (largest + b.slice_bytes - 1) / b.slice_bytes);
    window_ = std::min(kWindow, slices_);
    reduce_steps_ = ring.reduce ? b.size - 1 : 0;
    steps_ = reduce_steps_ + (ring.gather ? b.size - 1 : 0);
    items_ = (slices_ + window_ - 1) / window_ * steps_ * window_;
    received_.resize(items_);
    first_sends_.resize(slices_, ScheduleBuilder::kNone);
    if (ring.reduce) AllocateSlots(largest);
  }

  void Write() {
    for (uint64_t i = 0; i < window_; ++i) PostReceive(i);
    for (uint64_t k = 0; k < window_; ++k) SendFirst(k);
    for (uint64_t i = 0; i < items_; ++i) {
      b_.Await(received_[i]);
      StepOf(i) < reduce_steps_ ? Reduce(i) : PassOn(i);
      // The first slices of the next batch are sent right behind the last ones of this batch.
      if (StepOf(i) + 1 == steps_) SendFirst(SliceNumber(i) + window_);
      if (i + window_ < items_) PostReceive(i + window_);
    }
  }

 private:
  int Next() const { return (b_.rank + 1) % b_.size; }
  int Previous() const { return (b_.rank + b_.size - 1) % b_.size; }
  int PartBehind(uint64_t distance) const {
    return static_cast<int>((b_.rank + 2 * b_.size - static_cast<int>(distance)) % b_.size);
  }
  uint64_t StepOf(uint64_t item) const { return item / window_ % steps_; }
  uint64_t SliceNumber(uint64_t item) const {
    return item / (steps_ * window_) * window_ + item % window_;
  }
  // Returns the part whose slice an item brings.
  int PartOfItem(uint64_t item) const {
    const uint64_t step = StepOf(item);
    return step < reduce_steps_ ? PartBehind(step + 2) : PartBehind(step - reduce_steps_ + 1);
  }
  Slice SliceOf(Slice part, uint64_t number) const {
    if (number >= slices_) return {part.place, part.begin, 0};
    const uint64_t width = DTypeSize(b_.operation.dtype);
    const Part cut = PartOf(part.bytes / width, number, slices_);
    return {part.place, part.begin + cut.begin * width, (cut.end - cut.begin) * width};
  }

  void AllocateSlots(uint64_t largest) {
    const uint64_t width = DTypeSize(b_.operation.dtype);
    const uint64_t bytes = PartOf(largest / width, 0, slices_).end * width;
    for (uint64_t i = 0; i < 2 * window_; ++i) slots_.push_back(b_.Scratch(bytes));
    slot_sends_.assign(slots_.size(), ScheduleBuilder::kNone);
  }
  Slice Slot(uint64_t item) const {
    Slice slot = slots_[item % slots_.size()];
    slot.bytes = SliceOf(ring_.input(PartOfItem(item)), SliceNumber(item)).bytes;
    return slot;
  }

  void SendFirst(uint64_t number) {
    if (number >= slices_) return;
    const Slice part = ring_.reduce ? ring_.input(PartBehind(1)) : ring_.result(b_.rank);
    first_sends_[number] = b_.Send(Next(), SliceOf(part, number));
  }

  void PostReceive(uint64_t item) {
    const uint64_t step = StepOf(item), number = SliceNumber(item);
    if (step < reduce_steps_) {
      b_.Await(std::exchange(slot_sends_[item % slots_.size()], ScheduleBuilder::kNone));
      received_[item] = b_.Recv(Previous(), Slot(item));
      return;
    }
    // The first part that is gathered may overwrite the input that was sent first, so that send
    // must have ended.
    if (ring_.reduce && step == reduce_steps_ && number < slices_) b_.Await(first_sends_[number]);
    received_[item] = b_.Recv(Previous(), SliceOf(ring_.result(PartOfItem(item)), number));
  }

  void Reduce(uint64_t item) {
    const int part = PartOfItem(item);
    const Slice slot = Slot(item);
    const Slice input = SliceOf(ring_.input(part), SliceNumber(item));
    if (StepOf(item) + 1 < reduce_steps_) {
      b_.Combine(slot, input, slot);
      slot_sends_[item % slots_.size()] = b_.Send(Next(), slot);
      return;
    }
    const Slice result = SliceOf(ring_.result(part), SliceNumber(item));
    b_.Combine(slot, input, result);
    b_.Complete(result);
    if (ring_.gather) b_.Send(Next(), result);
  }

  void PassOn(uint64_t item) {
    if (StepOf(item) + 1 == steps_) return;
    b_.Send(Next(), SliceOf(ring_.result(PartOfItem(item)), SliceNumber(item)));
  }

  ScheduleBuilder& b_;
  const Ring& ring_;
  uint64_t slices_, window_, reduce_steps_, steps_, items_;
  std::vector<uint32_t> received_;     // by item
  std::vector<uint32_t> first_sends_;  // by slice
  std::vector<Slice> slots_;
  std::vector<uint32_t> slot_sends_;  // that must end before a slot is received into again
};

}  // namespace

void AddRing(ScheduleBuilder& b, const Ring& ring) {
  if (b.size > 1) RingWriter(b, ring).Write();
}

}  // namespace hr::collective
