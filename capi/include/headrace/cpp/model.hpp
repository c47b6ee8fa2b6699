// Models, which are loaded from files, memory or functions, or made of graphs.
#ifndef HEADRACE_CPP_MODEL_HPP_
#define HEADRACE_CPP_MODEL_HPP_

#include <exception>

#include "headrace/cpp/graph.hpp"
#include "headrace/model.h"

namespace hr {
inline namespace cpp {

class Model : public detail::Handle<hr_model, hr_model_release> {
 public:
  static Model load(const Env& env, const std::string& path,
                    const hr_load_options* options = nullptr) {
    return Model(detail::made<hr_model*>(hr_model_load, env.get(), path.c_str(), options));
  }
  // Loads a model from memory that must stay unchanged until `release` is called, which happens
  // when the last model, session and tensor of it is gone. Without a `release` the caller keeps the
  // memory until then.
  static Model load_memory(const Env& env, const void* data, size_t bytes,
                           std::function<void()> release = {},
                           const hr_load_options* options = nullptr) {
    auto held = release ? std::make_unique<detail::Release>(std::move(release)) : nullptr;
    Model out(detail::made<hr_model*>(hr_model_load_memory, env.get(), data, bytes,
                                      held ? detail::call_release : nullptr, held.get(), options));
    held.release();
    return out;
  }
  // Loads a model from bytes that the model keeps.
  static Model load_memory(const Env& env, std::vector<char> bytes,
                           const hr_load_options* options = nullptr) {
    const auto held = std::make_shared<std::vector<char>>(std::move(bytes));
    return load_memory(
        env, held->data(), held->size(), [held] {}, options);
  }
  // Loads a model through a function that reads `bytes` bytes at `offset`. What it throws is thrown
  // again.
  using Read = std::function<void(uint64_t offset, void* out, size_t bytes)>;
  static Model load(const Env& env, uint64_t total_bytes, const Read& read,
                    const hr_load_options* options = nullptr) {
    Reader reader{read, nullptr};
    const hr_reader host = {sizeof host, &reader, total_bytes, Reader::call, nullptr};
    hr_model* out = nullptr;
    hr_status* status = hr_model_load_callback(env.get(), &host, options, &out);
    if (status != nullptr && reader.failure) {
      hr_status_release(status);
      std::rethrow_exception(reader.failure);
    }
    check(status);
    return Model(out);
  }
  explicit Model(const Graph& graph)
      : Handle(detail::made<hr_model*>(hr_model_from_graph, graph.get())) {}

  std::string describe() const { return detail::text_of(hr_model_describe, get()); }
  // Returns a graph as "json" or "dot"; of the main graph, number 0, only what a signature needs if
  // one is given.
  std::string view(const std::string& format, const std::string& signature = "",
                   uint32_t graph = 0) const {
    const hr_graph_view view = {sizeof view, detail::or_null(signature), graph};
    return detail::text_of(hr_model_view, get(), format.c_str(), &view);
  }
  // Describes the parts of a file as JSON.
  static std::string describe_file(const std::string& path) {
    return detail::text_of(hr_model_file_describe, path.c_str());
  }

 private:
  struct Reader {
    const Read& read;
    std::exception_ptr failure;

    static hr_status* call(void* context, uint64_t offset, void* out, size_t bytes) noexcept {
      auto* self = static_cast<Reader*>(context);
      try {
        self->read(offset, out, bytes);
        return nullptr;
      } catch (...) {
        self->failure = std::current_exception();
        return detail::status_of_exception();
      }
    }
  };

  explicit Model(hr_model* owned) : Handle(owned) {}
};

inline Graph::Graph(const Model& model)
    : Handle(detail::made<hr_graph*>(hr_graph_from_model, model.get())) {}

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_MODEL_HPP_
