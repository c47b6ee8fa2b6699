/* Tensors: described as DLPack describes them, and exchanged with others through it. */
#ifndef HEADRACE_TENSOR_H_
#define HEADRACE_TENSOR_H_

#include "headrace/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A typed view of memory with shared ownership. The description is immutable and may be read by any
 * thread; who writes the elements must keep others from reading them. */
typedef struct hr_tensor hr_tensor;

/* Contiguous (row-major), uninitialized, in memory of the env's allocator, 64-byte aligned. */
HR_API hr_status* hr_tensor_create(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims,
                                   hr_tensor** out);
/* As hr_tensor_create, with a copy of `data`. `bytes` must be what the shape needs. */
HR_API hr_status* hr_tensor_copy_of(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims,
                                    const void* data, size_t bytes, hr_tensor** out);
/* Memory of the host, used in place. `release(context)` is called when the last user is gone; with
 * NULL the host keeps the memory alive until then. data must be aligned to its element. */
HR_API hr_status* hr_tensor_wrap(hr_dtype dtype, size_t rank, const int64_t* dims, void* data,
                                 size_t bytes, void (*release)(void* context), void* context,
                                 hr_tensor** out);
HR_API void hr_tensor_release(hr_tensor* tensor);
/* Another handle of the same memory. */
HR_API hr_status* hr_tensor_share(const hr_tensor* tensor, hr_tensor** out);

HR_API hr_dtype hr_tensor_dtype(const hr_tensor* tensor);
HR_API size_t hr_tensor_rank(const hr_tensor* tensor);
HR_API const int64_t* hr_tensor_dims(const hr_tensor* tensor); /* rank of them */
HR_API int64_t hr_tensor_elements(const hr_tensor* tensor);
HR_API size_t hr_tensor_bytes(const hr_tensor* tensor);
HR_API void* hr_tensor_data(const hr_tensor* tensor);
/* In elements, or NULL where the tensor is contiguous. */
HR_API const int64_t* hr_tensor_strides(const hr_tensor* tensor);

/* DLPack 1.x (https://dmlc.github.io/dlpack): the layout of its versioned exchange struct. */
typedef struct hr_dlpack_tensor {
  void* data;
  struct {
    int32_t device_type, device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; may be NULL before DLPack 1.2 */
  uint64_t byte_offset;
} hr_dlpack_tensor;

typedef struct hr_dlpack {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(struct hr_dlpack* self);
  uint64_t flags; /* bit 0: read-only */
  hr_dlpack_tensor dl_tensor;
} hr_dlpack;

/* Takes the managed tensor over (its deleter is called when the last user is gone); on failure the
 * caller keeps it. Strides other than row-major are kept and made contiguous where a run needs it.
 */
HR_API hr_status* hr_tensor_from_dlpack(hr_dlpack* managed, hr_tensor** out);
/* A managed tensor that shares the memory; whoever takes it calls its deleter once. */
HR_API hr_status* hr_tensor_to_dlpack(const hr_tensor* tensor, hr_dlpack** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_TENSOR_H_ */
