// What every functor file needs. No file here includes a header of the standard library: NVRTC,
// CUDA's compiler at run time, has none.
#pragma once

#if defined(__CUDACC__)
#define HR_FUNCTOR __host__ __device__ inline
#else
#define HR_FUNCTOR inline
#endif

// The types of <stdint.h>, which may be included, too: it declares the same.
#if defined(__CUDACC_RTC__)
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
#else
using int32_t = __INT32_TYPE__;
using uint32_t = __UINT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint64_t = __UINT64_TYPE__;
#endif
