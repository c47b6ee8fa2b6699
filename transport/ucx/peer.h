// A process that is reached through UCX: as text in the store, and as it says itself in its hello.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace hr::ucx {

struct UcxPeer {
  std::string host;  // where its shared memory reaches
  uint32_t pid = 0;
  std::string worker;
};

// "ucx:HOST:PID:WORKER", and back. INVALID_ARGUMENT.
std::string AddressText(const UcxPeer& peer);
Result<UcxPeer> ParseAddress(std::string_view address);

// Of the messages of a line. Hellos, and envelopes that say why a line is gone, stay as they are,
// so that processes of different versions can tell each other.
inline constexpr uint32_t kUcxVersion = 3;

// The first message of the side that dials.
struct UcxHello {
  UcxPeer peer;
  uint32_t line = 0;  // its id there
  uint32_t version = kUcxVersion;
};
std::string EncodeHello(const UcxHello& hello);
// Null if it is none.
std::optional<UcxHello> DecodeHello(std::string_view text);

}  // namespace hr::ucx
