// The version of the graph file that this library writes. Minor versions only add: every 1.x file
// loads with every library that reads 1.y. A new major version has a new file identifier.
#pragma once

#include <cstdint>

namespace hr::format {

inline constexpr int kMajorVersion = 1;  // the digit in "HRG1"
inline constexpr uint16_t kMinorVersion = 0;

}  // namespace hr::format
