#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/column_source.h"
#include "runtime/data/formats.h"
#include "runtime/data/npy.h"
#include "runtime/data/places.h"

namespace hr::data {
namespace {

Result<Column> ColumnFrom(std::string name, NpyArray array, std::string_view path) {
  if (array.tensor.dims().empty()) {
    return InvalidArgument("'", path, "': array '", name, "' is a single number; expected a ",
                           "dimension 0 that counts the examples");
  }
  Column column = ColumnOf(std::move(name), std::move(array.tensor));
  column.swap = array.swap;
  return column;
}

// "folder/x_train.npy" is the field x_train.
std::string FieldName(const std::string& path) {
  std::string_view name = BaseName(path);
  if (name.ends_with(".npy")) name.remove_suffix(4);
  return std::string(name);
}

}  // namespace

Result<SourceRef> OpenNpy(const std::string& path, Query& query, const DatasetOptions& options) {
  HR_RETURN_IF_ERROR(query.CheckKnown());
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> files, FindFiles(path, options));
  std::vector<Column> columns;
  for (const std::string& file : files) {
    HR_ASSIGN_OR_RETURN(const BufferRef buffer, MapFile(file));
    HR_ASSIGN_OR_RETURN(NpyArray array, ParseNpy(buffer, 0, buffer->bytes(), file));
    HR_ASSIGN_OR_RETURN(columns.emplace_back(),
                        ColumnFrom(FieldName(file), std::move(array), file));
  }
  HR_ASSIGN_OR_RETURN(std::string identity, FilesIdentity(files, query));
  return CreateColumnSource(std::move(columns), std::move(identity));
}

Result<SourceRef> OpenNpz(const std::string& path, Query& query, const DatasetOptions& options) {
  std::vector<std::string> names;
  HR_RETURN_IF_ERROR(query.List("arrays", &names));
  HR_RETURN_IF_ERROR(query.CheckKnown());
  HR_ASSIGN_OR_RETURN(const std::string file, FindPlace(path, options));
  HR_ASSIGN_OR_RETURN(const BufferRef buffer, MapFile(file));
  HR_ASSIGN_OR_RETURN(std::vector<NpzArray> arrays,
                      ReadNpz(buffer, names, file, *options.allocator));
  std::vector<Column> columns;
  for (NpzArray& array : arrays) {
    HR_ASSIGN_OR_RETURN(columns.emplace_back(),
                        ColumnFrom(std::move(array.name), std::move(array.array), file));
  }
  HR_ASSIGN_OR_RETURN(std::string identity, FilesIdentity(std::span(&file, 1), query));
  return CreateColumnSource(std::move(columns), std::move(identity));
}

}  // namespace hr::data
