// Decides on the cause of a group's failure, so that every rank reports the same one.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/mesh_options.h"
#include "runtime/comm/store.h"

namespace hr::comm {

// The key of an epoch's verdict in the store; see EpochKey.
inline constexpr std::string_view kVerdictKey = "verdict";

// The rank that has caused the end of an epoch, and why.
struct Verdict {
  int culprit = -1;  // a rank of the group
  Code code = Code::kAborted;
  std::string cause;

  std::string Encode() const;
  static Result<Verdict> Decode(std::string_view text);
};

// Returns the verdict as the status of the group that has ended by it.
Status EndedBy(const MeshOptions& options, const Verdict& verdict);

class Arbiter {
 public:
  virtual ~Arbiter() = default;
  // Reports an accusation and returns the verdict, which is the same for all ranks of an epoch and
  // for all calls. ARBITER_LOST if the arbiter cannot be reached within `limits`.
  virtual Result<Verdict> Decide(const Verdict& accusation, const CallLimits& limits) = 0;
  // Returns the verdict if there is one.
  virtual Result<std::optional<Verdict>> Look(const CallLimits& limits) = 0;
};

// Creates an arbiter for which the first accusation under `key` in the store becomes the verdict.
// Ranks report only what they have observed themselves, and close no connection before there is a
// verdict; therefore the first accusation names the cause and not a consequence. The store must
// outlive the arbiter.
std::unique_ptr<Arbiter> CreateStoreArbiter(Store& store, std::string key);

}  // namespace hr::comm
