#include "capi/src/train/handles.h"
#include "runtime/base/json_writer.h"
#include "runtime/data/callback_dataset.h"
#include "runtime/data/column_source.h"
#include "runtime/data/dataset_uri.h"
#include "runtime/data/example_dataset.h"
#include "runtime/data/prefetch_dataset.h"

namespace hr::capi {
namespace {

// A data set keeps its env, whose allocator its batches come from, also while only a call holds it.
struct HostedDataset {
  std::shared_ptr<session::Env> env;
  std::unique_ptr<data::Dataset> dataset;
};

hr_status* Give(hr_dataset** out, const hr_env* env, Result<std::unique_ptr<data::Dataset>> dataset,
                int64_t prefetch = 0) {
  if (dataset.ok() && prefetch > 0) {
    dataset = data::CreatePrefetchDataset(std::move(dataset).value(), prefetch);
  }
  if (!dataset.ok()) return Wrap(std::move(dataset).status());
  auto hosted =
      std::make_shared<HostedDataset>(HostedDataset{env->rep, std::move(dataset).value()});
  data::Dataset* inner = hosted->dataset.get();
  *out = new hr_dataset{env->rep, std::shared_ptr<data::Dataset>(std::move(hosted), inner)};
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
  return hr::capi::Give(out, env,
                        hr::data::OpenDataset(uri, {.allocator = &env->rep->allocator(),
                                                    .threads = &env->rep->threads()}));
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
      out, env,
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
      out, env, hr::capi::FromCallbacks(env, callbacks, field_count, fields, checked.batch, &data),
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

hr_status* hr_call_bind_dataset(hr_call* call, hr_dataset* dataset) {
  HR_REQUIRE(call);
  HR_USE(call);
  if (dataset == nullptr) return Wrap(call->rep->BindSource(nullptr));
  return Wrap(call->rep->BindSource(dataset->rep));
}

}  // extern "C"
