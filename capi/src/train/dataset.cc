#include "capi/src/train/handles.h"
#include "capi/src/train/image_decoder.h"
#include "runtime/base/json_writer.h"
#include "runtime/data/cache.h"
#include "runtime/data/callback_dataset.h"
#include "runtime/data/column_source.h"
#include "runtime/data/dataset_uri.h"
#include "runtime/data/example_dataset.h"
#include "runtime/data/graph_map.h"
#include "runtime/data/prefetch_dataset.h"
#include "runtime/data/transform.h"

namespace hr::capi {
namespace {

// A data set keeps its env, whose allocator its batches come from, also while only a call holds it.
struct HostedDataset {
  std::shared_ptr<session::Env> env;
  std::unique_ptr<data::Dataset> dataset;
};

hr_status* Give(hr_dataset** out, const std::shared_ptr<session::Env>& env,
                Result<std::unique_ptr<data::Dataset>> dataset, int64_t prefetch = 0) {
  if (dataset.ok() && prefetch > 0) {
    dataset = data::CreatePrefetchDataset(std::move(dataset).value(), prefetch);
  }
  if (!dataset.ok()) return Wrap(std::move(dataset).status());
  auto hosted = std::make_shared<HostedDataset>(HostedDataset{env, std::move(dataset).value()});
  data::Dataset* inner = hosted->dataset.get();
  *out = new hr_dataset{env, std::shared_ptr<data::Dataset>(std::move(hosted), inner)};
  return nullptr;
}

struct CheckedOptions {
  data::BatchOptions batch;
  int64_t prefetch = 0;
};

Result<CheckedOptions> OptionsFrom(const hr_dataset_options* options) {
  HR_ASSIGN_OR_RETURN(hr_dataset_options copy, CopySized(options, "hr_dataset_options"));
  if (copy.batch < 0 || copy.prefetch < 0 || copy.repeat < -1) {
    return InvalidArgument(
        "a data set's batch and prefetch are not negative and repeat is at least -1, got ",
        copy.batch, ", ", copy.prefetch, " and ", copy.repeat);
  }
  CheckedOptions out{.batch = {.shuffle = copy.shuffle != 0,
                               .seed = copy.seed,
                               .drop_remainder = copy.drop_remainder != 0,
                               .shard = {.index = copy.shard_index}},
                     .prefetch = copy.prefetch};
  if (copy.batch > 0) out.batch.batch = copy.batch;
  if (copy.repeat != 0) out.batch.repeat = copy.repeat;
  if (copy.shard_count != 0) out.batch.shard.count = copy.shard_count;
  return out;
}

// The host's functions, called as the data set wants them.
class HostData {
 public:
  explicit HostData(const hr_dataset_callbacks& host) : host_(host) {}
  ~HostData() {
    if (taken_over_ && host_.release != nullptr) host_.release(host_.context);
  }
  // From now on the host's release function is called at the end.
  void TakeOver() { taken_over_ = true; }

  static Result<bool> Next(void* context, int64_t examples, std::span<Tensor> out) {
    return static_cast<HostData*>(context)->NextBatch(examples, out);
  }
  static Status Seek(void* context, int64_t epoch, int64_t example) {
    const hr_dataset_callbacks& host = static_cast<HostData*>(context)->host_;
    return plugin::FromC(host.seek(host.context, epoch, example));
  }
  static void Release(void* context) { delete static_cast<HostData*>(context); }

 private:
  Result<bool> NextBatch(int64_t examples, std::span<Tensor> out) {
    std::vector<hr_tensor*> handles;
    for (const Tensor& tensor : out)
      handles.push_back(tensor.defined() ? NewTensor(tensor) : nullptr);
    int32_t end = 0;
    Status status =
        plugin::FromC(host_.next(host_.context, examples, handles.size(), handles.data(), &end));
    for (size_t i = 0; i < handles.size(); ++i) {
      out[i] = handles[i] == nullptr ? Tensor() : handles[i]->rep;
      hr_tensor_release(handles[i]);
    }
    if (!status.ok()) return status;
    return end == 0;
  }

  const hr_dataset_callbacks host_;
  bool taken_over_ = false;
};

Result<std::unique_ptr<data::Dataset>> FromCallbacks(const hr_env* env,
                                                     const hr_dataset_callbacks* callbacks,
                                                     size_t count, const hr_dataset_field* fields,
                                                     const data::BatchOptions& options,
                                                     HostData** data) {
  HR_ASSIGN_OR_RETURN(hr_dataset_callbacks copy, CopySized(callbacks, "hr_dataset_callbacks"));
  if (copy.next == nullptr) return InvalidArgument("hr_dataset_callbacks.next must not be NULL");
  HR_ASSIGN_OR_RETURN(auto copies, CopySizedArray(fields, count, "hr_dataset_field"));
  std::vector<data::Field> inner;
  for (const hr_dataset_field& field : copies) {
    if (field.name == nullptr) return InvalidArgument("field ", inner.size(), " has no name");
    HR_ASSIGN_OR_RETURN(Dims dims, DimsFrom(field.rank, field.dims));
    inner.push_back({field.name, static_cast<DType>(field.dtype), std::move(dims)});
  }
  *data = new HostData(copy);
  data::DatasetCallbacks host{.context = *data,
                              .next = HostData::Next,
                              .seek = copy.seek == nullptr ? nullptr : HostData::Seek,
                              .release = HostData::Release,
                              .examples = copy.examples};
  return data::CreateCallbackDataset(std::move(inner), host, options, env->rep->allocator());
}

// The examples of a data set, with the names that its fields have now; null if they cannot be read
// by their numbers.
data::SourceRef SourceOf(const data::Dataset& dataset) {
  if (dataset.draw() == nullptr) return nullptr;
  return data::CreateRenamedSource(dataset.draw()->source, dataset.names());
}

// Other examples, drawn as those of `dataset`.
Result<std::unique_ptr<data::Dataset>> Redraw(const hr_dataset& dataset, data::SourceRef source) {
  data::Draw draw = *dataset.rep->draw();
  draw.source = std::move(source);
  return data::CreateExampleDataset(std::move(draw), dataset.env->allocator());
}

Result<std::unique_ptr<data::Dataset>> Map(const hr_dataset& dataset, const data::GraphStep& step,
                                           const CallLimits& limits) {
  Allocator& allocator = dataset.env->allocator();
  data::SourceRef source = SourceOf(*dataset.rep);
  if (source == nullptr) return data::CreateMapDataset(dataset.rep, step, allocator, limits);
  HR_ASSIGN_OR_RETURN(data::SourceRef mapped,
                      data::CreateMapSource(std::move(source), step, allocator, limits));
  return Redraw(dataset, std::move(mapped));
}

Result<std::unique_ptr<data::Dataset>> Filter(const hr_dataset& dataset,
                                              const data::GraphStep& step,
                                              const CallLimits& limits) {
  data::SourceRef source = SourceOf(*dataset.rep);
  if (source == nullptr) {
    return InvalidArgument("the examples of a host's data set cannot be read by their numbers; ",
                           "cache it first (hr_dataset_cache)");
  }
  HR_ASSIGN_OR_RETURN(
      data::SourceRef filtered,
      data::CreateFilterSource(std::move(source), step, dataset.env->allocator(), limits));
  return Redraw(dataset, std::move(filtered));
}

const char* OrEmpty(const char* text) { return text == nullptr ? "" : text; }

// What a cache file of the data set must have been made from.
Result<std::string> CacheIdentity(const data::SourceRef& source, const hr_cache_options& options) {
  const std::string files = source == nullptr ? "" : source->Identity();
  const std::string key = OrEmpty(options.key);
  if (options.path == nullptr || !files.empty() || !key.empty())
    return Cat(files, "key ", key, "\n");
  return InvalidArgument("whether '", options.path, "' has these examples cannot be known, since ",
                         "they do not come from files alone; give hr_cache_options.key, a text ",
                         "that changes when they do");
}

Result<data::Draw> DrawOfCache(const hr_dataset& dataset, const hr_cache_options& options) {
  if (options.options == nullptr && dataset.rep->draw() != nullptr) return *dataset.rep->draw();
  HR_ASSIGN_OR_RETURN(const CheckedOptions checked, OptionsFrom(options.options));
  return data::Draw{nullptr, checked.batch, checked.prefetch};
}

Result<std::unique_ptr<data::Dataset>> Cache(const hr_dataset& dataset,
                                             const hr_cache_options* given,
                                             const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const hr_cache_options options, CopySized(given, "hr_cache_options"));
  HR_ASSIGN_OR_RETURN(data::Draw draw, DrawOfCache(dataset, options));
  Allocator& allocator = dataset.env->allocator();
  data::SourceRef source = SourceOf(*dataset.rep);
  HR_ASSIGN_OR_RETURN(const std::string identity, CacheIdentity(source, options));
  const std::string path = OrEmpty(options.path);
  if (source != nullptr) {
    HR_ASSIGN_OR_RETURN(draw.source,
                        data::CacheExamples(std::move(source), path, identity, allocator, limits));
  } else if (path.empty()) {
    HR_ASSIGN_OR_RETURN(draw.source, data::CacheInMemory(*dataset.rep, allocator, limits));
  } else {
    HR_ASSIGN_OR_RETURN(draw.source, data::CacheInFile(path, identity, *dataset.rep, limits));
  }
  return data::CreateExampleDataset(std::move(draw), allocator);
}

Result<std::string> Describe(const data::Dataset& dataset) {
  HR_ASSIGN_OR_RETURN(const std::string position, dataset.Save());
  JsonWriter json;
  json.BeginObject().Key("fields").BeginArray();
  for (const data::Field& field : dataset.fields()) {
    json.BeginObject().Field("name", field.name).Field("dtype", DTypeName(field.dtype));
    json.Key("dims").Values(std::span<const int64_t>(field.dims)).EndObject();
  }
  json.EndArray().Key("batches");
  if (auto size = dataset.size()) {
    json.Value(*size);
  } else {
    json.Null();
  }
  json.Key("position").Raw(position).EndObject();
  return json.Take();
}

}  // namespace
}  // namespace hr::capi

using hr::capi::Wrap;

extern "C" {

hr_status* hr_dataset_open(hr_env* env, const char* uri, hr_dataset** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(uri);
  HR_REQUIRE(out);
  return hr::capi::Give(
      out, env->rep,
      hr::data::OpenDataset(uri, {.allocator = &env->rep->allocator(),
                                  .env = env->rep,
                                  .image_decoder = hr::capi::ImageDecoderOf(env->rep)}));
}

hr_status* hr_dataset_from_tensors(hr_env* env, size_t count, const char* const* names,
                                   const hr_tensor* const* tensors,
                                   const hr_dataset_options* options, hr_dataset** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(tensors);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::OptionsFrom(options));
  HR_ASSIGN_OR_WRAP(auto fields, hr::capi::StringsFrom(count, names, "names"));
  std::vector<hr::data::Column> columns;
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i] == nullptr) return hr::capi::NullElement(__func__, "tensors", i);
    HR_ASSIGN_OR_WRAP(hr::Tensor data, tensors[i]->rep.Contiguous(env->rep->allocator()));
    columns.push_back(hr::data::ColumnOf(std::move(fields[i]), std::move(data)));
  }
  HR_ASSIGN_OR_WRAP(auto source, hr::data::CreateColumnSource(std::move(columns)));
  return hr::capi::Give(
      out, env->rep,
      hr::data::CreateExampleDataset({std::move(source), checked.batch, checked.prefetch},
                                     env->rep->allocator()));
}

hr_status* hr_dataset_from_callbacks(hr_env* env, const hr_dataset_callbacks* callbacks,
                                     size_t field_count, const hr_dataset_field* fields,
                                     const hr_dataset_options* options, hr_dataset** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(callbacks);
  HR_REQUIRE(fields);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::OptionsFrom(options));
  hr::capi::HostData* data = nullptr;
  hr_status* failure = hr::capi::Give(
      out, env->rep,
      hr::capi::FromCallbacks(env, callbacks, field_count, fields, checked.batch, &data),
      checked.prefetch);
  if (failure == nullptr) data->TakeOver();
  return failure;
}

void hr_dataset_release(hr_dataset* dataset) { delete dataset; }

int hr_dataset_done(hr_dataset* dataset, const hr_limits* limits) {
  if (dataset == nullptr) return 1;
  auto checked = hr::capi::LimitsFrom(limits, dataset->env->clock());
  if (!checked.ok()) return 0;
  auto done = dataset->rep->Done(*checked);
  return done.ok() && *done ? 1 : 0;
}

int64_t hr_dataset_batches(const hr_dataset* dataset) {
  return dataset == nullptr ? -1 : dataset->rep->size().value_or(-1);
}

size_t hr_dataset_field_count(const hr_dataset* dataset) {
  return dataset == nullptr ? 0 : dataset->rep->field_count();
}

const char* hr_dataset_field_name(const hr_dataset* dataset, size_t index) {
  return dataset == nullptr ? nullptr : dataset->rep->field_name(index);
}

hr_status* hr_dataset_rewind(hr_dataset* dataset, const hr_limits* limits) {
  HR_REQUIRE(dataset);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  return Wrap(dataset->rep->Rewind(checked));
}

hr_status* hr_dataset_next(hr_dataset* dataset, const hr_limits* limits, hr_tensor** out) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(out);
  std::vector<hr::Tensor> batch(dataset->rep->field_count());
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  HR_ASSIGN_OR_WRAP(bool more, dataset->rep->Next(batch, checked));
  if (!more)
    return Wrap(hr::OutOfRange("the data set has no more data; rewind it or let it repeat"));
  for (size_t i = 0; i < batch.size(); ++i) out[i] = hr::capi::NewTensor(std::move(batch[i]));
  return nullptr;
}

hr_status* hr_dataset_rename(hr_dataset* dataset, const char* field, const char* name) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(field);
  HR_REQUIRE(name);
  return Wrap(dataset->rep->Rename(field, name));
}

hr_status* hr_dataset_map(hr_dataset* dataset, hr_session* session, const char* signature,
                          const hr_limits* limits, hr_dataset** out) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(session);
  HR_REQUIRE(signature);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  return hr::capi::Give(out, dataset->env,
                        hr::capi::Map(*dataset, {session->rep, signature, ""}, checked));
}

hr_status* hr_dataset_filter(hr_dataset* dataset, hr_session* session, const char* signature,
                             const hr_limits* limits, hr_dataset** out) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(session);
  HR_REQUIRE(signature);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  return hr::capi::Give(out, dataset->env,
                        hr::capi::Filter(*dataset, {session->rep, signature, ""}, checked));
}

hr_status* hr_dataset_cache(hr_dataset* dataset, const hr_cache_options* options,
                            const hr_limits* limits, hr_dataset** out) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  return hr::capi::Give(out, dataset->env, hr::capi::Cache(*dataset, options, checked));
}

hr_status* hr_dataset_describe(const hr_dataset* dataset, hr_text** out) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto text, hr::capi::Describe(*dataset->rep));
  return hr::capi::WrapText(out, std::move(text));
}

hr_status* hr_dataset_position(const hr_dataset* dataset, hr_text** out) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto text, dataset->rep->Save());
  return hr::capi::WrapText(out, std::move(text));
}

hr_status* hr_dataset_seek(hr_dataset* dataset, const char* position, const hr_limits* limits) {
  HR_REQUIRE(dataset);
  HR_REQUIRE(position);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  return Wrap(dataset->rep->Restore(position, checked));
}

hr_status* hr_dataset_reshard(hr_dataset* dataset, int64_t shard_index, int64_t shard_count,
                              const hr_limits* limits) {
  HR_REQUIRE(dataset);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, dataset->env->clock()));
  return Wrap(dataset->rep->Reshard({shard_index, shard_count}, checked));
}

hr_status* hr_call_bind_dataset(hr_call* call, hr_dataset* dataset) {
  HR_REQUIRE(call);
  HR_USE(call);
  if (dataset == nullptr) return Wrap(call->rep->BindSource(nullptr));
  return Wrap(call->rep->BindSource(dataset->rep));
}

}  // extern "C"
