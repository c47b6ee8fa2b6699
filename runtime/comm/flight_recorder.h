// Remembers the last operations of a group, for the people who ask why it stopped.
#pragma once

#include <atomic>
#include <string>

#include "runtime/base/ticks.h"
#include "runtime/comm/flight_log.h"

namespace hr::comm {

class FlightRecorder {
 public:
  using Record = FlightRecord;
  using State = FlightRecord::State;
  static constexpr uint64_t kNone = FlightRecord::kNone;

  // Before all else. With a path the records are in that file, too, from which ReadFlightLog() has
  // them at any time; if the file cannot be had, it goes without.
  Status Open(const std::string& path);
  // Where that file is; empty if there is none.
  const std::string& path() const { return path_; }

  // What times are taken by.
  const TickCounter& ticks() const { return ticks_; }
  // Not thread-safe. Returns the number that it gives the record. Inline, to be written in place.
  uint64_t Post(const Record& record) {
    Draft(record);
    return Publish();
  }
  // The same in two steps, for what is known before it happens: nobody sees a draft, and the next
  // one replaces it. Its own number is kNone.
  void Draft(const Record& record) {
    Record& kept = log_->records[log_->next % FlightLog::kCapacity];
    // Whoever reads the file meanwhile finds a record whole, or without a number.
    std::atomic_ref(kept.number).store(kNone, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_release);
    kept = record;
  }
  uint64_t Publish() {
    const uint64_t number = log_->next;
    Record& kept = log_->records[number % FlightLog::kCapacity];
    std::atomic_ref(kept.number).store(number, std::memory_order_release);
    std::atomic_ref(log_->next).store(number + 1, std::memory_order_release);
    return number;
  }
  // Of a draft of something that has ended.
  void PublishEnded() {
    log_->records[log_->next % FlightLog::kCapacity].ended = ticks_.Now();
    Publish();
  }
  void End(uint64_t number, bool ok);
  // Notes how ticks and the clock stand to each other; now and then.
  void Stamp();
  // The latest record with this label, or null.
  const Record* Find(uint16_t channel, uint64_t label) const;
  // The collective with this sequence, or null.
  const Record* FindCollective(uint16_t channel, uint64_t sequence) const;
  // Collectives called on a channel so far; 0 if the last one is forgotten.
  uint64_t Called(uint16_t channel) const;
  // A JSON array, oldest first.
  std::string Json();

 private:
  template <typename Wanted>
  const Record* Latest(Wanted wanted) const;

  const TickCounter ticks_;
  MappedFlightLog log_;
  std::string path_;
};

// What Json() says of the recorder whose file this is.
Result<std::string> ReadFlightLog(const std::string& path);

}  // namespace hr::comm
