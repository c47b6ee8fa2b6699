#include "runtime/device/zeros.h"

#include <sys/mman.h>

#include <cstring>

namespace hr {
namespace {

// Memory that nobody writes. (Who does so all the same has pages of his own, as in mapped files.)
class ZeroBuffer final : public Buffer {
 public:
  ZeroBuffer(void* data, size_t bytes)
      : Buffer(static_cast<std::byte*>(data), bytes, DeviceId{}, true) {}
  ~ZeroBuffer() override { munmap(data(), bytes()); }
};

}  // namespace

Result<Tensor> MakeZeros(Allocator& allocator, DType dtype, Dims dims) {
  constexpr size_t kLarge = size_t{1} << 16;
  HR_ASSIGN_OR_RETURN(const size_t bytes, CheckedTensorBytes(dtype, dims));
  if (bytes >= kLarge) {
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data != MAP_FAILED)
      return Tensor::View(std::make_shared<ZeroBuffer>(data, bytes), 0, dtype, std::move(dims));
  }
  HR_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(allocator, dtype, std::move(dims)));
  if (bytes != 0) std::memset(zeros.data(), 0, bytes);
  return zeros;
}

}  // namespace hr
