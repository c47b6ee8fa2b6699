#include "runtime/train/checkpoint_directory.h"

#include <algorithm>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::train {
namespace {

std::string_view Without(std::string_view name, std::string_view ending) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return name;
}

// Of "step-000123" or "step-000123.old".
std::optional<CheckpointName> NameOf(std::string_view name) {
  return CheckpointName::Parse(Without(name, kOldEnding));
}

bool IsDamage(const Status& status) {
  return status.code() == Code::kDataLoss || status.code() == Code::kNotFound;
}

// Renamed first, so that a crash in between leaves no half of it under its name.
Status RemoveCheckpoint(const std::string& path) {
  if (path.ends_with(kTemporaryEnding)) return RemoveTree(path);
  std::string doomed = Cat(path, kTemporaryEnding);
  if (FileExists(doomed)) HR_RETURN_IF_ERROR(RemoveTree(doomed));
  HR_RETURN_IF_ERROR(RenamePath(path, doomed));
  return RemoveTree(doomed);
}

Status RemoveBrokenOff(const std::string& directory, uint64_t term) {
  HR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    if (!name.ends_with(kTemporaryEnding)) continue;
    const auto parsed = NameOf(Without(name, kTemporaryEnding));
    if (!parsed.has_value() || parsed->term > term) continue;
    HR_RETURN_IF_ERROR(RemoveTree(JoinPath(directory, name)));
  }
  return RemoveUntaken(directory, term);
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
  HR_ASSIGN_OR_RETURN(std::vector<CheckpointFolder> folders, ListCheckpoints(path));
  std::vector<std::string> warnings;
  for (const CheckpointFolder& folder : folders) {
    Result<CheckpointReader> reader = CheckpointReader::Open(folder.path, options);
    if (reader.ok()) return OpenedCheckpoint{std::move(reader).value(), std::move(warnings)};
    if (!IsDamage(reader.status())) return std::move(reader).status();
    warnings.push_back(
        Cat("checkpoint '", folder.path, "' is skipped: ", reader.status().message()));
  }
  if (warnings.empty()) return NotFound("there is no checkpoint in '", path, "'");
  return DataLoss("no checkpoint in '", path, "' is whole: ", Join(warnings, "; "));
}

Status RemoveOldCheckpoints(const std::string& directory, const CheckpointName& newest, int keep) {
  HR_RETURN_IF_ERROR(RemoveBrokenOff(directory, newest.term));
  HR_ASSIGN_OR_RETURN(std::vector<CheckpointFolder> folders, ListCheckpoints(directory));
  int kept = 0;
  std::string previous;
  for (const CheckpointFolder& folder : folders) {
    if (folder.name.IsNewerThan(newest)) continue;
    const std::string name = folder.name.Text();
    const bool replaced = std::exchange(previous, name) == name;
    if (replaced || (keep > 0 && kept == keep)) {
      HR_RETURN_IF_ERROR(RemoveCheckpoint(folder.path));
    } else if (FileExists(JoinPath(folder.path, kManifestName))) {
      ++kept;
    }
  }
  return {};
}

}  // namespace hr::train
