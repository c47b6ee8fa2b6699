// What every functor file needs.
#pragma once

#if defined(__CUDACC__)
#define HR_FUNCTOR __host__ __device__ inline
#else
#define HR_FUNCTOR inline
#endif
