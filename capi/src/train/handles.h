// Handles of headrace/train.h.
#pragma once

#include <optional>

#include "capi/src/handles.h"
#include "headrace/train.h"
#include "runtime/data/dataset.h"
#include "runtime/train/checkpoint_term.h"
#include "runtime/train/event_file.h"
#include "runtime/train/progress.h"

namespace hr::capi {

// For whom `group`, which may be null, writes checkpoints.
std::optional<train::CheckpointOwner> OwnerFrom(const hr_group* group);

}  // namespace hr::capi

struct hr_dataset {
  std::shared_ptr<hr::session::Env> env;
  std::shared_ptr<hr::data::Dataset> rep;
};
struct hr_summary {
  std::unique_ptr<hr::train::EventWriter> rep;
};
struct hr_progress {
  std::optional<hr::train::Progress> rep;
};
