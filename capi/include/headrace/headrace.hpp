// C++ over the C interface: RAII handles and exceptions, header-only (C++17). Each class owns one
// handle; all are movable, and get() gives the handle for what is not wrapped here.
//
//   hr::Env env;
//   hr::Model model = hr::Model::load(env, "lenet.hrg");
//   hr::Session session(model);
//   hr::Dataset data(env, "idx:fashion-mnist/train?batch=64&shuffle=1&seed=7");
//   hr::Call step(session, "train");
//   float loss;
//   step.bind(data).bind("learning_rate", 0.05).output("loss", &loss, sizeof loss);
//   while (!data.done()) step.run();
#ifndef HEADRACE_HEADRACE_HPP_
#define HEADRACE_HEADRACE_HPP_

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/headrace.h"

namespace hr {

// A failed call: what() is the message, with the node where one applies.
class Error : public std::runtime_error {
 public:
  explicit Error(hr_status* status)
      : std::runtime_error(text(status)),
        code_(hr_status_code(status)),
        node_(hr_status_node(status)) {
    hr_status_release(status);
  }
  hr_code code() const { return code_; }
  // what() without the code's name before it.
  const char* message() const { return what() + std::strlen(hr_code_name(code_)) + 2; }
  const std::string& node() const { return node_; }

 private:
  static std::string text(const hr_status* status) {
    std::string out =
        std::string(hr_code_name(hr_status_code(status))) + ": " + hr_status_message(status);
    if (*hr_status_node(status) != '\0')
      out += " (node '" + std::string(hr_status_node(status)) + "')";
    return out;
  }
  hr_code code_;
  std::string node_;
};

inline void check(hr_status* status) {
  if (status != nullptr) throw Error(status);
}

namespace detail {

template <typename T, void (*Release)(T*)>
class Handle {
 public:
  T* get() const { return handle_.get(); }
  explicit operator bool() const { return handle_ != nullptr; }

 protected:
  Handle() = default;
  explicit Handle(T* handle) : handle_(handle) {}
  void reset(T* handle) { handle_.reset(handle); }

 private:
  struct Deleter {
    void operator()(T* handle) const { Release(handle); }
  };
  std::unique_ptr<T, Deleter> handle_;
};

inline std::string take(hr_text* text) {
  std::string out(hr_text_data(text), hr_text_size(text));
  hr_text_release(text);
  return out;
}

inline std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(name.c_str());
  return out;
}

}  // namespace detail

class Cancel : public detail::Handle<hr_cancel, hr_cancel_release> {
 public:
  Cancel() {
    hr_cancel* out;
    check(hr_cancel_create(&out));
    reset(out);
  }
  void trigger() { hr_cancel_trigger(get()); }
};

// hr_limits with its struct_size set.
inline hr_limits limits(int64_t timeout_nanos, const Cancel* cancel = nullptr) {
  hr_limits out{};
  out.struct_size = sizeof out;
  out.cancel = cancel == nullptr ? nullptr : cancel->get();
  out.timeout_nanos = timeout_nanos;
  return out;
}

class Env : public detail::Handle<hr_env, hr_env_release> {
 public:
  // threads 0: as many as processors.
  explicit Env(int threads = 0) {
    hr_env_options options{};
    options.struct_size = sizeof options;
    options.threads = threads;
    create(&options);
  }
  explicit Env(const hr_env_options& options) { create(&options); }
  void load_plugin(const std::string& name_or_path) {
    check(hr_env_load_plugin(get(), name_or_path.c_str()));
  }
  // Before the first model.
  void add_operator(const hr_operator& op) { check(hr_env_add_operator(get(), &op)); }
  std::string describe() const {
    hr_text* text;
    check(hr_env_describe(get(), &text));
    return detail::take(text);
  }

 private:
  void create(const hr_env_options* options) {
    hr_env* out;
    check(hr_env_create(options, &out));
    reset(out);
  }
};

class Tensor : public detail::Handle<hr_tensor, hr_tensor_release> {
 public:
  Tensor() = default;
  explicit Tensor(hr_tensor* owned) : Handle(owned) {}
  Tensor(const Env& env, hr_dtype dtype, const std::vector<int64_t>& dims) {
    hr_tensor* out;
    check(hr_tensor_create(env.get(), dtype, dims.size(), dims.data(), &out));
    reset(out);
  }
  // Uses the memory in place; the caller keeps it alive.
  static Tensor wrap(hr_dtype dtype, const std::vector<int64_t>& dims, void* data, size_t bytes) {
    hr_tensor* out;
    check(hr_tensor_wrap(dtype, dims.size(), dims.data(), data, bytes, nullptr, nullptr, &out));
    return Tensor(out);
  }
  hr_dtype dtype() const { return hr_tensor_dtype(get()); }
  std::vector<int64_t> dims() const {
    const int64_t* dims = hr_tensor_dims(get());
    return {dims, dims + hr_tensor_rank(get())};
  }
  int64_t elements() const { return hr_tensor_elements(get()); }
  size_t bytes() const { return hr_tensor_bytes(get()); }
  template <typename T>
  T* data() const {
    return static_cast<T*>(hr_tensor_data(get()));
  }
};

class Graph : public detail::Handle<hr_graph, hr_graph_release> {
 public:
  explicit Graph(const Env& env) {
    hr_graph* out;
    check(hr_graph_create(env.get(), &out));
    reset(out);
  }
  // A dimension of -1 is unknown until a run; `symbols` may name those, "" for none.
  hr_value input(const std::string& name, hr_dtype dtype, const std::vector<int64_t>& dims,
                 const std::vector<std::string>& symbols = {}) {
    std::vector<const char*> names(dims.size(), nullptr);
    for (size_t i = 0; i < symbols.size() && i < names.size(); ++i) {
      if (!symbols[i].empty()) names[i] = symbols[i].c_str();
    }
    hr_value out;
    check(hr_graph_input(get(), name.c_str(), dtype, dims.size(), dims.data(), names.data(), &out));
    return out;
  }
  // Of a dimension that inputs name; see hr_graph_bound.
  void bound(const std::string& symbol, int64_t min, int64_t max,
             const std::vector<int64_t>& buckets = {}) {
    check(hr_graph_bound(get(), symbol.c_str(), min, max, buckets.size(), buckets.data()));
  }
  // Of the nodes that follow; "": where the session wants.
  void device(const std::string& name) { check(hr_graph_device(get(), name.c_str())); }
  hr_value constant(const Tensor& tensor, const char* name = nullptr) {
    hr_value out;
    check(hr_graph_constant(get(), name, tensor.get(), &out));
    return out;
  }
  hr_variable variable(const std::string& name, const Tensor& initial, bool trainable = true) {
    hr_variable out;
    check(hr_graph_variable(get(), name.c_str(), initial.get(), trainable ? 1 : 0, &out));
    return out;
  }
  hr_value read(hr_variable variable) {
    hr_value out;
    check(hr_graph_read(get(), variable, &out));
    return out;
  }
  // The first output of a new node; attributes as text: "kernel_shape=2,2 strides=2,2".
  hr_value op(const std::string& name, std::initializer_list<hr_value> inputs,
              const std::string& attributes = "") {
    hr_value out;
    check(hr_graph_op(get(), name.c_str(), attributes.c_str(), inputs.size(), inputs.begin(), 1,
                      &out));
    return out;
  }
  hr_value dense(const std::string& name, hr_value x, int64_t units) {
    hr_value out;
    check(hr_graph_dense(get(), name.c_str(), x, units, &out));
    return out;
  }
  hr_value conv2d(const std::string& name, hr_value x, int64_t channels, int64_t kernel,
                  const std::string& attributes = "") {
    hr_value out;
    check(hr_graph_conv2d(get(), name.c_str(), x, channels, kernel, attributes.c_str(), &out));
    return out;
  }
  std::vector<hr_value> gradients(hr_value y, const std::vector<hr_value>& xs) {
    std::vector<hr_value> out(xs.size());
    check(hr_graph_add_gradients(get(), y, xs.size(), xs.data(), out.data()));
    return out;
  }
  void minimize(const std::string& signature, hr_value loss, const std::string& optimizer,
                hr_value learning_rate) {
    check(hr_graph_minimize(get(), signature.c_str(), loss, optimizer.c_str(), learning_rate));
  }
  Graph& signature_input(const std::string& signature, const std::string& name, hr_value value) {
    check(hr_graph_signature_input(get(), signature.c_str(), name.c_str(), value));
    return *this;
  }
  Graph& signature_output(const std::string& signature, const std::string& name, hr_value value) {
    check(hr_graph_signature_output(get(), signature.c_str(), name.c_str(), value));
    return *this;
  }
  void save(const std::string& path) const { check(hr_graph_save(get(), path.c_str(), nullptr)); }
};

class Model : public detail::Handle<hr_model, hr_model_release> {
 public:
  static Model load(const Env& env, const std::string& path,
                    const hr_load_options* options = nullptr) {
    hr_model* out;
    check(hr_model_load(env.get(), path.c_str(), options, &out));
    return Model(out);
  }
  explicit Model(const Graph& graph) {
    hr_model* out;
    check(hr_model_from_graph(graph.get(), &out));
    reset(out);
  }
  std::string describe() const {
    hr_text* text;
    check(hr_model_describe(get(), &text));
    return detail::take(text);
  }

 private:
  explicit Model(hr_model* owned) : Handle(owned) {}
};

class Session : public detail::Handle<hr_session, hr_session_release> {
 public:
  explicit Session(const Model& model, uint64_t seed = 0) {
    hr_session_options options{};
    options.struct_size = sizeof options;
    options.seed = seed;
    create(model, options);
  }
  Session(const Model& model, const hr_session_options& options) { create(model, options); }

  // Any values as feeds and fetches.
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
  Tensor variable(const std::string& name) const {
    hr_tensor* out;
    check(hr_session_get_variable(get(), name.c_str(), &out));
    return Tensor(out);
  }
  void set_variable(const std::string& name, const Tensor& value) {
    check(hr_session_set_variable(get(), name.c_str(), value.get()));
  }
  int64_t step() const { return hr_session_step(get()); }
  void trim() { hr_session_trim(get()); }
  void close() { hr_session_close(get()); }
  std::string describe() const {
    hr_text* text;
    check(hr_session_describe(get(), &text));
    return detail::take(text);
  }
  void save(const std::string& directory, const hr_checkpoint_options* options = nullptr) const {
    check(hr_session_save(get(), directory.c_str(), options));
  }
  void restore(const std::string& path, const hr_checkpoint_options* options = nullptr) {
    check(hr_session_restore(get(), path.c_str(), options, nullptr));
  }

 private:
  void create(const Model& model, const hr_session_options& options) {
    hr_session* out;
    check(hr_session_create(model.get(), &options, &out));
    reset(out);
  }
};

class Dataset : public detail::Handle<hr_dataset, hr_dataset_release> {
 public:
  Dataset(const Env& env, const std::string& uri) {
    hr_dataset* out;
    check(hr_dataset_open(env.get(), uri.c_str(), &out));
    reset(out);
  }
  bool done() const { return hr_dataset_done(get()) != 0; }
  void rewind() { check(hr_dataset_rewind(get())); }
  int64_t batches() const { return hr_dataset_batches(get()); }
};

// A run that was started; its end does not need this handle.
class Run : public detail::Handle<hr_run, hr_run_release> {
 public:
  explicit Run(hr_run* owned) : Handle(owned) {}
  bool test() { return hr_run_test(get()) != 0; }
  void wait(const hr_limits* limits = nullptr) { check(hr_run_wait(get(), limits)); }
  void cancel() { hr_run_cancel(get()); }
};

class Call : public detail::Handle<hr_call, hr_call_release> {
 public:
  Call(const Session& session, const std::string& signature) {
    hr_call* out;
    check(hr_call_create(session.get(), signature.c_str(), &out));
    reset(out);
  }
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
  Call& output(const std::string& name, void* data, size_t bytes) {
    check(hr_call_output(get(), name.c_str(), data, bytes));
    return *this;
  }
  void run(const hr_limits* limits = nullptr) { check(hr_call_run(get(), limits)); }
  Run start(const hr_limits* limits = nullptr) {
    hr_run* out;
    check(hr_call_start(get(), limits, &out));
    return Run(out);
  }
  Tensor result(const std::string& name) const {
    hr_tensor* out;
    check(hr_call_result(get(), name.c_str(), &out));
    return Tensor(out);
  }
};

// The hr_dtype of a C++ type.
template <typename T>
constexpr hr_dtype dtype_of() {
  static_assert(std::is_arithmetic_v<T>, "float16 and bfloat16 have no C++ type: use the C calls");
  if constexpr (std::is_same_v<T, bool>) return HR_BOOL;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? HR_FLOAT32 : HR_FLOAT64;
  if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 1   ? HR_INT8
           : sizeof(T) == 2 ? HR_INT16
           : sizeof(T) == 4 ? HR_INT32
                            : HR_INT64;
  }
  return sizeof(T) == 1   ? HR_UINT8
         : sizeof(T) == 2 ? HR_UINT16
         : sizeof(T) == 4 ? HR_UINT32
                          : HR_UINT64;
}

class Store : public detail::Handle<hr_store, hr_store_release> {
 public:
  Store(const Env& env, const std::string& url) {
    hr_store* out;
    check(hr_store_open(env.get(), url.c_str(), &out));
    reset(out);
  }
};

// An operation in flight; dropping it does not end it.
class Work : public detail::Handle<hr_work, hr_work_release> {
 public:
  explicit Work(hr_work* owned) : Handle(owned) {}
  bool test() { return hr_work_test(get()) != 0; }
  void wait(const hr_limits* limits = nullptr) { check(hr_work_wait(get(), limits)); }
  void cancel() { check(hr_work_cancel(get())); }
};

class Group : public detail::Handle<hr_group, hr_group_release> {
 public:
  // Rank, size and meeting place from the environment.
  explicit Group(const Env& env) { create(env, nullptr, nullptr); }
  Group(const Env& env, const hr_group_options& options, const hr_limits* limits = nullptr) {
    create(env, &options, limits);
  }
  int32_t rank() const { return hr_group_rank(get()); }
  int32_t size() const { return hr_group_size(get()); }
  uint64_t epoch() const { return hr_group_epoch(get()); }
  std::string describe() const {
    hr_text* text;
    check(hr_group_describe(get(), &text));
    return detail::take(text);
  }
  std::string dump() const {
    hr_text* text;
    check(hr_group_dump(get(), &text));
    return detail::take(text);
  }
  void close() { hr_group_close(get()); }
  void abort(const std::string& cause) { check(hr_group_abort(get(), cause.c_str())); }
  // False where the color is negative.
  Group split(int32_t color, int32_t key = 0, const hr_limits* limits = nullptr) {
    hr_group* out;
    check(hr_group_split(get(), color, key, limits, &out));
    return Group(out);
  }
  // The next epoch's group; see hr_group_shrink.
  Group shrink(const hr_limits* limits = nullptr) {
    hr_group* out;
    check(hr_group_shrink(get(), limits, &out));
    return Group(out);
  }
  Group grow(int32_t new_size, const hr_limits* limits = nullptr) {
    hr_group* out;
    check(hr_group_grow(get(), new_size, limits, &out));
    return Group(out);
  }
  static Group join(const Env& env, const hr_group_options* options = nullptr,
                    const hr_limits* limits = nullptr) {
    hr_group* out;
    check(hr_group_join(env.get(), options, limits, &out));
    return Group(out);
  }

  template <typename T>
  void send(const T* data, uint64_t count, int32_t to, uint32_t tag = 0,
            const hr_limits* limits = nullptr) {
    check(hr_send(get(), data, count, dtype_of<T>(), to, tag, limits));
  }
  template <typename T>
  void recv(T* data, uint64_t count, int32_t from, uint32_t tag = 0,
            const hr_limits* limits = nullptr) {
    check(hr_recv(get(), data, count, dtype_of<T>(), from, tag, limits));
  }
  void barrier(const hr_limits* limits = nullptr) { check(hr_barrier(get(), limits)); }
  template <typename T>
  void broadcast(const T* input, T* output, uint64_t count, int32_t root,
                 const hr_limits* limits = nullptr) {
    check(hr_broadcast(get(), input, output, count, dtype_of<T>(), root, limits));
  }
  template <typename T>
  void reduce(const T* input, T* output, uint64_t count, hr_reduce_op op, int32_t root,
              const hr_limits* limits = nullptr) {
    check(hr_reduce(get(), input, output, count, dtype_of<T>(), op, root, limits));
  }
  template <typename T>
  void all_reduce(const T* input, T* output, uint64_t count, hr_reduce_op op = HR_SUM,
                  const hr_limits* limits = nullptr) {
    check(hr_all_reduce(get(), input, output, count, dtype_of<T>(), op, limits));
  }
  template <typename T>
  Work all_reduce_start(const T* input, T* output, uint64_t count, hr_reduce_op op = HR_SUM) {
    hr_work* out;
    check(hr_all_reduce_start(get(), input, output, count, dtype_of<T>(), op, &out));
    return Work(out);
  }
  template <typename T>
  void gather(const T* input, T* output, uint64_t count, int32_t root,
              const hr_limits* limits = nullptr) {
    check(hr_gather(get(), input, output, count, dtype_of<T>(), root, limits));
  }
  template <typename T>
  void all_gather(const T* input, T* output, uint64_t count, const hr_limits* limits = nullptr) {
    check(hr_all_gather(get(), input, output, count, dtype_of<T>(), limits));
  }
  template <typename T>
  void scatter(const T* input, T* output, uint64_t count, int32_t root,
               const hr_limits* limits = nullptr) {
    check(hr_scatter(get(), input, output, count, dtype_of<T>(), root, limits));
  }
  template <typename T>
  void reduce_scatter(const T* input, T* output, uint64_t count, hr_reduce_op op = HR_SUM,
                      const hr_limits* limits = nullptr) {
    check(hr_reduce_scatter(get(), input, output, count, dtype_of<T>(), op, limits));
  }
  template <typename T>
  void all_to_all(const T* input, T* output, uint64_t count, const hr_limits* limits = nullptr) {
    check(hr_all_to_all(get(), input, output, count, dtype_of<T>(), limits));
  }
  // Any operation, with struct_size set here.
  Work start(hr_operation operation) {
    hr_work* out;
    operation.struct_size = sizeof operation;
    check(hr_group_start(get(), &operation, &out));
    return Work(out);
  }

 private:
  explicit Group(hr_group* owned) : Handle(owned) {}
  void create(const Env& env, const hr_group_options* options, const hr_limits* limits) {
    hr_group* out;
    check(hr_group_create(env.get(), options, limits, &out));
    reset(out);
  }
};

}  // namespace hr

#endif  // HEADRACE_HEADRACE_HPP_
