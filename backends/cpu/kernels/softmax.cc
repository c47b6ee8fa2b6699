#include "backends/cpu/kernels/softmax.h"

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {

template <typename T>
int LineRanges(const LineShape& shape, int slices) {
  constexpr int64_t kPasses = 4;  // over the elements, exponentials included
  return RangeCount(LineGroups<T>(shape), kPasses * kLineGroup<T> * shape.n, slices);
}

namespace {

template <typename T>
void RunUnary(typename LineKernels<T>::UnaryKernel kernel, const Lease& threads,
              const LineShape& shape, const T* x, T* y, int ranges) {
  ForRanges(threads, LineGroups<T>(shape), ranges,
            [&](int64_t begin, int64_t end, int) { kernel(shape, x, y, begin, end); });
}

template <typename T>
void RunGradient(typename LineKernels<T>::GradientKernel kernel, const Lease& threads,
                 const LineShape& shape, const T* dy, const T* y, T* dx, int ranges) {
  ForRanges(threads, LineGroups<T>(shape), ranges,
            [&](int64_t begin, int64_t end, int) { kernel(shape, dy, y, dx, begin, end); });
}

}  // namespace

template <typename T>
void Softmax(const Lease& threads, const LineShape& shape, const T* x, T* y, int ranges) {
  RunUnary<T>(KernelsForLines<T>().softmax, threads, shape, x, y, ranges);
}

template <typename T>
void LogSoftmax(const Lease& threads, const LineShape& shape, const T* x, T* y, int ranges) {
  RunUnary<T>(KernelsForLines<T>().log_softmax, threads, shape, x, y, ranges);
}

template <typename T>
void SoftmaxGrad(const Lease& threads, const LineShape& shape, const T* dy, const T* y, T* dx,
                 int ranges) {
  RunGradient<T>(KernelsForLines<T>().softmax_grad, threads, shape, dy, y, dx, ranges);
}

template <typename T>
void LogSoftmaxGrad(const Lease& threads, const LineShape& shape, const T* dy, const T* y, T* dx,
                    int ranges) {
  RunGradient<T>(KernelsForLines<T>().log_softmax_grad, threads, shape, dy, y, dx, ranges);
}

#define HR_INSTANTIATE(T)                                                                 \
  template int LineRanges<T>(const LineShape&, int);                                      \
  template void Softmax(const Lease&, const LineShape&, const T*, T*, int);               \
  template void LogSoftmax(const Lease&, const LineShape&, const T*, T*, int);            \
  template void SoftmaxGrad(const Lease&, const LineShape&, const T*, const T*, T*, int); \
  template void LogSoftmaxGrad(const Lease&, const LineShape&, const T*, const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
