// Where a flight recorder keeps its records: in memory, or in a file that others can read while the
// process runs, hangs, or is dead.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "runtime/base/result.h"
#include "runtime/comm/operation.h"

namespace hr::comm {

struct FlightRecord {
  enum class State : uint8_t { kRunning, kDone, kFailed };
  static constexpr uint64_t kNone = UINT64_MAX;  // the number of no record

  uint64_t number = kNone;  // counts the operations of all sub-groups on these connections
  uint16_t channel = 0;
  uint64_t sequence = 0;
  uint64_t label = 0;
  Operation operation;
  State state = State::kRunning;
  uint64_t posted = 0;  // by TickCounter
  uint64_t ended = 0;   // 0: not yet
};
static_assert(std::is_trivially_copyable_v<FlightRecord>);

// As it is in memory: only for the build and the kind of machine that wrote it.
struct FlightLog {
  static constexpr size_t kCapacity = 2000;
  static constexpr uint64_t kMagic = 0x313067'6f6c6668;  // "hflog01", and with it the version

  // What TickCounter and SystemClock() showed at once.
  struct Moment {
    uint64_t ticks;
    int64_t nanos;
  };

  uint64_t magic;
  uint64_t record_bytes;
  Moment first, latest;
  uint64_t next;                    // the number that the next record gets
  FlightRecord records[kCapacity];  // a ring, by number
};

struct UnmapFlightLog {
  void operator()(FlightLog* log) const;
};
using MappedFlightLog = std::unique_ptr<FlightLog, UnmapFlightLog>;

// An empty one, in memory; its pages are taken when they are written.
Result<MappedFlightLog> NewFlightLog();
// The same in a new file, which replaces one of this name. Its room on the disk is taken at once.
Result<MappedFlightLog> NewFlightLog(const std::string& path);

}  // namespace hr::comm
