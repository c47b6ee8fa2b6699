// The functions of oneDNN's C interface that we call. They are found in its shared library when a
// plan first wants them: nothing of ours is linked with it, and it may be missing.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <vector>

#include "runtime/base/errors.h"

namespace hr::cpu::onednn {

#define HR_DNNL_FUNCTIONS(F)                            \
  F(version)                                            \
  F(engine_create)                                      \
  F(engine_destroy)                                     \
  F(stream_create)                                      \
  F(stream_wait)                                        \
  F(stream_destroy)                                     \
  F(memory_create)                                      \
  F(memory_set_data_handle)                             \
  F(memory_destroy)                                     \
  F(memory_desc_create_with_strides)                    \
  F(memory_desc_create_with_tag)                        \
  F(memory_desc_equal)                                  \
  F(memory_desc_get_size)                               \
  F(memory_desc_query)                                  \
  F(memory_desc_destroy)                                \
  F(primitive_attr_create)                              \
  F(primitive_attr_set_scratchpad_mode)                 \
  F(primitive_attr_destroy)                             \
  F(convolution_forward_primitive_desc_create)          \
  F(convolution_backward_data_primitive_desc_create)    \
  F(convolution_backward_weights_primitive_desc_create) \
  F(matmul_primitive_desc_create)                       \
  F(reorder_primitive_desc_create)                      \
  F(primitive_desc_query)                               \
  F(primitive_desc_query_md)                            \
  F(primitive_desc_destroy)                             \
  F(primitive_create)                                   \
  F(primitive_execute)                                  \
  F(primitive_destroy)

// The OpenMP runtime that this oneDNN was linked with, which need not be the host's.
struct OpenMp {
  int (*threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
};

struct Functions {
#define HR_DNNL_POINTER(name) decltype(&dnnl_##name) name = nullptr;
  HR_DNNL_FUNCTIONS(HR_DNNL_POINTER)
#undef HR_DNNL_POINTER
  OpenMp open_mp;  // null if this oneDNN starts no threads
};

// Returns where to look for the library, in this order. `wanted` is what the environment variable
// HEADRACE_ONEDNN says, or null: a path, which alone counts, or "off". `own_folder` is the one of
// the library or program that we are part of, with a slash at its end.
std::vector<std::string> Places(const char* wanted, const std::string& own_folder);

// Returns the functions of the first of these libraries that is one we can use. UNAVAILABLE, with a
// reason for each, if none is.
Result<Functions> Load(const std::vector<std::string>& places);

// Returns what this process has, looked for when first asked. Thread-safe.
const Result<Functions>& OneDnn();

// Returns the same if there is a oneDNN, as there is wherever an object of its exists.
inline const Functions& Dnnl() { return *OneDnn(); }

}  // namespace hr::cpu::onednn
