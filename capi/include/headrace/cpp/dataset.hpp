// Data sets of files, of tensors, and of functions of the host.
#ifndef HEADRACE_CPP_DATASET_HPP_
#define HEADRACE_CPP_DATASET_HPP_

#include "headrace/cpp/comm.hpp"
#include "headrace/cpp/graph.hpp"
#include "headrace/cpp/tensor.hpp"
#include "headrace/train.h"

namespace hr {
inline namespace cpp {

class Session;

// The functions of a data set whose batches the host makes; the data set keeps them. They are
// called by one thread at a time; with prefetch this is a thread of the library. What they throw
// becomes an Error, with the code and text of the exception, of the call that needed the batch.
struct HostData {
  // Makes the next batch of `examples` examples and returns true, or returns false if the epoch is
  // over. Without shards the batch may have fewer. `batch` holds a tensor for each field, of the
  // declared shape but with `examples` as its first dimension, or an empty handle if a dimension of
  // the field is -1. The function fills the tensor or replaces it. It must replace it if the handle
  // is empty or if the batch is smaller.
  std::function<bool(int64_t examples, std::vector<Tensor>& batch)> next;
  // Makes the next batch begin with an example of an epoch. Empty: the data can be read once, from
  // its beginning, and has no shards.
  std::function<void(int64_t epoch, int64_t first_example)> seek;
  int64_t examples = -1;  // the exact number in an epoch, of all shards; -1: unknown
};

// A field of a data set. `dims` is the largest shape of a batch; a dimension of -1 differs between
// batches.
struct Field {
  std::string name;
  hr_dtype dtype;
  std::vector<int64_t> dims;
};

namespace detail {

inline hr_status* next_batch(void* context, int64_t examples, size_t count, hr_tensor** out,
                             int32_t* out_end) noexcept {
  std::vector<Tensor> batch;
  for (size_t i = 0; i < count; ++i) batch.emplace_back(out[i]);
  hr_status* failure = nullptr;
  try {
    *out_end = static_cast<HostData*>(context)->next(examples, batch) ? 0 : 1;
  } catch (...) {
    failure = status_of_exception();
  }
  batch.resize(count);
  for (size_t i = 0; i < count; ++i) out[i] = batch[i].release();
  return failure;
}

inline hr_status* seek_data(void* context, int64_t epoch, int64_t first_example) noexcept {
  try {
    static_cast<HostData*>(context)->seek(epoch, first_example);
    return nullptr;
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace detail

// A source of batches; see hr_dataset.
class Dataset : public detail::Handle<hr_dataset, hr_dataset_release> {
 public:
  Dataset(const Env& env, const std::string& uri)
      : Handle(detail::made<hr_dataset*>(hr_dataset_open, env.get(), uri.c_str())) {}
  // Makes batches along the first dimension of the tensors. The struct_size of the options is set
  // by this function and the next one.
  static Dataset from_tensors(const Env& env,
                              const std::vector<std::pair<std::string, const Tensor*>>& columns,
                              hr_dataset_options options = {}) {
    std::vector<const char*> names;
    std::vector<const hr_tensor*> tensors;
    for (const auto& [name, tensor] : columns) {
      names.push_back(name.c_str());
      tensors.push_back(tensor->get());
    }
    options.struct_size = sizeof options;
    return Dataset(detail::made<hr_dataset*>(hr_dataset_from_tensors, env.get(), names.size(),
                                             names.data(), tensors.data(), &options));
  }
  // Makes a data set of the host's functions; see hr_dataset_from_callbacks.
  static Dataset from_host(const Env& env, const std::vector<Field>& fields, HostData data,
                           hr_dataset_options options = {}) {
    std::vector<hr_dataset_field> described;
    for (const Field& field : fields) {
      described.push_back({sizeof(hr_dataset_field), field.name.c_str(), field.dtype,
                           field.dims.size(), field.dims.data()});
    }
    auto held = std::make_unique<HostData>(std::move(data));
    hr_dataset_callbacks callbacks{};
    callbacks.struct_size = sizeof callbacks;
    callbacks.context = held.get();
    if (held->next) callbacks.next = detail::next_batch;
    if (held->seek) callbacks.seek = detail::seek_data;
    callbacks.release = [](void* context) { delete static_cast<HostData*>(context); };
    callbacks.examples = held->examples;
    options.struct_size = sizeof options;
    Dataset out(detail::made<hr_dataset*>(hr_dataset_from_callbacks, env.get(), &callbacks,
                                          described.size(), described.data(), &options));
    held.release();
    return out;
  }

  // Returns true if the pass is over. It may have to wait for the next batch to find out. Returns
  // false, too, if that fails: the next read throws the failure.
  bool done(const hr_limits* limits = nullptr) const { return hr_dataset_done(get(), limits) != 0; }
  void rewind(const hr_limits* limits = nullptr) { check(hr_dataset_rewind(get(), limits)); }
  // Returns the number of batches in an epoch; -1 if it is unknown.
  int64_t batches() const { return hr_dataset_batches(get()); }
  std::vector<std::string> fields() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < hr_dataset_field_count(get()); ++i) {
      out.emplace_back(hr_dataset_field_name(get(), i));
    }
    return out;
  }
  // Returns the next batch, a tensor for each field. HR_OUT_OF_RANGE: the pass is over.
  std::vector<Tensor> next(const hr_limits* limits = nullptr) {
    std::vector<hr_tensor*> tensors(hr_dataset_field_count(get()));
    check(hr_dataset_next(get(), limits, tensors.data()));
    std::vector<Tensor> out;
    for (hr_tensor* tensor : tensors) out.emplace_back(tensor);
    return out;
  }
  void rename(const std::string& field, const std::string& name) {
    check(hr_dataset_rename(get(), field.c_str(), name.c_str()));
  }
  // See hr_dataset_map, hr_dataset_filter and hr_dataset_cache. The first two are defined in
  // headrace/cpp/session.hpp.
  Dataset map(const Session& session, const std::string& signature,
              const hr_limits* limits = nullptr) const;
  Dataset filter(const Session& session, const std::string& signature,
                 const hr_limits* limits = nullptr) const;
  Dataset cache(const hr_cache_options& options = {sizeof(hr_cache_options)},
                const hr_limits* limits = nullptr) const {
    return Dataset(detail::made<hr_dataset*>(hr_dataset_cache, get(), &options, limits));
  }

  std::string describe() const { return detail::text_of(hr_dataset_describe, get()); }
  // Return the position as JSON, and go back to such a position.
  std::string position() const { return detail::text_of(hr_dataset_position, get()); }
  void seek(const std::string& position, const hr_limits* limits = nullptr) {
    check(hr_dataset_seek(get(), position.c_str(), limits));
  }

 private:
  explicit Dataset(hr_dataset* owned) : Handle(owned) {}
};

inline std::string Graph::quantize(const std::string& signature, const std::string& settings,
                                   const std::string& patterns, const Dataset* data,
                                   const hr_limits* limits) {
  return detail::text_of(hr_graph_quantize, get(), signature.c_str(), settings.c_str(),
                         detail::or_null(patterns), data == nullptr ? nullptr : data->get(),
                         limits);
}

// Returns an hr_checkpoint_options with its struct_size set. keep 0: 5 checkpoints; -1: all.
// `group` is the group for which this process writes them.
inline hr_checkpoint_options checkpoint_options(int32_t keep, const Dataset* dataset = nullptr,
                                                const Group* group = nullptr) {
  hr_checkpoint_options out{};
  out.struct_size = sizeof out;
  out.keep = keep;
  out.dataset = dataset == nullptr ? nullptr : dataset->get();
  out.group = group == nullptr ? nullptr : group->get();
  return out;
}

// Verifies a checkpoint, or all checkpoints of a directory, and describes them as JSON.
inline std::string describe_checkpoints(const std::string& path) {
  return detail::text_of(hr_checkpoint_describe, path.c_str());
}

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_DATASET_HPP_
