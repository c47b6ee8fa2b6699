#include "backends/cpu/kernels/resample.h"

#include <cstring>

#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

class ResampleTest : public KernelTest {};

// Lines of one element and of several, of elements of each size, some of them filled.
TEST_P(ResampleTest, CopiesLines) {
  for (const size_t bytes : {1, 2, 4, 8, 16}) {
    for (const int64_t inner : {1, 3}) {
      Resample<double> r{.outer = RandomInt(0, 6), .in = 5, .out = RandomInt(1, 9), .inner = inner};
      for (int64_t o = 0; o < r.out; ++o) {
        r.filled.push_back(RandomInt(0, 3) == 0);
        r.index.push_back(r.filled.back() ? 0 : RandomInt(0, r.in - 1));
      }
      const size_t line = static_cast<size_t>(inner) * bytes;
      const auto text = [&](size_t count) {
        std::vector<char> out(count);
        for (char& c : out) c = static_cast<char>(RandomInt(0, 255));
        return out;
      };
      const std::vector<char> x = text(static_cast<size_t>(r.outer * r.in) * line);
      const std::vector<char> fill = text(bytes);
      std::vector<char> want, got(static_cast<size_t>(r.outer * r.out) * line);
      for (int64_t i = 0; i < r.outer * r.out; ++i) {
        const auto o = static_cast<size_t>(i % r.out);
        const auto at = x.begin() + (i / r.out * r.in + r.index[o]) * static_cast<int64_t>(line);
        if (!r.filled[o]) want.insert(want.end(), at, at + static_cast<int64_t>(line));
        for (int64_t k = 0; r.filled[o] != 0 && k < inner; ++k) {
          want.insert(want.end(), fill.begin(), fill.end());
        }
      }
      CopyLines(three_, r, bytes, x.data(), fill.data(), got.data(), 3);
      EXPECT_EQ(got, want) << bytes << " bytes, " << inner;
    }
  }
}

HR_KERNEL_TESTS(ResampleTest);

}  // namespace
}  // namespace hr::cpu
