// Any bytes as a file of weights, .npz if the first one is even: they are read or refused with a
// sentence; what is read can be written in both formats, and is the same when it is read again.
#include <cstdint>
#include <cstring>

#include "runtime/train/weights_file.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace hr;

void Check(bool condition) {
  if (!condition) std::abort();
}

bool Same(const train::NamedWeight& a, const train::NamedWeight& b) {
  const size_t bytes = a.tensor.bytes();
  return a.name == b.name && a.tensor.dtype() == b.tensor.dtype() &&
         a.tensor.dims() == b.tensor.dims() &&
         (bytes == 0 || std::memcmp(a.tensor.data(), b.tensor.data(), bytes) == 0);
}

void CheckAgain(const std::vector<train::NamedWeight>& weights, const std::string& path) {
  Status written = train::WriteWeights(path, weights, {});
  if (!written.ok()) return Check(!written.message().empty());
  auto again = train::ReadWeights(path, SystemAllocator());
  Check(again.ok() && again->size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) Check(Same(weights[i], (*again)[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFolder folder;
  if (size == 0) return 0;
  const char* const name = data[0] % 2 == 0 ? "in.npz" : "in.safetensors";
  const std::string path = folder.Write(name, data + 1, size - 1);
  auto weights = train::ReadWeights(path, SystemAllocator());
  if (!weights.ok()) {
    Check(!weights.status().message().empty());
    return 0;
  }
  CheckAgain(*weights, folder.File("out.npz"));
  CheckAgain(*weights, folder.File("out.safetensors"));
  return 0;
}
