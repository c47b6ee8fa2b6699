// Tensors and the memory they lie in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace hr {

// Where memory lies. The codes are DLPack's DLDeviceType.
enum class DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kExtension = 12 };

struct DeviceId {
  DeviceType type = DeviceType::kCpu;
  int32_t ordinal = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};
std::string DeviceName(DeviceId id);  // "CPU:0"

// A piece of memory with shared ownership: a block of an allocator, a mapped file's segment, or
// memory of the host with its deleter.
class Buffer {
 public:
  virtual ~Buffer() = default;
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  DeviceId device() const { return device_; }
  // Its owner does not allow writing.
  bool read_only() const { return read_only_; }
  // Gives the memory of these bytes back until they are read again, if they lie in a file.
  virtual void Forget(size_t /*offset*/, size_t /*bytes*/) const {}

 protected:
  Buffer(std::byte* data, size_t bytes, DeviceId device, bool read_only = false)
      : data_(data), bytes_(bytes), device_(device), read_only_(read_only) {}

 private:
  std::byte* data_;
  size_t bytes_;
  DeviceId device_;
  bool read_only_;
};
using BufferRef = std::shared_ptr<Buffer>;

Result<BufferRef> AllocateBuffer(Allocator& allocator, size_t bytes);
// Takes memory over without a copy; `release(context)` is called when the last user is gone. Null
// `release`: the caller keeps the memory alive.
BufferRef AdoptBuffer(void* data, size_t bytes, DeviceId device, void (*release)(void*),
                      void* context, bool read_only = false);

// A whole file, mapped (MappedFile in file.h says what that means). Its owner does not allow
// writing.
Result<BufferRef> MapFile(const std::string& path);

// Bytes of a contiguous tensor; a failure where the type is not supported, a dimension is negative
// or the product overflows.
Result<size_t> CheckedTensorBytes(DType dtype, std::span<const int64_t> dims);

// A typed view of a buffer: cheap to copy, shares the memory. Strides are in elements and may be
// anything on import; kernels see contiguous tensors only.
class Tensor {
 public:
  Tensor() = default;
  // Contiguous, uninitialized.
  static Result<Tensor> Create(Allocator& allocator, DType dtype, Dims dims);
  // Contiguous view of `buffer` from byte `offset`; a failure where it does not fit.
  static Result<Tensor> View(BufferRef buffer, size_t offset, DType dtype, Dims dims);
  // As above with strides; the caller vouches for the bounds.
  static Tensor Strided(BufferRef buffer, size_t offset, DType dtype, Dims dims, Dims strides);

  // A type without memory: defined() is false. Stands for memory that somebody else supplies.
  static Tensor WithoutData(DType dtype, Dims dims);

  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  // Empty where the tensor is contiguous.
  const Dims& strides() const { return strides_; }
  bool contiguous() const { return strides_.empty(); }
  int64_t elements() const { return ElementCount(dims_); }
  size_t bytes() const { return static_cast<size_t>(elements()) * DTypeSize(dtype_); }
  DeviceId device() const { return defined() ? buffer_->device() : DeviceId{}; }
  const BufferRef& buffer() const { return buffer_; }
  bool read_only() const { return defined() && buffer_->read_only(); }

  std::byte* data() const { return buffer_ == nullptr ? nullptr : buffer_->data() + offset_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  template <typename T>
  std::span<T> span() const {
    return {as<T>(), static_cast<size_t>(elements())};
  }

  // Gives its memory back until it is read again, if it lies in a file.
  void Forget() const {
    if (defined() && contiguous()) buffer_->Forget(offset_, bytes());
  }

  // Takes another type in the memory that it has. Returns false if that is too small or the tensor
  // is not contiguous. Allocates nothing if the rank does not grow.
  bool Retype(DType dtype, const Dims& dims);

  // A contiguous copy; a failure where the host cannot read the memory.
  Result<Tensor> Clone(Allocator& allocator) const;
  // The same tensor where it is contiguous, else a contiguous copy; fails as Clone does.
  Result<Tensor> Contiguous(Allocator& allocator) const;
  // "float32[64, 10]"
  std::string TypeText() const;

 private:
  BufferRef buffer_;
  size_t offset_ = 0;
  DType dtype_ = DType::kUndefined;
  Dims dims_;
  Dims strides_;
};

// Whether the host can read and write memory of the device.
bool IsHostMemory(DeviceId device);
// A failure that names the device unless the host can read the tensor's memory.
Status CheckHostMemory(const Tensor& tensor);

// A contiguous tensor with the given elements, on the CPU.
template <typename T>
Result<Tensor> MakeTensor(Allocator& allocator, Dims dims, std::span<const T> values) {
  HR_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(allocator, DTypeOf<T>::value, std::move(dims)));
  std::copy(values.begin(), values.end(), tensor.as<T>());
  return tensor;
}

}  // namespace hr
