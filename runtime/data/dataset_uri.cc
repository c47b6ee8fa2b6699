#include "runtime/data/dataset_uri.h"

#include "runtime/base/errors.h"
#include "runtime/data/example_dataset.h"
#include "runtime/data/formats.h"
#include "runtime/data/query.h"
#include "runtime/data/transform.h"

namespace hr::data {
namespace {

struct Format {
  std::string_view scheme;
  Result<SourceRef> (*open)(const std::string& path, Query& query, const DatasetOptions& options);
};

constexpr Format kFormats[] = {
    {"idx", OpenIdx}, {"cifar10", OpenCifar10}, {"cifar100", OpenCifar100}, {"npy", OpenNpy},
    {"npz", OpenNpz}, {"csv", OpenCsv},         {"text", OpenText},         {"images", OpenImages},
};

Result<const Format*> FindFormat(const Uri& uri, std::string_view text) {
  std::vector<std::string> names;
  for (const Format& format : kFormats) {
    if (format.scheme == uri.scheme) return &format;
    names.emplace_back(format.scheme);
  }
  return InvalidArgument("unknown kind of data set '", uri.scheme, "' in '", WithoutQuery(text),
                         "'; there are ", Join(names));
}

Status ReadRepeat(Query& query, int64_t* repeat) {
  HR_ASSIGN_OR_RETURN(const std::string* value, query.Find("repeat"));
  if (value == nullptr) return {};
  if (*value == "forever") {
    *repeat = kRepeatForever;
    return {};
  }
  HR_ASSIGN_OR_RETURN(*repeat, ParseIntOption("repeat", *value));
  if (*repeat >= 1) return {};
  return InvalidArgument("expected at least 1 or 'forever' as 'repeat', got ", *value);
}

Status ReadShard(Query& query, Shard* shard) {
  HR_ASSIGN_OR_RETURN(const std::string* value, query.Find("shard"));
  if (value == nullptr) return {};
  const size_t slash = value->find('/');
  if (slash == std::string::npos)
    return InvalidArgument("expected INDEX/COUNT as 'shard', got '", *value, "'");
  HR_ASSIGN_OR_RETURN(shard->index, ParseIntOption("shard", value->substr(0, slash)));
  HR_ASSIGN_OR_RETURN(shard->count, ParseIntOption("shard", value->substr(slash + 1)));
  return {};
}

Status ReadDraw(Query& query, Draw* draw) {
  BatchOptions& batch = draw->batch;
  HR_RETURN_IF_ERROR(query.Int("batch", &batch.batch));
  HR_RETURN_IF_ERROR(query.Bool("shuffle", &batch.shuffle));
  HR_RETURN_IF_ERROR(query.Uint("seed", &batch.seed));
  HR_RETURN_IF_ERROR(ReadRepeat(query, &batch.repeat));
  HR_RETURN_IF_ERROR(query.Bool("drop_remainder", &batch.drop_remainder));
  HR_RETURN_IF_ERROR(ReadShard(query, &batch.shard));
  return query.Int("prefetch", &draw->prefetch, 0);
}

}  // namespace

Result<std::unique_ptr<Dataset>> OpenDataset(std::string_view uri_text,
                                             const DatasetOptions& given) {
  DatasetOptions options = given;
  if (options.allocator == nullptr) options.allocator = &SystemAllocator();
  HR_ASSIGN_OR_RETURN(const Uri uri, ParseUri(uri_text));
  HR_ASSIGN_OR_RETURN(const Format* format, FindFormat(uri, uri_text));
  Query query(uri);
  Draw draw;
  HR_RETURN_IF_ERROR(ReadDraw(query, &draw));
  const std::vector<Query::Item> changes = query.All({"rename", "map", "filter", "cache"});
  query.BeginFormat();
  HR_ASSIGN_OR_RETURN(draw.source, format->open(uri.path, query, options));
  HR_ASSIGN_OR_RETURN(draw.source, Transform(draw.source, changes, options));
  return CreateExampleDataset(std::move(draw), *options.allocator);
}

}  // namespace hr::data
