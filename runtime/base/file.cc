#include "runtime/base/file.h"

#include "runtime/base/errors.h"
#include "runtime/base/temporary_path.h"

namespace hr {

Status WriteFileAtomically(const std::string& path, Bytes contents) {
  return WriteFileAtomically(path, [&](FileWriter& writer) { return writer.Write(contents); });
}

Status WriteFileAtomically(const std::string& path, FunctionRef<Status(FileWriter&)> write) {
  RemoveAbandonedOf(path);
  HR_ASSIGN_OR_RETURN(TemporaryPath temporary, TemporaryPath::File(path));
  HR_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(temporary.path()));
  HR_RETURN_IF_ERROR(write(writer));
  HR_RETURN_IF_ERROR(writer.Sync());
  HR_RETURN_IF_ERROR(writer.Close());
  HR_RETURN_IF_ERROR(temporary.RenameTo(path));
  return SyncDirectory(std::string(DirectoryOf(path)));
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/')) return std::string(name);
  return Cat(directory, directory.ends_with('/') ? "" : "/", name);
}

std::string_view DirectoryOf(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace hr
