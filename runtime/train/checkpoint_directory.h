// A directory of checkpoints: lists them, opens the newest, removes old ones.
#pragma once

#include <string>
#include <vector>

#include "runtime/train/checkpoint_reader.h"
#include "runtime/train/checkpoint_term.h"

namespace hr::train {

inline constexpr char kLatestName[] = "latest";

struct CheckpointFolder {
  CheckpointName name;
  std::string path;
};

// Lists the checkpoints, without verifying them, the newest first: the latest steps of the latest
// term, then those of the term before, and so on.
// NOT_FOUND if the directory is missing.
Result<std::vector<CheckpointFolder>> ListCheckpoints(const std::string& directory);

struct OpenedCheckpoint {
  CheckpointReader reader;
  std::vector<std::string> warnings;  // one sentence for each newer checkpoint that was skipped
};

// Opens a checkpoint. `path` is its folder, or a directory, of which the newest undamaged
// checkpoint is opened. NOT_FOUND if there is none; DATA_LOSS if all are damaged, with the reasons.
// Other failures (no memory, no permission) are returned and never cause an older checkpoint to be
// used.
Result<OpenedCheckpoint> OpenCheckpoint(const std::string& path, const ReadOptions& options);

// Of the checkpoints up to `newest`, which is one of them, removes all except the `keep` newest (0:
// removes none). Also removes what interrupted writers have left, but nothing of later terms. Only
// the writer of the directory may call it.
Status RemoveOldCheckpoints(const std::string& directory, const CheckpointName& newest, int keep);

}  // namespace hr::train
