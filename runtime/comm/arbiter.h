// Decides what a group failed of, so that every rank reports the same root cause.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/store.h"

namespace hr::comm {

// Where an epoch's verdict is kept, see EpochKey.
inline constexpr std::string_view kVerdictKey = "verdict";

// Who is to blame for the end of an epoch, and why.
struct Verdict {
  int culprit = -1;  // a rank of the group
  Code code = Code::kAborted;
  std::string cause;

  std::string Encode() const;
  static Result<Verdict> Decode(std::string_view text);
};

class Arbiter {
 public:
  virtual ~Arbiter() = default;
  // Reports an accusation and returns the verdict: the same for all ranks of an epoch, whoever asks
  // first and however often. ARBITER_LOST where the arbiter cannot be reached within `limits`.
  virtual Result<Verdict> Decide(const Verdict& accusation, const CallLimits& limits) = 0;
  // The verdict where there is one.
  virtual Result<std::optional<Verdict>> Look(const CallLimits& limits) = 0;
};

// The store is the arbiter: the first accusation under `key` becomes the verdict. Ranks accuse only
// what they saw themselves, and close nothing before there is a verdict, so the first accusation
// names the cause and not a consequence. The store outlives it.
std::unique_ptr<Arbiter> CreateStoreArbiter(Store& store, std::string key);

}  // namespace hr::comm
