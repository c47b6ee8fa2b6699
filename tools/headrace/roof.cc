#include "tools/headrace/roof.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tools/headrace/matrix_unit_roof.h"

namespace headrace::tool {
namespace {

constexpr long kRounds = 10'000'000;
constexpr long kChains = 8;
constexpr size_t kBytes = size_t{64} << 20;
constexpr int kCopies = 8;
constexpr int kAttempts = 10;

using Float4 = float __attribute__((vector_size(16)));
using Float8 = float __attribute__((vector_size(32)));
using Float16 = float __attribute__((vector_size(64)));

// Independent chains (their starts differ, or the compiler makes one of them) hide the latency of a
// multiply-add. A macro, since a template would not take over its caller's instruction set.
#define HEADRACE_CHAINS(type, out)                                             \
  type factor = type{} + 0.999f + (out)[0], term = type{} + 0.5f;              \
  type s0 = term, s1 = s0 + 1, s2 = s0 + 2, s3 = s0 + 3;                       \
  type s4 = s0 + 4, s5 = s0 + 5, s6 = s0 + 6, s7 = s0 + 7;                     \
  for (long i = 0; i < kRounds; ++i) {                                         \
    s0 = s0 * factor + term, s1 = s1 * factor + term, s2 = s2 * factor + term; \
    s3 = s3 * factor + term, s4 = s4 * factor + term, s5 = s5 * factor + term; \
    s6 = s6 * factor + term, s7 = s7 * factor + term;                          \
  }                                                                            \
  s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;                                      \
  std::memcpy(out, &s0, sizeof s0)

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void Wide(float* out) { HEADRACE_CHAINS(Float16, out); }
__attribute__((target("avx2,fma"))) void Medium(float* out) { HEADRACE_CHAINS(Float8, out); }
#endif
void Narrow(float* out) { HEADRACE_CHAINS(Float4, out); }
#undef HEADRACE_CHAINS

struct Chains {
  void (*run)(float* out);
  int lanes;
};

// The widest that the processor has.
Chains ChainsHere() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {Wide, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {Medium, 8};
#endif
  return {Narrow, 4};
}

void Copy(char* memory) {
  for (size_t i = 0; i < kCopies; ++i) {
    std::memcpy(memory + kBytes * ((i + 1) % 2), memory + kBytes * (i % 2), kBytes);
  }
}

// The seconds of the best attempt at body(thread) on all threads at once.
template <typename Body>
double Seconds(int threads, const Body& body) {
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&body, i] { body(i); });
    body(0);
    for (std::thread& other : others) other.join();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

// Operations of float32 a second.
double OfVectors(int threads) {
  const Chains chains = ChainsHere();
  std::vector<float> results(static_cast<size_t>(threads) * 16);
  const double seconds = Seconds(
      threads, [&](int thread) { chains.run(results.data() + static_cast<size_t>(thread) * 16); });
  return 2.0 * chains.lanes * kChains * kRounds * threads / seconds;
}

// The same by a unit for bfloat16, of which six products make one of float32.
double OfMatrixUnits(int threads) {
  if (!HasMatrixUnit()) return 0;
  constexpr long kUnitRounds = 500'000;
  const double seconds = Seconds(threads, [](int) { MultiplyOnMatrixUnit(kUnitRounds); });
  return kMatrixUnitOperations * kUnitRounds * threads / seconds / 6;
}

}  // namespace

Roof MeasureRoof(int threads) {
  const auto count = static_cast<size_t>(threads);
  std::vector<std::vector<char>> memory(count, std::vector<char>(2 * kBytes, 1));
  const double copies =
      Seconds(threads, [&](int thread) { Copy(memory[static_cast<size_t>(thread)].data()); });
  return {.operations = std::max(OfVectors(threads), OfMatrixUnits(threads)),
          .bytes = 2.0 * kCopies * static_cast<double>(kBytes) * threads / copies};
}

}  // namespace headrace::tool
