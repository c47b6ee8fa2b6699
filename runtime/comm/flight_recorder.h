// Remembers the last operations of a group, for the people who ask why it stopped.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/ticks.h"
#include "runtime/comm/call.h"

namespace hr::comm {

class FlightRecorder {
 public:
  enum class State : uint8_t { kRunning, kDone, kFailed };
  struct Record {
    uint64_t number = 0;  // counts the operations of all sub-groups on these connections
    uint16_t channel = 0;
    uint64_t sequence = 0;
    uint64_t label = 0;
    Call call;
    State state = State::kRunning;
    uint64_t posted = 0;  // by ticks()
    uint64_t ended = 0;   // 0: not yet
  };
  static constexpr size_t kCapacity = 2000;

  static constexpr uint64_t kNone = UINT64_MAX;  // the number of no record

  // What times are taken by.
  const TickCounter& ticks() const { return ticks_; }
  // Not thread-safe. Returns the number that it gives the record. Inline, to be written in place.
  uint64_t Post(const Record& record) {
    if (records_.size() < kCapacity) records_.emplace_back();
    Record& kept = records_[next_ % kCapacity];
    kept = record;
    kept.number = next_;
    return next_++;
  }
  void End(uint64_t number, bool ok);
  // The latest record with this label, or null.
  const Record* Find(uint16_t channel, uint64_t label) const;
  // The collective with this sequence, or null.
  const Record* FindCollective(uint16_t channel, uint64_t sequence) const;
  // Collectives called on a channel so far; 0 where the last one is forgotten.
  uint64_t Called(uint16_t channel) const;
  // A JSON array, oldest first.
  std::string Json() const;

 private:
  template <typename Wanted>
  const Record* Latest(Wanted wanted) const;

  const TickCounter ticks_;
  std::vector<Record> records_;  // a ring, by number
  uint64_t next_ = 0;
};

}  // namespace hr::comm
