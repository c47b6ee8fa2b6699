#include "runtime/data/places.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::data {
namespace {

constexpr std::string_view kRemedy = "; set $HEADRACE_DATA or name another folder (--data)";

// Whether `name` is `pattern`, in which '*' stands for any characters.
bool Matches(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (size_t i = 0; i <= name.size(); ++i) {
    if (Matches(name.substr(i), pattern)) return true;
  }
  return false;
}

Result<std::vector<std::string>> Expand(const std::string& path, const DatasetOptions& options) {
  const std::string pattern(BaseName(path));
  if (pattern.find('*') == std::string::npos) {
    HR_ASSIGN_OR_RETURN(std::string found, FindPlace(path, options));
    return std::vector<std::string>{std::move(found)};
  }
  const std::vector<std::string> places = PlacesFor(path, options);
  for (const std::string& place : places) {
    const std::string folder(DirectoryOf(place));
    const auto names = ListDirectory(folder);
    std::vector<std::string> found;
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (Matches(name, pattern)) found.push_back(JoinPath(folder, name));
    }
    if (!found.empty()) return found;
  }
  return NotFound("no file matches ", Join(places, ", nor "), kRemedy);
}

}  // namespace

std::vector<std::string> PlacesFor(const std::string& path, const DatasetOptions& options) {
  std::vector<std::string> places{path};
  if (path.starts_with('/') || path.starts_with('.')) return places;
  std::string root = options.data_root;
  if (const char* variable = std::getenv("HEADRACE_DATA"); root.empty() && variable != nullptr) {
    root = variable;
  }
  if (!root.empty()) places.push_back(JoinPath(root, path));
  places.push_back(JoinPath("/usr/share/datasets", path));
  places.push_back(JoinPath("/usr/local/share/datasets", path));
  return places;
}

Result<std::string> FindPlace(const std::string& path, const DatasetOptions& options) {
  const std::vector<std::string> places = PlacesFor(path, options);
  for (const std::string& place : places) {
    if (FileExists(place)) return place;
  }
  return NotFound("no such file or folder: ", Join(places, ", nor "), kRemedy);
}

Result<std::vector<std::string>> FindFiles(std::string_view paths, const DatasetOptions& options) {
  std::vector<std::string> files;
  for (const std::string& path : SplitText(paths, ',')) {
    HR_ASSIGN_OR_RETURN(const std::vector<std::string> found, Expand(path, options));
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) return InvalidArgument("expected a file after ':' in the address");
  return files;
}

Result<std::string> FilesIdentity(std::span<const std::string> paths, const Query& query) {
  std::string text = query.FormatText();
  for (const std::string& path : paths) {
    HR_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(path));
    text += Cat(path, " ", stamp.bytes, " ", stamp.modified_nanos, "\n");
  }
  return text;
}

}  // namespace hr::data
