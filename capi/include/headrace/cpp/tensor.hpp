// Tensors, and their exchange through DLPack.
#ifndef HEADRACE_CPP_TENSOR_HPP_
#define HEADRACE_CPP_TENSOR_HPP_

#include <type_traits>

#include "headrace/cpp/env.hpp"
#include "headrace/tensor.h"

namespace hr {
inline namespace cpp {

// Returns the hr_dtype of a C++ type.
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

namespace detail {
struct DeleteDLPack {
  void operator()(hr_dlpack* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
}  // namespace detail

// A managed tensor, which is deleted with this handle unless release() gives it to somebody else.
using DLPack = std::unique_ptr<hr_dlpack, detail::DeleteDLPack>;

// A typed view of shared memory; see hr_tensor.
class Tensor : public detail::Handle<hr_tensor, hr_tensor_release> {
 public:
  Tensor() = default;
  explicit Tensor(hr_tensor* owned) : Handle(owned) {}
  // Creates an uninitialized tensor.
  Tensor(const Env& env, hr_dtype dtype, const std::vector<int64_t>& dims)
      : Handle(detail::made<hr_tensor*>(hr_tensor_create, env.get(), dtype, dims.size(),
                                        dims.data())) {}
  static Tensor copy_of(const Env& env, hr_dtype dtype, const std::vector<int64_t>& dims,
                        const void* data, size_t bytes) {
    return Tensor(detail::made<hr_tensor*>(hr_tensor_copy_of, env.get(), dtype, dims.size(),
                                           dims.data(), data, bytes));
  }
  template <typename T>
  static Tensor copy_of(const Env& env, const std::vector<int64_t>& dims,
                        const std::vector<T>& values) {
    return copy_of(env, dtype_of<T>(), dims, values.data(), values.size() * sizeof(T));
  }
  // Makes a tensor that uses the memory in place. `release` is called when the last user is gone;
  // without one the caller keeps the memory alive until then.
  static Tensor wrap(hr_dtype dtype, const std::vector<int64_t>& dims, void* data, size_t bytes,
                     std::function<void()> release = {}) {
    auto held = release ? std::make_unique<detail::Release>(std::move(release)) : nullptr;
    Tensor out(detail::made<hr_tensor*>(hr_tensor_wrap, dtype, dims.size(), dims.data(), data,
                                        bytes, held ? detail::call_release : nullptr, held.get()));
    held.release();
    return out;
  }
  // Makes a tensor that keeps the vector and uses its memory.
  template <typename T>
  static Tensor adopt(const std::vector<int64_t>& dims, std::vector<T> values) {
    const auto held = std::make_shared<std::vector<T>>(std::move(values));
    return wrap(dtype_of<T>(), dims, held->data(), held->size() * sizeof(T), [held] {});
  }
  // Returns another handle of the same memory.
  Tensor share() const { return Tensor(detail::made<hr_tensor*>(hr_tensor_share, get())); }

  // Takes over `managed`, unless it throws.
  static Tensor from_dlpack(DLPack&& managed) {
    Tensor out(detail::made<hr_tensor*>(hr_tensor_from_dlpack, managed.get()));
    managed.release();
    return out;
  }
  DLPack to_dlpack() const { return DLPack(detail::made<hr_dlpack*>(hr_tensor_to_dlpack, get())); }

  hr_dtype dtype() const { return hr_tensor_dtype(get()); }
  std::vector<int64_t> dims() const {
    const int64_t* dims = hr_tensor_dims(get());
    return {dims, dims + hr_tensor_rank(get())};
  }
  // Returns the strides in elements; empty if the tensor is contiguous.
  std::vector<int64_t> strides() const {
    const int64_t* strides = hr_tensor_strides(get());
    if (strides == nullptr) return {};
    return {strides, strides + hr_tensor_rank(get())};
  }
  bool read_only() const { return hr_tensor_read_only(get()) != 0; }
  int64_t elements() const { return hr_tensor_elements(get()); }
  size_t bytes() const { return hr_tensor_bytes(get()); }
  template <typename T>
  T* data() const {
    return static_cast<T*>(hr_tensor_data(get()));
  }
};

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_TENSOR_HPP_
