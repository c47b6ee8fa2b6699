// Sessions, calls, and runs in the background.
#ifndef HEADRACE_CPP_SESSION_HPP_
#define HEADRACE_CPP_SESSION_HPP_

#include "headrace/cpp/dataset.hpp"
#include "headrace/cpp/model.hpp"
#include "headrace/cpp/queue.hpp"
#include "headrace/session.h"

namespace hr {
inline namespace cpp {

// The variables and compiled plans of a model; see hr_session.
class Session : public detail::Handle<hr_session, hr_session_release> {
 public:
  explicit Session(const Model& model, uint64_t seed = 0) : Session(model, with_seed(seed)) {}
  Session(const Model& model, const hr_session_options& options, const hr_limits* limits = nullptr)
      : Handle(detail::made<hr_session*>(hr_session_create, model.get(), &options, limits)) {}

  // Runs once, with any values as feeds and fetches; see hr_session_run.
  std::vector<Tensor> run(const std::vector<std::pair<std::string, const Tensor*>>& feeds,
                          const std::vector<std::string>& fetches,
                          const std::vector<std::string>& targets = {},
                          const hr_limits* limits = nullptr) {
    std::vector<const char*> feed_names;
    std::vector<const hr_tensor*> tensors;
    for (const auto& [name, tensor] : feeds) {
      feed_names.push_back(name.c_str());
      tensors.push_back(tensor->get());
    }
    auto fetch_names = detail::pointers(fetches);
    auto target_names = detail::pointers(targets);
    std::vector<hr_tensor*> outputs(fetches.size());
    check(hr_session_run(get(), feeds.size(), feed_names.data(), tensors.data(), fetches.size(),
                         fetch_names.data(), targets.size(), target_names.data(), limits,
                         outputs.data()));
    std::vector<Tensor> out;
    out.reserve(outputs.size());
    for (hr_tensor* tensor : outputs) out.emplace_back(tensor);
    return out;
  }
  std::vector<std::string> variables() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < hr_session_variable_count(get()); ++i) {
      out.emplace_back(hr_session_variable_name(get(), i));
    }
    return out;
  }
  Tensor variable(const std::string& name, const hr_limits* limits = nullptr) const {
    return Tensor(detail::made<hr_tensor*>(hr_session_get_variable, get(), name.c_str(), limits));
  }
  void set_variable(const std::string& name, const Tensor& value,
                    const hr_limits* limits = nullptr) {
    check(hr_session_set_variable(get(), name.c_str(), value.get(), limits));
  }
  int64_t step() const { return hr_session_step(get()); }
  void trim() { hr_session_trim(get()); }
  void close() { hr_session_close(get()); }
  std::string describe() const { return detail::text_of(hr_session_describe, get()); }

  // Writes a checkpoint; see hr_session_save and checkpoint_options.
  void save(const std::string& directory, const hr_checkpoint_options* options = nullptr,
            const hr_limits* limits = nullptr) const {
    check(hr_session_save(get(), directory.c_str(), options, limits));
  }
  // Restores a checkpoint and returns {"path", "step", "warnings"} as JSON.
  std::string restore(const std::string& path, const hr_checkpoint_options* options = nullptr,
                      const hr_limits* limits = nullptr) {
    return detail::text_of(hr_session_restore, get(), path.c_str(), options, limits);
  }
  // Writes a file for serving: the named signatures, with the present values of the variables as
  // initial values.
  void save_model(const std::string& path, const std::vector<std::string>& signatures,
                  const hr_save_options* options = nullptr,
                  const hr_limits* limits = nullptr) const {
    check(hr_session_export(get(), path.c_str(), signatures.size(),
                            detail::pointers(signatures).data(), options, limits));
  }
  // The sub-group in which nodes that name it communicate; see hr_session_bind_group.
  void bind_group(const std::string& name, const Group& group, const hr_limits* limits = nullptr) {
    check(hr_session_bind_group(get(), name.c_str(), group.get(), limits));
  }
  void unbind_group(const std::string& name) {
    check(hr_session_bind_group(get(), name.c_str(), nullptr, nullptr));
  }
  // All ranks get the variables of `root`.
  void broadcast(const std::string& name, int32_t root = 0, const hr_limits* limits = nullptr) {
    check(hr_session_broadcast(get(), name.c_str(), root, limits));
  }
  // The low-rank adapters alone, as a safetensors file.
  void save_adapters(const std::string& path, const hr_limits* limits = nullptr) const {
    check(hr_session_save_adapters(get(), path.c_str(), limits));
  }
  void load_adapters(const std::string& path, const hr_limits* limits = nullptr) {
    check(hr_session_load_adapters(get(), path.c_str(), limits));
  }

 private:
  static hr_session_options with_seed(uint64_t seed) {
    hr_session_options out{};
    out.struct_size = sizeof out;
    out.seed = seed;
    return out;
  }
};

// A run in the background. Destroying the handle does not end the run.
class Run : public detail::Handle<hr_run, hr_run_release> {
 public:
  explicit Run(hr_run* owned) : Handle(owned) {}
  bool test() { return hr_run_test(get()) != 0; }
  void wait(const hr_limits* limits = nullptr) { check(hr_run_wait(get(), limits)); }
  void cancel() { hr_run_cancel(get()); }
  // Puts the run into a queue when it has ended.
  void enqueue(const Queue& queue, uint64_t key) { check(hr_run_enqueue(get(), queue.get(), key)); }
  // Calls `callback` once when the run has ended, on a thread for callbacks; see hr_run_on_done.
  // `failure` is nullptr if the run succeeded. The callback must not throw.
  using Callback = std::function<void(const Error* failure)>;
  void on_done(Callback callback) {
    auto* held = new Callback(std::move(callback));  // done() deletes it
    hr_status* status = hr_run_on_done(get(), done, held);
    if (status != nullptr) delete held;
    check(status);
  }

 private:
  static void done(void* context, const hr_status* status) noexcept {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(context));
    if (status == nullptr) {
      (*callback)(nullptr);
    } else {
      const Error failure(*status);
      (*callback)(&failure);
    }
  }
};

// A prepared run; see hr_call.
class Call : public detail::Handle<hr_call, hr_call_release> {
 public:
  Call(const Session& session, const std::string& signature)
      : Handle(detail::made<hr_call*>(hr_call_create, session.get(), signature.c_str())) {}
  // A call with any values as inputs and outputs and any nodes as targets.
  Call(const Session& session, const std::vector<std::string>& feeds,
       const std::vector<std::string>& fetches, const std::vector<std::string>& targets = {})
      : Handle(detail::made<hr_call*>(hr_call_create_custom, session.get(), feeds.size(),
                                      detail::pointers(feeds).data(), fetches.size(),
                                      detail::pointers(fetches).data(), targets.size(),
                                      detail::pointers(targets).data())) {}
  Call& bind(const std::string& input, const Tensor& tensor) {
    check(hr_call_bind(get(), input.c_str(), tensor.get()));
    return *this;
  }
  Call& bind(const std::string& input, double number) {
    check(hr_call_bind_scalar(get(), input.c_str(), number));
    return *this;
  }
  Call& bind(const Dataset& dataset) {
    check(hr_call_bind_dataset(get(), dataset.get()));
    return *this;
  }
  // Makes the call take no batches any more.
  Call& unbind_dataset() {
    check(hr_call_bind_dataset(get(), nullptr));
    return *this;
  }
  Call& output(const std::string& name, void* data, size_t bytes) {
    check(hr_call_output(get(), name.c_str(), data, bytes));
    return *this;
  }
  // Makes runs write the output to the tensor; see hr_call_bind_output.
  Call& output(const std::string& name, const Tensor& tensor) {
    check(hr_call_bind_output(get(), name.c_str(), tensor.get()));
    return *this;
  }
  void unbind(const std::string& input) { check(hr_call_bind(get(), input.c_str(), nullptr)); }
  // Makes runs write the output to memory of the call again.
  void unbind_output(const std::string& name) {
    check(hr_call_bind_output(get(), name.c_str(), nullptr));
  }
  struct Type {
    hr_dtype dtype;
    std::vector<int64_t> dims;
  };
  // Returns the type of an output for the inputs that are bound now.
  Type output_type(const std::string& name) {
    Type out{};
    size_t rank = 0;
    const int64_t* dims = nullptr;
    check(hr_call_output_type(get(), name.c_str(), &out.dtype, &rank, &dims));
    out.dims.assign(dims, dims + rank);
    return out;
  }
  void run(const hr_limits* limits = nullptr) { check(hr_call_run(get(), limits)); }
  Run start(const hr_limits* limits = nullptr) {
    return Run(detail::made<hr_run*>(hr_call_start, get(), limits));
  }
  Tensor result(const std::string& name) const {
    return Tensor(detail::made<hr_tensor*>(hr_call_result, get(), name.c_str()));
  }
  // Returns an output of the last run and gives its memory away; see hr_call_take_result.
  Tensor take_result(const std::string& name) {
    return Tensor(detail::made<hr_tensor*>(hr_call_take_result, get(), name.c_str()));
  }
  // Describes the plan for the shapes that are bound now as JSON.
  std::string describe() const { return detail::text_of(hr_call_describe, get()); }
  // Runs the call, and describes what the run did, step by step, as JSON; see hr_call_profile.
  std::string profile(const hr_limits* limits = nullptr) {
    return detail::text_of(hr_call_profile, get(), limits);
  }
};

inline Dataset Dataset::map(const Session& session, const std::string& signature,
                            const hr_limits* limits) const {
  return Dataset(
      detail::made<hr_dataset*>(hr_dataset_map, get(), session.get(), signature.c_str(), limits));
}
inline Dataset Dataset::filter(const Session& session, const std::string& signature,
                               const hr_limits* limits) const {
  return Dataset(detail::made<hr_dataset*>(hr_dataset_filter, get(), session.get(),
                                           signature.c_str(), limits));
}

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_SESSION_HPP_
