#include "headrace/tensor.h"

#include <cstring>

#include "capi/src/handles.h"

namespace hr::capi {
namespace {

hr_tensor* New(Tensor tensor) {
  Dims strides = tensor.strides();
  return new hr_tensor{std::move(tensor), std::move(strides)};
}

hr_status* Give(hr_tensor** out, Result<Tensor> tensor) {
  if (!tensor.ok()) return Wrap(std::move(tensor).status());
  *out = New(std::move(tensor).value());
  return nullptr;
}

Status CheckBytes(const Tensor& tensor, size_t bytes) {
  if (tensor.bytes() == bytes) return {};
  return InvalidArgument(tensor.TypeText(), " needs ", tensor.bytes(), " bytes, got ", bytes);
}

// DLPack's type codes (DLDataTypeCode).
enum DlCode : uint8_t {
  kDlInt = 0,
  kDlUint = 1,
  kDlFloat = 2,
  kDlBfloat = 4,
  kDlBool = 6,
  kDlFloat8E4M3FN = 10,
  kDlFloat8E4M3FNUZ = 11,
  kDlFloat8E5M2 = 12,
  kDlFloat8E5M2FNUZ = 13,
};

struct DlType {
  uint8_t code, bits;
  DType dtype;
};
constexpr DlType kDlTypes[] = {{kDlFloat, 32, DType::kFloat32},
                               {kDlFloat, 64, DType::kFloat64},
                               {kDlFloat, 16, DType::kFloat16},
                               {kDlBfloat, 16, DType::kBfloat16},
                               {kDlInt, 8, DType::kInt8},
                               {kDlInt, 16, DType::kInt16},
                               {kDlInt, 32, DType::kInt32},
                               {kDlInt, 64, DType::kInt64},
                               {kDlUint, 8, DType::kUint8},
                               {kDlUint, 16, DType::kUint16},
                               {kDlUint, 32, DType::kUint32},
                               {kDlUint, 64, DType::kUint64},
                               {kDlBool, 8, DType::kBool},
                               {kDlFloat8E4M3FN, 8, DType::kFloat8E4M3FN},
                               {kDlFloat8E4M3FNUZ, 8, DType::kFloat8E4M3FNUZ},
                               {kDlFloat8E5M2, 8, DType::kFloat8E5M2},
                               {kDlFloat8E5M2FNUZ, 8, DType::kFloat8E5M2FNUZ}};

Result<DType> FromDl(uint8_t code, uint8_t bits, uint16_t lanes) {
  for (const DlType& row : kDlTypes) {
    if (row.code == code && row.bits == bits && lanes == 1) return row.dtype;
  }
  return Unimplemented("DLPack type code ", code, " with ", bits, " bits and ", lanes,
                       " lanes is not supported");
}

void ToDl(DType dtype, uint8_t* code, uint8_t* bits) {
  for (const DlType& row : kDlTypes) {
    if (row.dtype == dtype) *code = row.code, *bits = row.bits;
  }
}

// Bytes from the first to the last element, wherever strides lead.
Result<size_t> SpannedBytes(const Dims& dims, const Dims& strides, DType dtype) {
  HR_ASSIGN_OR_RETURN(int64_t count, CheckedElementCount(dims));
  if (count == 0) return size_t{0};
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t reach;
    if (strides[i] < 0)
      return Unimplemented("tensors with negative strides are not supported, got ", strides);
    if (__builtin_mul_overflow(dims[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return InvalidArgument("the strides ", strides, " of shape ", dims, " overflow");
    }
  }
  if (last >= kMaxTensorBytes) return InvalidArgument("the DLPack tensor's strides overflow");
  return (static_cast<size_t>(last) + 1) * DTypeSize(dtype);
}

Result<Tensor> FromDlpack(hr_dlpack* managed) {
  if (managed->version.major != 1) {
    return Unimplemented("expected DLPack 1.x, got ", managed->version.major, ".",
                         managed->version.minor);
  }
  const hr_dlpack_tensor& dl = managed->dl_tensor;
  if (dl.ndim < 0 || (dl.ndim > 0 && dl.shape == nullptr)) {
    return InvalidArgument("the DLPack tensor has ndim ", dl.ndim, " and no shape");
  }
  HR_ASSIGN_OR_RETURN(DType dtype, FromDl(dl.dtype.code, dl.dtype.bits, dl.dtype.lanes));
  Dims dims(dl.shape, dl.shape + dl.ndim);
  HR_RETURN_IF_ERROR(CheckedTensorBytes(dtype, dims).status().Clone());
  Dims strides =
      dl.strides == nullptr ? ContiguousStrides(dims) : Dims(dl.strides, dl.strides + dl.ndim);
  HR_ASSIGN_OR_RETURN(size_t bytes, SpannedBytes(dims, strides, dtype));
  auto* data = static_cast<std::byte*>(dl.data) + dl.byte_offset;
  if (reinterpret_cast<uintptr_t>(data) % DTypeSize(dtype) != 0) {
    return InvalidArgument("the DLPack tensor's data is not aligned to its elements");
  }
  DeviceId device{static_cast<DeviceType>(dl.device.device_type), dl.device.device_id};
  auto release = [](void* context) {
    auto* self = static_cast<hr_dlpack*>(context);
    if (self->deleter != nullptr) self->deleter(self);
  };
  const bool read_only = (managed->flags & HR_DLPACK_READ_ONLY) != 0;
  BufferRef buffer = AdoptBuffer(data, bytes, device, release, managed, read_only);
  return Tensor::Strided(std::move(buffer), 0, dtype, std::move(dims), std::move(strides));
}

struct HostMemory {
  void* data;
  size_t bytes;
  void (*release)(void* context);
  void* context;
};

Result<Tensor> WrapStrided(DType dtype, Dims dims, Dims strides, const HostMemory& memory) {
  HR_RETURN_IF_ERROR(CheckedTensorBytes(dtype, dims).status().Clone());
  HR_ASSIGN_OR_RETURN(const size_t needed, SpannedBytes(dims, strides, dtype));
  if (memory.bytes < needed) {
    return InvalidArgument(DTypeName(dtype), dims, " with the strides ", strides, " needs ", needed,
                           " bytes, got ", memory.bytes);
  }
  BufferRef buffer = AdoptBuffer(memory.data, memory.bytes, {}, memory.release, memory.context);
  return Tensor::Strided(std::move(buffer), 0, dtype, std::move(dims), std::move(strides));
}

Result<Tensor> WrapContiguous(DType dtype, Dims dims, const HostMemory& memory) {
  HR_ASSIGN_OR_RETURN(const size_t needed, CheckedTensorBytes(dtype, dims));
  if (memory.bytes != needed) {
    return InvalidArgument(DTypeName(dtype), dims, " needs ", needed, " bytes, got ", memory.bytes);
  }
  return Tensor::View(AdoptBuffer(memory.data, memory.bytes, {}, memory.release, memory.context), 0,
                      dtype, std::move(dims));
}

// Takes the release function over only once nothing can fail any more.
Result<Tensor> WrapMemory(DType dtype, size_t rank, const int64_t* given_dims,
                          const int64_t* strides, const HostMemory& memory) {
  HR_ASSIGN_OR_RETURN(Dims dims, DimsFrom(rank, given_dims));
  if (memory.data == nullptr && memory.bytes != 0) {
    return InvalidArgument("'data' must not be NULL for ", memory.bytes, " bytes");
  }
  const size_t element = IsSupported(dtype) ? DTypeSize(dtype) : 1;
  if (reinterpret_cast<uintptr_t>(memory.data) % element != 0) {
    return InvalidArgument("data is not aligned to its elements of ", element, " bytes");
  }
  if (strides == nullptr) return WrapContiguous(dtype, std::move(dims), memory);
  return WrapStrided(dtype, std::move(dims), Dims(strides, strides + rank), memory);
}

// What a managed tensor made here keeps alive.
struct Exported {
  hr_dlpack managed;
  Tensor tensor;
  Dims dims;
  Dims strides;
};

}  // namespace

hr_tensor* NewTensor(Tensor tensor) { return New(std::move(tensor)); }

}  // namespace hr::capi

using hr::capi::DimsFrom;
using hr::capi::Give;

extern "C" {

hr_status* hr_tensor_create(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims,
                            hr_tensor** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& shape, DimsFrom(rank, dims));
  return Give(out, hr::Tensor::Create(env->rep->allocator(), static_cast<hr::DType>(dtype),
                                      std::move(shape)));
}

hr_status* hr_tensor_copy_of(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims,
                             const void* data, size_t bytes, hr_tensor** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  if (bytes != 0) HR_REQUIRE(data);
  HR_ASSIGN_OR_WRAP(auto&& shape, DimsFrom(rank, dims));
  HR_ASSIGN_OR_WRAP(
      auto&& tensor,
      hr::Tensor::Create(env->rep->allocator(), static_cast<hr::DType>(dtype), std::move(shape)));
  HR_WRAP_IF_ERROR(hr::capi::CheckBytes(tensor, bytes));
  if (bytes != 0) std::memcpy(tensor.data(), data, bytes);
  return Give(out, std::move(tensor));
}

hr_status* hr_tensor_wrap(hr_dtype dtype, size_t rank, const int64_t* dims, void* data,
                          size_t bytes, void (*release)(void* context), void* context,
                          hr_tensor** out) {
  return hr_tensor_wrap_strided(dtype, rank, dims, nullptr, data, bytes, release, context, out);
}

hr_status* hr_tensor_wrap_strided(hr_dtype dtype, size_t rank, const int64_t* dims,
                                  const int64_t* strides, void* data, size_t bytes,
                                  void (*release)(void* context), void* context, hr_tensor** out) {
  HR_REQUIRE(out);
  return Give(out, hr::capi::WrapMemory(static_cast<hr::DType>(dtype), rank, dims, strides,
                                        {data, bytes, release, context}));
}

void hr_tensor_release(hr_tensor* tensor) { delete tensor; }

hr_status* hr_tensor_share(const hr_tensor* tensor, hr_tensor** out) {
  HR_REQUIRE(tensor);
  HR_REQUIRE(out);
  *out = new hr_tensor(*tensor);
  return nullptr;
}

hr_dtype hr_tensor_dtype(const hr_tensor* tensor) {
  return tensor == nullptr ? HR_UNDEFINED : static_cast<hr_dtype>(tensor->rep.dtype());
}
size_t hr_tensor_rank(const hr_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->rep.dims().size();
}
const int64_t* hr_tensor_dims(const hr_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->rep.dims().data();
}
int64_t hr_tensor_elements(const hr_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->rep.elements();
}
size_t hr_tensor_bytes(const hr_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->rep.bytes();
}
void* hr_tensor_data(const hr_tensor* tensor) {
  if (tensor == nullptr || !hr::IsHostMemory(tensor->rep.device())) return nullptr;
  return tensor->rep.data();
}
int hr_tensor_read_only(const hr_tensor* tensor) {
  return tensor != nullptr && tensor->rep.read_only() ? 1 : 0;
}
int32_t hr_tensor_device(const hr_tensor* tensor, int32_t* out_ordinal) {
  const hr::DeviceId device = tensor == nullptr ? hr::DeviceId{} : tensor->rep.device();
  if (out_ordinal != nullptr) *out_ordinal = device.ordinal;
  return static_cast<int32_t>(device.type);
}
void* hr_tensor_device_data(const hr_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->rep.data();
}
const int64_t* hr_tensor_strides(const hr_tensor* tensor) {
  return tensor == nullptr || tensor->strides.empty() ? nullptr : tensor->strides.data();
}

hr_status* hr_tensor_from_dlpack(hr_dlpack* managed, hr_tensor** out) {
  HR_REQUIRE(managed);
  HR_REQUIRE(out);
  return Give(out, hr::capi::FromDlpack(managed));
}

hr_status* hr_tensor_to_dlpack(const hr_tensor* tensor, hr_dlpack** out) {
  HR_REQUIRE(tensor);
  HR_REQUIRE(out);
  auto* exported = new hr::capi::Exported{.tensor = tensor->rep, .dims = tensor->rep.dims()};
  exported->strides =
      tensor->strides.empty() ? hr::ContiguousStrides(exported->dims) : tensor->strides;
  hr_dlpack& managed = exported->managed;
  managed.version = {1, 1};
  managed.manager_ctx = exported;
  managed.deleter = [](hr_dlpack* self) {
    delete static_cast<hr::capi::Exported*>(self->manager_ctx);
  };
  managed.flags = tensor->rep.read_only() ? HR_DLPACK_READ_ONLY : 0;
  hr::DeviceId device = tensor->rep.device();
  managed.dl_tensor.data = tensor->rep.data();
  managed.dl_tensor.device = {static_cast<int32_t>(device.type), device.ordinal};
  managed.dl_tensor.ndim = static_cast<int32_t>(exported->dims.size());
  hr::capi::ToDl(tensor->rep.dtype(), &managed.dl_tensor.dtype.code, &managed.dl_tensor.dtype.bits);
  managed.dl_tensor.dtype.lanes = 1;
  managed.dl_tensor.shape = exported->dims.data();
  managed.dl_tensor.strides = exported->strides.data();
  managed.dl_tensor.byte_offset = 0;
  *out = &managed;
  return nullptr;
}

}  // extern "C"
