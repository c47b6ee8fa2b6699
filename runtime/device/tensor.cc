#include "runtime/device/tensor.h"

#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr {
namespace {

class OwnedBuffer final : public Buffer {
 public:
  OwnedBuffer(Allocator& allocator, Block block)
      : Buffer(block.begin(), block.bytes(), DeviceId{}),
        allocator_(allocator),
        block_(std::move(block)) {
    allocator_.Retain();
  }
  ~OwnedBuffer() override {
    block_.Reset();
    allocator_.Release();
  }

 private:
  Allocator& allocator_;
  Block block_;
};

class AdoptedBuffer final : public Buffer {
 public:
  AdoptedBuffer(void* data, size_t bytes, DeviceId device, bool read_only, void (*release)(void*),
                void* context)
      : Buffer(static_cast<std::byte*>(data), bytes, device, read_only),
        release_(release),
        context_(context) {}
  ~AdoptedBuffer() override {
    if (release_ != nullptr) release_(context_);
  }

 private:
  void (*release_)(void*);
  void* context_;
};

// Copies dimension `axis` and everything inside it.
void CopyStrided(std::byte** out, const std::byte* in, std::span<const int64_t> dims,
                 std::span<const int64_t> strides, size_t element, size_t axis) {
  if (axis == dims.size()) {
    std::memcpy(*out, in, element);
    *out += element;
    return;
  }
  for (int64_t i = 0; i < dims[axis]; ++i) {
    CopyStrided(out, in + i * strides[axis] * static_cast<int64_t>(element), dims, strides, element,
                axis + 1);
  }
}

class MappedBuffer final : public Buffer {
 public:
  explicit MappedBuffer(MappedFile file)
      : Buffer(file.bytes().data(), file.bytes().size(), DeviceId{}, true),
        file_(std::move(file)) {}
  void Forget(size_t offset, size_t bytes) const override { file_.Forget(offset, bytes); }

 private:
  MappedFile file_;
};

}  // namespace

Result<size_t> CheckedTensorBytes(DType dtype, std::span<const int64_t> dims) {
  if (!IsSupported(dtype)) {
    return InvalidArgument("tensors of type ", DTypeName(dtype), " (code ", static_cast<int>(dtype),
                           ") are not supported");
  }
  HR_ASSIGN_OR_RETURN(int64_t count, CheckedElementCount(dims, DTypeSize(dtype)));
  return static_cast<size_t>(count) * DTypeSize(dtype);
}

std::string DeviceName(DeviceId id) {
  switch (id.type) {
    case DeviceType::kCpu: return Cat("CPU:", id.ordinal);
    case DeviceType::kCuda: return Cat("CUDA:", id.ordinal);
    case DeviceType::kCudaHost: return Cat("CUDA_HOST:", id.ordinal);
    case DeviceType::kExtension: break;  // has names of its own
  }
  return Cat("device type ", static_cast<int>(id.type), ":", id.ordinal);
}

Result<BufferRef> AllocateBuffer(Allocator& allocator, size_t bytes) {
  HR_ASSIGN_OR_RETURN(Block block, Block::Create(allocator, bytes));
  return BufferRef(std::make_shared<OwnedBuffer>(allocator, std::move(block)));
}

BufferRef AdoptBuffer(void* data, size_t bytes, DeviceId device, void (*release)(void*),
                      void* context, bool read_only) {
  return std::make_shared<AdoptedBuffer>(data, bytes, device, read_only, release, context);
}

Result<Tensor> Tensor::Create(Allocator& allocator, DType dtype, Dims dims) {
  HR_ASSIGN_OR_RETURN(size_t bytes, CheckedTensorBytes(dtype, dims));
  Tensor tensor;
  HR_ASSIGN_OR_RETURN(tensor.buffer_, AllocateBuffer(allocator, bytes));
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  return tensor;
}

Result<BufferRef> MapFile(const std::string& path) {
  HR_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return BufferRef(std::make_shared<MappedBuffer>(std::move(file)));
}

Result<Tensor> Tensor::View(BufferRef buffer, size_t offset, DType dtype, Dims dims) {
  HR_ASSIGN_OR_RETURN(size_t bytes, CheckedTensorBytes(dtype, dims));
  if (offset > buffer->bytes() || bytes > buffer->bytes() - offset) {
    return InvalidArgument("a tensor of shape ", dims, " needs ", bytes, " bytes from offset ",
                           offset, ", its buffer has ", buffer->bytes());
  }
  Tensor tensor;
  tensor.buffer_ = std::move(buffer);
  tensor.offset_ = offset;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  return tensor;
}

Tensor Tensor::Strided(BufferRef buffer, size_t offset, DType dtype, Dims dims, Dims strides) {
  Tensor tensor;
  tensor.buffer_ = std::move(buffer);
  tensor.offset_ = offset;
  tensor.dtype_ = dtype;
  if (strides != ContiguousStrides(dims)) tensor.strides_ = std::move(strides);
  tensor.dims_ = std::move(dims);
  return tensor;
}

Tensor Tensor::WithoutData(DType dtype, Dims dims) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  return tensor;
}

bool IsHostMemory(DeviceId device) {
  return device.type == DeviceType::kCpu || device.type == DeviceType::kCudaHost;
}

Status CheckHostMemory(const Tensor& tensor) {
  const DeviceId device = tensor.device();
  if (IsHostMemory(device)) return {};
  return InvalidArgument("expected a tensor in memory of the host, got ", tensor.TypeText(), " on ",
                         DeviceName(device), "; copy it to the host first");
}

bool Tensor::Retype(DType dtype, const Dims& dims) {
  const auto bytes = static_cast<size_t>(ElementCount(dims)) * DTypeSize(dtype);
  if (!defined() || !contiguous() || bytes > buffer_->bytes() - offset_) return false;
  dtype_ = dtype;
  dims_ = dims;
  return true;
}

Result<Tensor> Tensor::Clone(Allocator& allocator) const {
  HR_RETURN_IF_ERROR(CheckHostMemory(*this));
  HR_ASSIGN_OR_RETURN(auto&& copy, Create(allocator, dtype_, dims_));
  if (contiguous()) {
    if (bytes() != 0) std::memcpy(copy.data(), data(), bytes());
  } else {
    std::byte* out = copy.data();
    CopyStrided(&out, data(), dims_, strides_, DTypeSize(dtype_), 0);
  }
  return copy;
}

Result<Tensor> Tensor::Contiguous(Allocator& allocator) const {
  HR_RETURN_IF_ERROR(CheckHostMemory(*this));
  if (contiguous()) return *this;
  return Clone(allocator);
}

std::string Tensor::TypeText() const { return Cat(DTypeName(dtype_), dims_); }

}  // namespace hr
