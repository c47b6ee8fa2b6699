// The passes of convolutions of plain images against the definition.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {

class ConvPassesTest : public BlockedTest {
 protected:
  // run(threads, slices, x, w, bias, relu, dy) returns y, dx, dw and, if `bias_gradient`, the
  // gradient of the bias, one behind the other; the bias may be null. Results have to be the same
  // on one thread and on three.
  template <typename T, typename Run>
  void CheckPasses(const ConvShape& s, bool bias_gradient, const Run& run) {
    using reference::Values;
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.ic * s.InputPlane()), w = RandomValues(s.oc * s.Taps());
    const Values dy = RandomValues(s.n * s.oc * s.OutputPlane());
    const Values bias = RandomInt(0, 1) == 0 ? RandomValues(s.oc) : Values();
    const bool relu = RandomInt(0, 1) == 0;
    const int slices = static_cast<int>(RandomInt(1, 5));
    Values expected = reference::Conv(s, x, w, bias);
    for (double& v : expected) v = relu ? std::max(v, 0.0) : v;
    for (const Values& more :
         {reference::ConvBackwardData(s, w, dy), reference::ConvBackwardWeights(s, x, dy),
          bias_gradient ? reference::ConvBackwardBias(s, dy) : Values()}) {
      expected.insert(expected.end(), more.begin(), more.end());
    }
    Buffer<T> bx(x.size()), bw(w.size()), bdy(dy.size()), bb(bias.size());
    Fill(bx, x);
    Fill(bw, w);
    Fill(bdy, dy);
    Fill(bb, bias);
    Buffer<T>* const pbias = bias.empty() ? nullptr : &bb;
    const std::vector<T> parallel = run(three_, slices, bx, bw, pbias, relu, bdy);
    ASSERT_EQ(parallel.size(), expected.size());
    ExpectNear(parallel.data(), expected, 32);
    EXPECT_EQ(parallel, run(one_, slices, bx, bw, pbias, relu, bdy));
  }

  // The buffers one behind the other.
  template <typename T>
  static std::vector<T> Joined(std::initializer_list<Buffer<T>*> buffers) {
    std::vector<T> all;
    for (Buffer<T>* b : buffers) all.insert(all.end(), b->data(), b->data() + b->size());
    return all;
  }
};

}  // namespace hr::cpu
