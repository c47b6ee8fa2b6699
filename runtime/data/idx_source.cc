#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/formats.h"
#include "runtime/data/idx.h"
#include "runtime/data/pixels.h"
#include "runtime/data/places.h"

namespace hr::data {
namespace {

struct IdxFiles {
  std::string images;
  std::string labels;
};

// The file of `folder`, packed or not; empty if there is none.
std::string FindFile(const std::string& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    std::string path = Cat(JoinPath(folder, name), ending);
    if (FileExists(path)) return path;
  }
  return "";
}

Result<IdxFiles> FindIdx(const std::string& path, const DatasetOptions& options) {
  std::string split(BaseName(path));
  std::string place(DirectoryOf(path));
  if (split.empty() || path.find('/') == std::string::npos) {
    return InvalidArgument("expected idx:FOLDER/SPLIT, for example idx:fashion-mnist/train, got ",
                           "idx:", path);
  }
  std::vector<std::string> prefixes{split};
  if (split == "test") prefixes.emplace_back("t10k");
  std::vector<std::string> folders = PlacesFor(place, options);
  for (const std::string& folder : folders) {
    for (const std::string& prefix : prefixes) {
      IdxFiles files{FindFile(folder, Cat(prefix, "-images-idx3-ubyte")),
                     FindFile(folder, Cat(prefix, "-labels-idx1-ubyte"))};
      if (!files.images.empty() && !files.labels.empty()) return files;
    }
  }
  return NotFound("no data set 'idx:", path, "': looked for ", Join(prefixes, " or "),
                  "-images-idx3-ubyte and -labels-idx1-ubyte (also with .gz) in ", Join(folders),
                  "; install dataset-fashion-mnist, set $HEADRACE_DATA or name another folder "
                  "(--data)");
}

Result<Column> LoadImages(const std::string& path, const PixelOptions& pixels,
                          Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(Tensor images, ReadIdx(path, allocator));
  if (images.dtype() != DType::kUint8 || images.dims().size() < 3 || images.dims().size() > 4) {
    return InvalidArgument("expected '", path, "' to hold images as uint8[examples, height, width]",
                           " (or with channels before the height), found ", images.TypeText());
  }
  Column column = ColumnOf("images", std::move(images));
  Dims& dims = column.example_dims;
  if (dims.size() == 2) dims.insert(dims.begin(), 1);
  HR_ASSIGN_OR_RETURN(column.map, pixels.Map(dims[0]));
  return column;
}

Result<Column> LoadLabels(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(Tensor bytes, ReadIdx(path, allocator));
  if (bytes.dtype() != DType::kUint8 || bytes.dims().size() != 1) {
    return InvalidArgument("expected '", path, "' to hold labels as uint8[examples], found ",
                           bytes.TypeText());
  }
  Column column = ColumnOf("labels", std::move(bytes));
  column.widen = true;
  return column;
}

}  // namespace

Result<SourceRef> OpenIdx(const std::string& path, Query& query, const DatasetOptions& options) {
  HR_ASSIGN_OR_RETURN(const PixelOptions pixels, ReadPixelOptions(query));
  HR_RETURN_IF_ERROR(query.CheckKnown());
  HR_ASSIGN_OR_RETURN(const IdxFiles files, FindIdx(path, options));
  std::vector<Column> columns;
  HR_ASSIGN_OR_RETURN(columns.emplace_back(), LoadImages(files.images, pixels, *options.allocator));
  HR_ASSIGN_OR_RETURN(columns.emplace_back(), LoadLabels(files.labels, *options.allocator));
  const int64_t images = columns[0].parts[0].dims()[0], labels = columns[1].parts[0].dims()[0];
  if (images != labels) {
    return InvalidArgument("'", files.labels, "' has ", labels, " labels, '", files.images,
                           "' has ", images, " images; give files that belong together");
  }
  const std::string paths[] = {files.images, files.labels};
  HR_ASSIGN_OR_RETURN(std::string identity, FilesIdentity(paths, query));
  return CreateColumnSource(std::move(columns), std::move(identity));
}

}  // namespace hr::data
