// Data sets of files, of tensors, and of functions of the host.
#ifndef HEADRACE_CPP_DATASET_HPP_
#define HEADRACE_CPP_DATASET_HPP_

#include "headrace/cpp/comm.hpp"
#include "headrace/train.h"

namespace hr {
inline namespace cpp {

// The functions of a data set whose batches the host makes; the data set keeps them. They are
// called by one thread at a time; with prefetch this is a thread of the library. If one throws, the
// library reports a failure, but not the text of the exception.
struct HostData {
  // Makes the next batch and returns true, or returns false if the epoch is over. `batch` holds a
  // tensor of the declared shape for each field, or an empty handle if a dimension of the field is
  // -1. The function fills the tensor or replaces it. It must replace it if the handle is empty or
  // if the batch is smaller than declared.
  std::function<bool(std::vector<Tensor>& batch)> next;
  // Goes to the beginning of an epoch. Empty: the data can be read once.
  std::function<void(int64_t epoch)> reset;
  int64_t batches = -1;  // the exact number in an epoch; -1: unknown
};

// A field of a data set. `dims` is the largest shape of a batch; a dimension of -1 differs between
// batches.
struct Field {
  std::string name;
  hr_dtype dtype;
  std::vector<int64_t> dims;
};

namespace detail {

inline int next_batch(void* context, size_t count, hr_tensor** out) noexcept {
  std::vector<Tensor> batch;
  for (size_t i = 0; i < count; ++i) batch.emplace_back(out[i]);
  int code = 2;
  try {
    code = static_cast<HostData*>(context)->next(batch) ? 0 : 1;
  } catch (...) {  // `code` reports the failure
  }
  batch.resize(count);
  for (size_t i = 0; i < count; ++i) out[i] = batch[i].release();
  return code;
}

inline int reset_data(void* context, int64_t epoch) noexcept {
  try {
    static_cast<HostData*>(context)->reset(epoch);
    return 0;
  } catch (...) {
    return 2;
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
  // Of the options only repeat and prefetch are used.
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
    if (held->reset) callbacks.reset = detail::reset_data;
    callbacks.release = [](void* context) { delete static_cast<HostData*>(context); };
    callbacks.batches = held->batches;
    options.struct_size = sizeof options;
    Dataset out(detail::made<hr_dataset*>(hr_dataset_from_callbacks, env.get(), &callbacks,
                                          described.size(), described.data(), &options));
    held.release();
    return out;
  }

  // Returns true if the pass is over. It may have to wait for the next batch to find out.
  bool done() const { return hr_dataset_done(get()) != 0; }
  void rewind() { check(hr_dataset_rewind(get())); }
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
  std::string describe() const { return detail::text_of(hr_dataset_describe, get()); }
  // Return the position as JSON, and go back to such a position.
  std::string position() const { return detail::text_of(hr_dataset_position, get()); }
  void seek(const std::string& position) { check(hr_dataset_seek(get(), position.c_str())); }

 private:
  explicit Dataset(hr_dataset* owned) : Handle(owned) {}
};

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
