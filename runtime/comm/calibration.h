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

// The cost of messages, in seconds.
struct LinkCost {
  double latency = 0;   // of one
  double per_byte = 0;  // that is sent while another is received
};

// The costs of a machine, in the form in which ranks exchange them.
struct Calibration {
  enum class Source : int32_t { kDefault, kFile };
  struct Link {
    char transport[8];  // its name, with zeros behind it; empty: no more links
    LinkCost cost;
    std::string_view name() const { return {transport, strnlen(transport, sizeof transport)}; }
  };
  Source source = Source::kDefault;
  int32_t reserved = 0;
  // The costs of typical machines.
  std::array<Link, 6> links = {{{"inproc", {4e-7, 1.2e-10}},
                                {"shm", {4e-7, 1.5e-10}},
                                {"ucx", {2e-6, 1.2e-10}},
                                {"tcp", {8e-6, 3e-10}}}};
  double per_reduced_byte = 4e-11;
  LinkCost shared = {2e-7, 5e-11};  // until another rank sees what was raised; copied

  // Returns the cost of a transport; that of the last link if the transport is unknown.
  LinkCost Of(std::string_view transport) const;
};
static_assert(std::is_trivially_copyable_v<Calibration>);

// Parses the text of a file of `machine` (HostName()). What the file does not set has its default.
// FAILED_PRECONDITION if it is of another machine or a later version, DATA_LOSS if it is invalid.
//   headrace calibration 1
//   machine NAME
//   link TRANSPORT SECONDS SECONDS_PER_BYTE
//   shared SECONDS SECONDS_PER_BYTE
//   reduce SECONDS_PER_BYTE
//   end
Result<Calibration> ParseCalibration(std::string_view text, std::string_view machine);

// NOT_FOUND if there is no such file.
Result<Calibration> ReadCalibration(const std::string& path);

// Returns the path of the file unless the host names another; empty if there is no place for it.
// `environment` returns the value of an environment variable.
std::string CalibrationPath(const char* (*environment)(const char* name));

}  // namespace hr::comm
