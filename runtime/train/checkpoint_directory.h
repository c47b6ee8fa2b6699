// A directory of checkpoints: which there are, which to read, which to remove.
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

// Newest first: the latest steps of the latest term, then of the one before. Not verified.
// NOT_FOUND where the directory is missing.
Result<std::vector<CheckpointFolder>> ListCheckpoints(const std::string& directory);

struct OpenedCheckpoint {
  CheckpointReader reader;
  std::vector<std::string> warnings;  // one sentence for each newer checkpoint that was skipped
};

// `path` is a checkpoint's folder, or a directory of them, of which the newest that is whole is
// opened. NOT_FOUND where there is none; DATA_LOSS where all are damaged, with the reasons. Other
// failures (no memory, no permission) never fall back to an older checkpoint.
Result<OpenedCheckpoint> OpenCheckpoint(const std::string& path, const ReadOptions& options);

// Of the checkpoints up to `newest`, which is one of them, removes all but the `keep` newest (0:
// none), and what broken-off writers left, but nothing of later terms. Only for the writer of the
// directory.
Status RemoveOldCheckpoints(const std::string& directory, const CheckpointName& newest, int keep);

}  // namespace hr::train
