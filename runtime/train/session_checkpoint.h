// A session's state in a checkpoint: variables, step, seed, and where the data set stands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/session/session.h"
#include "runtime/train/checkpoint_writer.h"

namespace hr::train {

struct SaveOptions {
  CheckpointOptions files;
  const data::Dataset* dataset = nullptr;  // its position goes along; no Next during the call
  CheckpointMetadata metadata;             // the caller's own keys; "headrace.…" is ours
};

// Writes DIRECTORY/step-N for the session's step N and returns its path. The session may run on
// meanwhile: what is written is a copy taken at once. If ranks have divided variables
// (session_shards.h) all of them call this; rank 0 writes, and the others return "".
Result<std::string> SaveSession(session::Session& session, const std::string& directory,
                                const SaveOptions& options, const CallLimits& limits);

struct RestoreOptions {
  data::Dataset* dataset = nullptr;  // its position is set, too
  // Takes a directory of checkpoints for this group, before the newest is looked for, so that
  // those whose epoch is over cannot add one any more.
  std::optional<CheckpointOwner> owner;
};

struct RestoreReport {
  std::string path;  // of the checkpoint that was read
  int64_t step = 0;
  CheckpointMetadata metadata;
  std::vector<std::string> warnings;  // damaged checkpoints that were passed over
};

// Sets every variable, the step and the seed from a checkpoint (a folder step-N, or the newest
// whole one of a directory), and the data set's position if one is given. All variables are
// checked before the first is set: a failure leaves the session as it was.
Result<RestoreReport> RestoreSession(session::Session& session, const std::string& path,
                                     const RestoreOptions& options, const CallLimits& limits);

}  // namespace hr::train
