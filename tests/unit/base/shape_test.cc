#include "runtime/base/shape.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace hr {
namespace {

constexpr int64_t kLarge = int64_t{1} << 40;

TEST(ElementCount, IsTheProduct) {
  EXPECT_EQ(CheckedElementCount(Dims{}).value(), 1);
  EXPECT_EQ(CheckedElementCount(Dims{2, 3, 4}, 8).value(), 24);
  EXPECT_EQ(CheckedElementCount(Dims{2, 0, 4}).value(), 0);
  EXPECT_EQ(CheckedElementCount(Dims{2, -1}).status().message(),
            "shape [2, -1] has a negative dimension");
}

// Wherever the 0 stands, strides and products of some of the dimensions fit, or it is refused.
TEST(ElementCount, ZeroDoesNotMakeUpForDimensionsThatAreTooLarge) {
  for (const Dims& dims : {Dims{0, kLarge, kLarge}, Dims{kLarge, 0, kLarge},
                           Dims{kLarge, kLarge, 0}, Dims{kLarge, kLarge}, Dims{INT64_MAX, 0}}) {
    const auto count = CheckedElementCount(dims);
    ASSERT_FALSE(count.ok());
    EXPECT_EQ(count.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(count.status().message().find(Cat("a tensor of shape ", dims, " is too large")), 0u);
  }
  const Dims wide = {1 << 28, 1 << 28, 0};
  EXPECT_EQ(CheckedElementCount(wide).value(), 0);
  EXPECT_EQ(ContiguousStrides(wide), (Dims{0, 0, 1}));
  EXPECT_EQ(ContiguousStrides(Dims{0, 1 << 28, 1 << 28}), (Dims{1ll << 56, 1 << 28, 1}));
}

TEST(ElementCount, TheBytesOfAnElementCount) {
  EXPECT_EQ(CheckedElementCount(Dims{kMaxTensorBytes / 8}, 8).value(), kMaxTensorBytes / 8);
  EXPECT_FALSE(CheckedElementCount(Dims{kMaxTensorBytes / 8 + 1}, 8).ok());
  EXPECT_FALSE(CheckedElementCount(Dims{kMaxTensorBytes / 8, 2}, 8).ok());
}

}  // namespace
}  // namespace hr
