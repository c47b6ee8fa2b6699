#include "runtime/data/transform.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/cache.h"
#include "runtime/data/example_dataset.h"
#include "runtime/data/graph_map.h"
#include "runtime/data/places.h"
#include "runtime/format/reader.h"

namespace hr::data {
namespace {

constexpr int64_t kBatch = 256;  // examples that are read at a time

Result<std::string> OnlySignature(const graph::Module& module, const std::string& file) {
  if (module.signatures.size() == 1) return module.signatures[0].name;
  std::vector<std::string> names;
  for (const graph::Signature& signature : module.signatures) names.push_back(signature.name);
  return InvalidArgument("'", file, "' has ", names.size(), " signatures (", Join(names),
                         "); say which, as in ", file, ":NAME");
}

// "FILE" or "FILE:SIGNATURE".
Result<GraphStep> LoadStep(const std::string& text, const DatasetOptions& options) {
  if (options.env == nullptr)
    return FailedPrecondition("a data set can be mapped by a model only within an env");
  const size_t colon = text.rfind(':');
  HR_ASSIGN_OR_RETURN(const std::string file, FindPlace(text.substr(0, colon), options));
  HR_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(file));
  HR_ASSIGN_OR_RETURN(auto module,
                      format::ReadModule(file, {.allocator = &options.env->allocator()}));
  HR_ASSIGN_OR_RETURN(auto model, session::Model::Create(options.env, std::move(module)));
  GraphStep step;
  HR_ASSIGN_OR_RETURN(step.session, session::Session::Create(model, {}));
  step.identity = Cat(file, " ", stamp.bytes, " ", stamp.modified_nanos);
  if (colon != std::string::npos) {
    step.signature = text.substr(colon + 1);
  } else {
    HR_ASSIGN_OR_RETURN(step.signature, OnlySignature(model->module(), file));
  }
  return step;
}

// "OLD:NEW" each, with commas between.
Result<SourceRef> Rename(SourceRef source, std::string_view pairs) {
  std::vector<std::string> names;
  for (const Field& field : source->fields()) names.push_back(field.name);
  for (const std::string& pair : SplitText(pairs, ',')) {
    const size_t colon = pair.find(':');
    if (colon == std::string::npos) return InvalidArgument("expected OLD:NEW, got '", pair, "'");
    const auto found = std::ranges::find(names, pair.substr(0, colon));
    if (found == names.end())
      return NotFound("there is no field '", pair.substr(0, colon), "' but", ListText(names));
    *found = pair.substr(colon + 1);
  }
  return CreateRenamedSource(std::move(source), names);
}

Result<SourceRef> Apply(SourceRef source, const Query::Item& item, const DatasetOptions& options) {
  const auto& [key, value] = item;
  if (key == "rename") return Rename(std::move(source), value);
  if (key == "cache") {
    const std::string identity = source->Identity();
    return CacheExamples(std::move(source), value == "memory" ? "" : value, identity,
                         *options.allocator, {});
  }
  HR_ASSIGN_OR_RETURN(const GraphStep step, LoadStep(value, options));
  const auto create = key == "map" ? CreateMapSource : CreateFilterSource;
  return create(std::move(source), step, *options.allocator, {});
}

}  // namespace

Result<SourceRef> CacheExamples(SourceRef source, const std::string& path,
                                std::string_view identity, Allocator& allocator,
                                const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const auto all,
                      CreateExampleDataset({std::move(source), {.batch = kBatch}}, allocator));
  if (path.empty()) return CacheInMemory(*all, allocator, limits);
  return CacheInFile(path, identity, *all, limits);
}

Result<SourceRef> Transform(SourceRef source, std::span<const Query::Item> items,
                            const DatasetOptions& options) {
  for (const Query::Item& item : items) {
    Result<SourceRef> changed = Apply(std::move(source), item, options);
    if (!changed.ok())
      return std::move(changed).status().WithContext(Cat(item.first, "=", item.second));
    source = *std::move(changed);
  }
  return source;
}

}  // namespace hr::data
