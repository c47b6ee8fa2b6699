#include "runtime/train/checkpoint_directory.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::train {
namespace {

// The step of "step-000123" or "step-000123.old".
std::optional<int64_t> StepOf(std::string_view name) {
  if (name.ends_with(kOldEnding)) name.remove_suffix(sizeof kOldEnding - 1);
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  std::string_view digits = name.substr(kPrefix.size());
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || step < 0 || name != StepName(step)) return std::nullopt;
  return step;
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

}  // namespace

Result<std::vector<CheckpointFolder>> ListCheckpoints(const std::string& directory) {
  HR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(directory));
  std::vector<CheckpointFolder> folders;
  for (const std::string& name : names) {
    if (std::optional<int64_t> step = StepOf(name)) {
      folders.push_back({*step, JoinPath(directory, name)});
    }
  }
  // Names are sorted, so the .old one of a step follows the step itself.
  std::ranges::stable_sort(folders, std::greater<>(), &CheckpointFolder::step);
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

Status RemoveOldCheckpoints(const std::string& directory, int64_t newest, int keep) {
  HR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    bool broken_off = name.starts_with("step-") && name.ends_with(kTemporaryEnding);
    if (broken_off) HR_RETURN_IF_ERROR(RemoveTree(JoinPath(directory, name)));
  }
  HR_ASSIGN_OR_RETURN(std::vector<CheckpointFolder> folders, ListCheckpoints(directory));
  int kept = 0;
  int64_t previous = -1;
  for (const CheckpointFolder& folder : folders) {
    if (folder.step > newest) continue;
    bool replaced = std::exchange(previous, folder.step) == folder.step;
    if (replaced || (keep > 0 && kept == keep)) {
      HR_RETURN_IF_ERROR(RemoveCheckpoint(folder.path));
    } else if (FileExists(JoinPath(folder.path, kManifestName))) {
      ++kept;
    }
  }
  return {};
}

}  // namespace hr::train
