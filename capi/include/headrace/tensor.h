/* Tensors. They are described as DLPack describes them, and can be exchanged through DLPack. */
#ifndef HEADRACE_TENSOR_H_
#define HEADRACE_TENSOR_H_

#include "headrace/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A typed view of memory that several handles can share. The description (type, shape, strides) is
 * immutable: any thread may read it. A program that writes elements must make sure that no other
 * thread reads or writes them meanwhile. */
typedef struct hr_tensor hr_tensor;

/* Creates a contiguous (row-major), uninitialized tensor in memory of the env's allocator, aligned
 * to 64 bytes. */
HR_API hr_status* hr_tensor_create(hr_env* env, hr_dtype dtype, size_t rank,
                                   HR_ARRAY(rank) const int64_t* dims, hr_tensor** out);
/* Creates a tensor as hr_tensor_create does and copies `data` into it. `bytes` must be the bytes
 * that the shape needs. */
HR_API hr_status* hr_tensor_copy_of(hr_env* env, hr_dtype dtype, size_t rank,
                                    HR_ARRAY(rank) const int64_t* dims,
                                    HR_BYTES(bytes) const void* data, size_t bytes,
                                    hr_tensor** out);
/* Makes a tensor of the host's memory, which is used in place. `data` must be aligned to its
 * element type, and `bytes` must be the bytes that the shape needs. release(context) is called when
 * the last user is gone; if `release` is NULL, the host keeps the memory alive until then. */
HR_API hr_status* hr_tensor_wrap(hr_dtype dtype, size_t rank, HR_ARRAY(rank) const int64_t* dims,
                                 HR_KEEPS HR_BYTES(bytes) void* data, size_t bytes,
                                 void (*release)(void* context), void* context, hr_tensor** out);
/* Makes a tensor as hr_tensor_wrap does, of elements that may lie apart. `strides` has `rank`
 * entries, in elements and not negative; NULL: the tensor is contiguous. `bytes` must be at least
 * the bytes from the first element to the end of the last. A call (hr_call) copies a tensor that is
 * not contiguous when it is bound. */
HR_API hr_status* hr_tensor_wrap_strided(hr_dtype dtype, size_t rank,
                                         HR_ARRAY(rank) const int64_t* dims,
                                         HR_NULLABLE HR_ARRAY(rank) const int64_t* strides,
                                         HR_KEEPS HR_BYTES(bytes) void* data, size_t bytes,
                                         void (*release)(void* context), void* context,
                                         hr_tensor** out);
HR_API void hr_tensor_release(hr_tensor* tensor);
/* Makes another handle of the same memory. */
HR_API hr_status* hr_tensor_share(const hr_tensor* tensor, hr_tensor** out);

/* Return the type and the number of dimensions. The pointers that the functions below return live
 * as long as the tensor. */
HR_API hr_dtype hr_tensor_dtype(const hr_tensor* tensor);
HR_API size_t hr_tensor_rank(const hr_tensor* tensor);
/* Returns the sizes of the dimensions, as many as the rank. */
HR_API HR_ARRAY(hr_tensor_rank(tensor)) const int64_t* hr_tensor_dims(const hr_tensor* tensor);
HR_API int64_t hr_tensor_elements(const hr_tensor* tensor);
/* Returns the bytes of all elements together. */
HR_API size_t hr_tensor_bytes(const hr_tensor* tensor);
/* Returns the first element; NULL if the host cannot access the memory (hr_tensor_device). It must
 * not be written to if the tensor is read-only. */
HR_API HR_OR_NULL void* hr_tensor_data(const hr_tensor* tensor);
/* Returns 1 if the elements must not be written to, else 0. So it is with tensors that came from
 * DLPack with its flag, and with those of a model's file. */
HR_API int hr_tensor_read_only(const hr_tensor* tensor);
/* Returns the kind of device that the memory belongs to, as DLPack's DLDeviceType: 1 for the host,
 * 2 for CUDA, 12 for a device of a plugin. *out_ordinal is its number among those of
 * the kind; `out_ordinal` may be NULL. */
HR_API int32_t hr_tensor_device(const hr_tensor* tensor, HR_NULLABLE int32_t* out_ordinal);
/* Returns the address of the first element on the tensor's device, whatever the device. */
HR_API void* hr_tensor_device_data(const hr_tensor* tensor);
/* Returns the strides in elements, as many as the rank; NULL if the tensor is contiguous. */
HR_API HR_OR_NULL
    HR_ARRAY(hr_tensor_rank(tensor)) const int64_t* hr_tensor_strides(const hr_tensor* tensor);

/* The layouts of DLPack 1.x (https://dmlc.github.io/dlpack): DLDevice, DLDataType, DLTensor,
 * DLPackVersion and DLManagedTensorVersioned. */
typedef struct hr_dlpack_device {
  int32_t device_type; /* 1: host memory (kDLCPU) */
  int32_t device_id;
} hr_dlpack_device;

typedef struct hr_dlpack_dtype {
  uint8_t code, bits;
  uint16_t lanes;
} hr_dlpack_dtype;

typedef struct hr_dlpack_version {
  uint32_t major, minor;
} hr_dlpack_version;

typedef struct hr_dlpack_tensor {
  HR_NULLABLE void* data; /* NULL if there are no elements */
  hr_dlpack_device device;
  int32_t ndim;
  hr_dlpack_dtype dtype;
  HR_ARRAY(ndim) int64_t* shape;
  HR_NULLABLE HR_ARRAY(ndim) int64_t* strides; /* in elements; may be NULL before DLPack 1.2 */
  uint64_t byte_offset;
} hr_dlpack_tensor;

#define HR_DLPACK_READ_ONLY 1

typedef struct hr_dlpack {
  hr_dlpack_version version;
  void* manager_ctx;
  /* Releases `self` and the memory. NULL: there is nothing to release. */
  HR_NULLABLE HR_CALLED_BY(any) void (*deleter)(struct hr_dlpack* self);
  uint64_t flags; /* HR_DLPACK_READ_ONLY; other bits are ignored */
  hr_dlpack_tensor dl_tensor;
} hr_dlpack;

/* Takes over a managed tensor; its deleter is called when the last user is gone. If the call fails,
 * the caller keeps the managed tensor. Strides other than row-major are kept; a run that needs
 * contiguous memory makes a contiguous copy. With DLPack's flag the tensor is read-only. */
HR_API hr_status* hr_tensor_from_dlpack(HR_TAKES hr_dlpack* managed, hr_tensor** out);
/* Makes a managed tensor that shares the memory, with DLPack's flag if the tensor is read-only.
 * Whoever takes it calls its deleter once. */
HR_API hr_status* hr_tensor_to_dlpack(const hr_tensor* tensor, hr_dlpack** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_TENSOR_H_ */
