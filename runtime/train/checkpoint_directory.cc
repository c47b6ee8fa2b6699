#include "runtime/train/checkpoint_directory.h"

#include <algorithm>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::train {
namespace {

// A reader starts over if the writer has removed what it has just listed.
constexpr int kMostListings = 20;

// Of "step-000123" or "step-000123.1f….old".
std::optional<CheckpointName> NameOf(std::string_view name) {
  if (name.ends_with(kOldEnding)) name = name.substr(0, name.find('.'));
  return CheckpointName::Parse(name);
}

bool IsDamage(const Status& status) {
  return status.code() == Code::kDataLoss || status.code() == Code::kNotFound;
}

// A folder lacks files also if another one has taken its place between two looks into it: then it
// is looked into again.
Result<CheckpointReader> OpenFolder(const std::string& path, const ReadOptions& options) {
  for (int i = 1;; ++i) {
    Result<CheckpointReader> reader = CheckpointReader::Open(path, options);
    const bool lacks_files = !reader.ok() && reader.status().code() == Code::kNotFound;
    if (!lacks_files || i == kMostListings || !FileExists(path)) return reader;
  }
}

// Null if the checkpoint was removed between the listing and now.
Result<std::optional<OpenedCheckpoint>> OpenNewest(const std::string& directory,
                                                   const ReadOptions& options) {
  HR_ASSIGN_OR_RETURN(std::vector<CheckpointFolder> folders, ListCheckpoints(directory));
  std::vector<std::string> warnings;
  for (const CheckpointFolder& folder : folders) {
    Result<CheckpointReader> reader = OpenFolder(folder.path, options);
    if (reader.ok()) {
      return std::optional(OpenedCheckpoint{std::move(reader).value(), std::move(warnings)});
    }
    if (!IsDamage(reader.status())) return std::move(reader).status();
    if (!FileExists(folder.path)) return std::optional<OpenedCheckpoint>();
    warnings.push_back(
        Cat("checkpoint '", folder.path, "' is skipped: ", reader.status().message()));
  }
  if (warnings.empty()) return NotFound("there is no checkpoint in '", directory, "'");
  return DataLoss("no checkpoint in '", directory, "' is complete: ", Join(warnings, "; "));
}

}  // namespace

Result<std::vector<CheckpointFolder>> ListCheckpoints(const std::string& directory) {
  HR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(directory));
  std::vector<CheckpointFolder> folders;
  for (const std::string& name : names) {
    if (const auto parsed = NameOf(name)) folders.push_back({*parsed, JoinPath(directory, name)});
  }
  // Names are sorted, so the .old one of a step follows the step itself.
  std::ranges::stable_sort(folders, [](const CheckpointFolder& a, const CheckpointFolder& b) {
    return a.name.IsNewerThan(b.name);
  });
  return folders;
}

Result<OpenedCheckpoint> OpenCheckpoint(const std::string& path, const ReadOptions& options) {
  if (FileExists(JoinPath(path, kManifestName))) {
    HR_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(path, options));
    return OpenedCheckpoint{std::move(reader), {}};
  }
  for (int i = 0; i < kMostListings; ++i) {
    HR_ASSIGN_OR_RETURN(std::optional<OpenedCheckpoint> opened, OpenNewest(path, options));
    if (opened.has_value()) return *std::move(opened);
  }
  return Unavailable("the checkpoints in '", path, "' are replaced faster than they can be read; ",
                     "keep more of them");
}

Status RemoveOldCheckpoints(const std::string& directory, const CheckpointName& newest, int keep) {
  RemoveUnfinished(directory, newest.term);
  HR_ASSIGN_OR_RETURN(std::vector<CheckpointFolder> folders, ListCheckpoints(directory));
  int kept = 0;
  std::string previous;
  for (const CheckpointFolder& folder : folders) {
    if (folder.name.IsNewerThan(newest)) continue;
    const std::string name = folder.name.Text();
    const bool replaced = std::exchange(previous, name) == name;
    if (replaced || (keep > 0 && kept == keep)) {
      HR_RETURN_IF_ERROR(RemoveAside(folder.path));
    } else if (FileExists(JoinPath(folder.path, kManifestName))) {
      ++kept;
    }
  }
  return {};
}

}  // namespace hr::train
