#include "runtime/data/dataset_uri.h"

#include <cmath>
#include <cstdlib>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/idx.h"
#include "runtime/data/memory_dataset.h"
#include "runtime/data/prefetch_dataset.h"
#include "runtime/data/uri.h"

namespace hr::data {
namespace {

struct IdxOptions {
  BatchOptions batch;
  float mean = 0;
  float deviation = 1;
  bool raw = false;
  bool normalize = false;
  int64_t prefetch = 0;
};

using Parse = Status (*)(std::string_view key, std::string_view value, IdxOptions* options);

struct Key {
  std::string_view name;
  Parse parse;
};

template <typename T, typename Member>
Status Put(Result<T> value, Member* member) {
  HR_ASSIGN_OR_RETURN(*member, std::move(value));
  return {};
}

Status ParseRepeat(std::string_view key, std::string_view value, IdxOptions* options) {
  if (value == "forever") {
    options->batch.repeat = kRepeatForever;
    return {};
  }
  HR_ASSIGN_OR_RETURN(options->batch.repeat, ParseIntOption(key, value));
  if (options->batch.repeat >= 1) return {};
  return InvalidArgument("expected at least 1 or 'forever' as 'repeat', got ", value);
}

Status ParseNormalize(std::string_view key, std::string_view value, IdxOptions* options) {
  size_t comma = value.find(',');
  if (comma == std::string_view::npos) {
    return InvalidArgument("expected MEAN,STD as 'normalize', got '", value, "'");
  }
  HR_ASSIGN_OR_RETURN(options->mean, ParseFloatOption(key, value.substr(0, comma)));
  HR_ASSIGN_OR_RETURN(options->deviation, ParseFloatOption(key, value.substr(comma + 1)));
  options->normalize = true;
  if (std::isfinite(options->mean) && std::isfinite(options->deviation) && options->deviation > 0) {
    return {};
  }
  return InvalidArgument("expected a finite MEAN and a STD above 0 as 'normalize', got '", value,
                         "'");
}

Status ParseShard(std::string_view key, std::string_view value, IdxOptions* options) {
  const size_t slash = value.find('/');
  if (slash == std::string_view::npos) {
    return InvalidArgument("expected INDEX/COUNT as 'shard', got '", value, "'");
  }
  Shard& shard = options->batch.shard;
  HR_ASSIGN_OR_RETURN(shard.index, ParseIntOption(key, value.substr(0, slash)));
  HR_ASSIGN_OR_RETURN(shard.count, ParseIntOption(key, value.substr(slash + 1)));
  return {};
}

constexpr Key kKeys[] = {
    {"batch",
     [](auto key, auto v, auto* o) { return Put(ParseIntOption(key, v), &o->batch.batch); }},
    {"shuffle",
     [](auto key, auto v, auto* o) { return Put(ParseBoolOption(key, v), &o->batch.shuffle); }},
    {"seed",
     [](auto key, auto v, auto* o) { return Put(ParseUintOption(key, v), &o->batch.seed); }},
    {"repeat", ParseRepeat},
    {"drop_remainder",
     [](auto key, auto v, auto* o) {
       return Put(ParseBoolOption(key, v), &o->batch.drop_remainder);
     }},
    {"shard", ParseShard},
    {"normalize", ParseNormalize},
    {"raw", [](auto key, auto v, auto* o) { return Put(ParseBoolOption(key, v), &o->raw); }},
    {"prefetch",
     [](auto key, auto v, auto* o) { return Put(ParseIntOption(key, v), &o->prefetch); }},
};

Status ParseKey(std::string_view key, std::string_view value, IdxOptions* options) {
  std::vector<std::string> names;
  for (const Key& known : kKeys) {
    if (known.name == key) return known.parse(key, value, options);
    names.emplace_back(known.name);
  }
  std::string_view close = ClosestWord(key, names);
  std::string hint = close.empty() ? "" : Cat("; did you mean '", close, "'?");
  return InvalidArgument("unknown key '", key, "' in the address of a data set; the keys are ",
                         Join(names), hint);
}

Result<IdxOptions> ParseOptions(const Uri& uri) {
  IdxOptions options;
  for (const auto& [key, value] : uri.query) {
    HR_RETURN_IF_ERROR(ParseKey(key, value, &options));
  }
  if (options.raw && options.normalize) {
    return InvalidArgument("'raw' gives bytes, which 'normalize' cannot change; use one of them");
  }
  if (options.prefetch < 0) {
    return InvalidArgument("expected at least 0 as 'prefetch', got ", options.prefetch);
  }
  return options;
}

std::vector<std::string> FoldersFor(const std::string& place, const DatasetOptions& options) {
  std::vector<std::string> folders{place};
  if (place.starts_with('/') || place.starts_with('.')) return folders;
  std::string root = options.data_root;
  if (const char* variable = std::getenv("HEADRACE_DATA"); root.empty() && variable != nullptr) {
    root = variable;
  }
  if (!root.empty()) folders.push_back(JoinPath(root, place));
  folders.push_back(JoinPath("/usr/share/datasets", place));
  folders.push_back(JoinPath("/usr/local/share/datasets", place));
  return folders;
}

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

Result<IdxFiles> FindFiles(const std::string& path, const DatasetOptions& options) {
  std::string split(BaseName(path));
  std::string place(DirectoryOf(path));
  if (split.empty() || path.find('/') == std::string::npos) {
    return InvalidArgument("expected idx:FOLDER/SPLIT, for example idx:fashion-mnist/train, got ",
                           "idx:", path);
  }
  std::vector<std::string> prefixes{split};
  if (split == "test") prefixes.emplace_back("t10k");
  std::vector<std::string> folders = FoldersFor(place, options);
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

std::vector<float> PixelMap(const IdxOptions& options) {
  std::vector<float> map(256);
  for (size_t v = 0; v < map.size(); ++v) {
    map[v] = (static_cast<float>(v) / 255.0f - options.mean) / options.deviation;
  }
  return map;
}

Result<Column> LoadImages(const std::string& path, const IdxOptions& options,
                          Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(Tensor images, ReadIdx(path, allocator));
  if (images.dtype() != DType::kUint8 || images.dims().size() < 3 || images.dims().size() > 4) {
    return InvalidArgument("expected '", path, "' to hold images as uint8[examples, height, width]",
                           " (or with channels before the height), found ", images.TypeText());
  }
  Column column = ColumnOf("images", std::move(images));
  Dims& dims = column.example_dims;
  if (dims.size() == 2) dims.insert(dims.begin(), 1);
  if (!options.raw) column.map = PixelMap(options);
  return column;
}

Result<Column> LoadLabels(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(Tensor bytes, ReadIdx(path, allocator));
  if (bytes.dtype() != DType::kUint8 || bytes.dims().size() != 1) {
    return InvalidArgument("expected '", path, "' to hold labels as uint8[examples], found ",
                           bytes.TypeText());
  }
  HR_ASSIGN_OR_RETURN(Tensor labels, Tensor::Create(allocator, DType::kInt64, bytes.dims()));
  std::span<uint8_t> from = bytes.span<uint8_t>();
  std::copy(from.begin(), from.end(), labels.as<int64_t>());
  return ColumnOf("labels", std::move(labels));
}

}  // namespace

Result<std::unique_ptr<Dataset>> OpenDataset(std::string_view uri_text,
                                             const DatasetOptions& where) {
  HR_ASSIGN_OR_RETURN(Uri uri, ParseUri(uri_text));
  if (uri.scheme != "idx") {
    return InvalidArgument("unknown kind of data set '", uri.scheme, "' in '",
                           WithoutQuery(uri_text), "'; the only one is idx");
  }
  HR_ASSIGN_OR_RETURN(IdxOptions options, ParseOptions(uri));
  HR_ASSIGN_OR_RETURN(IdxFiles files, FindFiles(uri.path, where));
  Allocator& allocator = where.allocator == nullptr ? SystemAllocator() : *where.allocator;
  std::vector<Column> columns;
  HR_ASSIGN_OR_RETURN(columns.emplace_back(), LoadImages(files.images, options, allocator));
  HR_ASSIGN_OR_RETURN(columns.emplace_back(), LoadLabels(files.labels, allocator));
  const int64_t images = columns[0].data.dims()[0], labels = columns[1].data.dims()[0];
  if (images != labels) {
    return InvalidArgument("'", files.labels, "' has ", labels, " labels, '", files.images,
                           "' has ", images, " images; give files that belong together");
  }
  HR_ASSIGN_OR_RETURN(auto dataset,
                      CreateMemoryDataset(std::move(columns), options.batch, allocator));
  if (options.prefetch == 0) return dataset;
  return CreatePrefetchDataset(std::move(dataset), options.prefetch);
}

}  // namespace hr::data
