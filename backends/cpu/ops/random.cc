// Random tensors.
#include "backends/cpu/ops/families.h"
#include "runtime/ops/functors/random_stream.h"

namespace hr::cpu {
namespace {

using functors::PhiloxWords;
using functors::RandomStream;

constexpr int64_t kBlocksPerTask = 4096;

// Calls fill(words, first element, elements of this block) for blocks of four elements, in parallel.
template <typename Fill>
void ForEachBlock(const RunContext& context, const RandomStream& stream, int64_t count, Fill&& fill) {
  int64_t blocks = (count + 3) / 4;
  int64_t tasks = (blocks + kBlocksPerTask - 1) / kBlocksPerTask;
  context.threads.ParallelFor(static_cast<int>(tasks), [&](int task) {
    int64_t end = std::min(blocks, (task + 1) * kBlocksPerTask);
    for (int64_t block = task * kBlocksPerTask; block < end; ++block) {
      fill(stream.Block(static_cast<uint64_t>(block)), 4 * block, std::min<int64_t>(4, count - 4 * block));
    }
  });
}

template <typename T>
Result<LoweredKernel> Uniform(const KernelRequest& request) {
  T low = static_cast<T>(request.node.Float("low", 0));
  T range = static_cast<T>(request.node.Float("high", 1)) - low;
  int64_t stream = request.node.Int("stream", 0);
  int64_t count = request.outputs[0].elements();
  size_t out_at = request.output_index(0);
  LoweredKernel out;
  out.kernel = MakeKernel("random_uniform", [=](void* const* p, const RunContext& context) -> Status {
    auto* y = static_cast<T*>(p[out_at]);
    RandomStream random(context.seed, context.step, stream);
    ForEachBlock(context, random, count, [&](const PhiloxWords<uint32_t>& words, int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; ++i) y[first + i] = low + range * functors::UniformFrom<T>(words.word[i]);
    });
    return {};
  });
  return out;
}

// Two words make two normals, so four elements need one block.
template <typename T>
Result<LoweredKernel> Normal(const KernelRequest& request) {
  T mean = static_cast<T>(request.node.Float("mean", 0));
  T scale = static_cast<T>(request.node.Float("scale", 1));
  int64_t stream = request.node.Int("stream", 0);
  int64_t count = request.outputs[0].elements();
  size_t out_at = request.output_index(0);
  LoweredKernel out;
  out.kernel = MakeKernel("random_normal", [=](void* const* p, const RunContext& context) -> Status {
    auto* y = static_cast<T*>(p[out_at]);
    RandomStream random(context.seed, context.step, stream);
    ForEachBlock(context, random, count, [&](const PhiloxWords<uint32_t>& words, int64_t first, int64_t n) {
      T normals[4];
      functors::NormalsFrom<T>(words.word[0], words.word[1], &normals[0], &normals[1]);
      functors::NormalsFrom<T>(words.word[2], words.word[3], &normals[2], &normals[3]);
      for (int64_t i = 0; i < n; ++i) y[first + i] = mean + scale * normals[i];
    });
    return {};
  });
  return out;
}

Result<LoweredKernel> MakeUniform(const KernelRequest& request) {
  return ForFloating(request, request.outputs[0].dtype, [&]<typename T>() { return Uniform<T>(request); });
}
Result<LoweredKernel> MakeNormal(const KernelRequest& request) {
  return ForFloating(request, request.outputs[0].dtype, [&]<typename T>() { return Normal<T>(request); });
}

constexpr KernelEntry kKernels[] = {
    {"", "RandomUniform", MakeUniform},
    {"", "RandomUniformLike", MakeUniform},
    {"", "RandomNormal", MakeNormal},
    {"", "RandomNormalLike", MakeNormal},
};

}  // namespace

std::span<const KernelEntry> RandomKernels() { return kKernels; }

}  // namespace hr::cpu
