// What communication costs on a machine, measured once by 'headrace comm calibrate' and kept in a
// file, so that creating a group measures nothing. Rank 0's values hold for all ranks of a group,
// whose choices of algorithms must be the same.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/base/result.h"

namespace hr::comm {

// Of messages, in seconds.
struct LinkCost {
  double latency = 0;   // of one
  double per_byte = 0;  // sent, while as much is received
};

// As ranks send it to each other.
struct Calibration {
  enum class Source : int32_t { kDefault, kFile };
  struct Link {
    char transport[8];  // its name, with zeros behind it; empty: no more links
    LinkCost cost;
    std::string_view name() const { return {transport, strnlen(transport, sizeof transport)}; }
  };
  Source source = Source::kDefault;
  int32_t reserved = 0;
  // Of usual machines.
  std::array<Link, 6> links = {{{"inproc", {4e-7, 1.2e-10}},
                                {"shm", {4e-7, 1.5e-10}},
                                {"ucx", {2e-6, 1.2e-10}},
                                {"tcp", {8e-6, 3e-10}}}};
  double per_reduced_byte = 4e-11;
  LinkCost shared = {2e-7, 5e-11};  // until another rank sees what was raised; copied

  // That of the last link where the transport is not known.
  LinkCost Of(std::string_view transport) const;
};
static_assert(std::is_trivially_copyable_v<Calibration>);

// Reads a file's text, which is one of `machine` (HostName()). What it does not say is as by
// default. FAILED_PRECONDITION where it is of another machine or a later version, DATA_LOSS where
// it makes no sense.
//   headrace calibration 1
//   machine NAME
//   link TRANSPORT SECONDS SECONDS_PER_BYTE
//   shared SECONDS SECONDS_PER_BYTE
//   reduce SECONDS_PER_BYTE
//   end
Result<Calibration> ParseCalibration(std::string_view text, std::string_view machine);

// NOT_FOUND where there is no such file.
Result<Calibration> ReadCalibration(const std::string& path);

// Where it is kept unless the host says otherwise; empty where there is no place. `environment`
// looks a variable up.
std::string CalibrationPath(const char* (*environment)(const char* name));

}  // namespace hr::comm
