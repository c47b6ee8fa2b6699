// Data sets: from files, tensors and functions of the host.
#ifndef HEADRACE_CPP_DATASET_HPP_
#define HEADRACE_CPP_DATASET_HPP_

#include "headrace/cpp/comm.hpp"
#include "headrace/train.h"

namespace hr {
inline namespace cpp {

// hr_dataset_callbacks with functions, which the data set keeps. They are called by one thread at a
// time, with prefetch by one of the library's. An exception is a failure, reported without its
// text.
struct HostData {
  // `batch` holds a tensor per field, of the declared shape, to be filled; or others are put in
  // their place: they must be where a dimension is -1 (then the given one is empty) and where the
  // batch is smaller. False: the epoch is over.
  std::function<bool(std::vector<Tensor>& batch)> next;
  // Goes back to the beginning of an epoch; empty: it is read once.
  std::function<void(int64_t epoch)> reset;
  int64_t batches = -1;  // of one epoch, exactly; -1: unknown
};

// A field of such a data set, with the largest shape of a batch; -1 where a dimension differs.
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
  } catch (...) {  // the code says so
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

class Dataset : public detail::Handle<hr_dataset, hr_dataset_release> {
 public:
  Dataset(const Env& env, const std::string& uri)
      : Handle(detail::made<hr_dataset*>(hr_dataset_open, env.get(), uri.c_str())) {}
  // Batches along the first dimension; struct_size of the options is set here and below.
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
  // Of the options only repeat and prefetch count.
  static Dataset from_host(const Env& env, const std::vector<Field>& fields, HostData data,
                           hr_dataset_options options = {}) {
    std::vector<hr_dataset_field> described;
    for (const Field& field : fields) {
      described.push_back({field.name.c_str(), field.dtype, field.dims.size(), field.dims.data()});
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

  // Where the pass is over. May wait for the next batch in order to know.
  bool done() const { return hr_dataset_done(get()) != 0; }
  void rewind() { check(hr_dataset_rewind(get())); }
  // Of one epoch; -1: unknown.
  int64_t batches() const { return hr_dataset_batches(get()); }
  std::vector<std::string> fields() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < hr_dataset_field_count(get()); ++i) {
      out.emplace_back(hr_dataset_field_name(get(), i));
    }
    return out;
  }
  // The next batch: a tensor per field. HR_OUT_OF_RANGE where the pass is over.
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
  // Where it stands, as JSON, and going back there.
  std::string position() const { return detail::text_of(hr_dataset_position, get()); }
  void seek(const std::string& position) { check(hr_dataset_seek(get(), position.c_str())); }

 private:
  explicit Dataset(hr_dataset* owned) : Handle(owned) {}
};

// hr_checkpoint_options with its struct_size set. keep 0: 5 checkpoints; -1: all. `group`: for
// which this process writes them.
inline hr_checkpoint_options checkpoint_options(int32_t keep, const Dataset* dataset = nullptr,
                                                const Group* group = nullptr) {
  hr_checkpoint_options out{};
  out.struct_size = sizeof out;
  out.keep = keep;
  out.dataset = dataset == nullptr ? nullptr : dataset->get();
  out.group = group == nullptr ? nullptr : group->get();
  return out;
}

// All checkpoints of a directory, or one, verified, as JSON.
inline std::string describe_checkpoints(const std::string& path) {
  return detail::text_of(hr_checkpoint_describe, path.c_str());
}

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_DATASET_HPP_
