// A session's variables out to files that other programs read, and in from such files.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/session/session.h"

namespace hr::train {

// What tensors of a file are called in the model, where the names differ; nothing: they are left
// alone.
using WeightNames = std::map<std::string, std::optional<std::string>, std::less<>>;

// From JSON, an object {"name in the file": "variable" or null}. INVALID_ARGUMENT for other text.
Result<WeightNames> ParseWeightNames(std::string_view json);

struct WeightsOptions {
  WeightNames names;
  // Import: what only the file or only the model has is left alone.
  bool partial = false;
  // Export: only variables that are trained.
  bool trainable = false;
};

struct WeightsReport {
  size_t tensors = 0;
  uint64_t bytes = 0;
  std::vector<std::string> left;  // import: variables that stay as they were
};

// Writes the variables under their names, or under those that options.names maps to them. Runs that
// write variables wait meanwhile.
Result<WeightsReport> ExportWeights(session::Session& session, const std::string& path,
                                    const WeightsOptions& options, const CallLimits& limits);

// Sets variables to what the file has. All of it is checked before the first one is set, and
// everything that does not fit is named at once: INVALID_ARGUMENT, and the session is as it was.
// Variables that are not trained may be missing from the file.
Result<WeightsReport> ImportWeights(session::Session& session, const std::string& path,
                                    const WeightsOptions& options, const CallLimits& limits);

}  // namespace hr::train
