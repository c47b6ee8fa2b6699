// oneDNN as Headrace calls it: through its C interface, errors as Status, and on the calling thread
// alone. Parallelism is ours (kernels cut their work and run a primitive for each part), because
// oneDNN's OpenMP teams would spin beside the threads of the env's budget.
#pragma once

#include <memory>

#include "backends/cpu/onednn/functions.h"

namespace hr::cpu::onednn {

// A failure as a Status that names the call.
Status Check(dnnl_status_t status, std::string_view call);

// Owns an object of oneDNN's.
template <typename T, dnnl_status_t (*Functions::*kDestroy)(T)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) (Dnnl().*kDestroy)(object_);
  }
  T get() const { return object_; }
  T* out() { return &object_; }  // for calls that create

 private:
  T object_ = nullptr;
};
using Engine = Handle<dnnl_engine_t, &Functions::engine_destroy>;
using Stream = Handle<dnnl_stream_t, &Functions::stream_destroy>;
using Memory = Handle<dnnl_memory_t, &Functions::memory_destroy>;
using MemoryDesc = Handle<dnnl_memory_desc_t, &Functions::memory_desc_destroy>;
using PrimitiveDesc = Handle<dnnl_primitive_desc_t, &Functions::primitive_desc_destroy>;
using PrimitiveHandle = Handle<dnnl_primitive_t, &Functions::primitive_destroy>;
using Attributes = Handle<dnnl_primitive_attr_t, &Functions::primitive_attr_destroy>;

// An engine. Immutable, so thread-safe.
class Library {
 public:
  // UNAVAILABLE if this process has no oneDNN.
  static Result<std::shared_ptr<const Library>> Open();
  dnnl_engine_t engine() const { return engine_.get(); }
  const OpenMp& open_mp() const { return Dnnl().open_mp; }

 private:
  Engine engine_;
};

// While it lives, what this thread asks of oneDNN starts no other thread.
class SerialScope {
 public:
  explicit SerialScope(const Library& library) : open_mp_(library.open_mp()) {
    if (open_mp_.threads != nullptr) before_ = open_mp_.threads();
    if (before_ != 1) open_mp_.set_threads(1);
  }
  ~SerialScope() {
    if (before_ != 1) open_mp_.set_threads(before_);
  }
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  const OpenMp& open_mp_;
  int before_ = 1;
};

}  // namespace hr::cpu::onednn
