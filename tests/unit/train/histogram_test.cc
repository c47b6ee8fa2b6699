#include "runtime/train/histogram.h"

#include <cfloat>
#include <cmath>

#include "tests/unit/train/test_support.h"

namespace hr::train {
namespace {

class HistogramTest : public TrainTest {
 protected:
  template <typename T>
  std::vector<HistogramBucket> Make(const std::vector<T>& values, int buckets) {
    Tensor tensor =
        MakeTensor<T>(allocator_, {static_cast<int64_t>(values.size())}, values).value();
    return MakeHistogram(tensor, buckets).value();
  }
};

TEST_F(HistogramTest, BucketsHaveEqualWidth) {
  auto buckets = Make<float>({0, 1, 2, 3, 10, 9.99f}, 5);
  ASSERT_EQ(buckets.size(), 5u);
  EXPECT_EQ(buckets[0].left, 0);
  EXPECT_EQ(buckets[0].right, 2);
  EXPECT_EQ(buckets[4].right, 10);
  double counts[] = {2, 2, 0, 0, 2};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(buckets[i].count, counts[i]) << i;
}

TEST_F(HistogramTest, EqualValuesStandInTheLastBucket) {
  auto buckets = Make<int64_t>({7, 7, 7}, 4);
  EXPECT_EQ(buckets[0].left, 7);
  EXPECT_EQ(buckets[3].right, 7);
  EXPECT_EQ(buckets[0].count, 0);
  EXPECT_EQ(buckets[3].count, 3);
}

TEST_F(HistogramTest, LeavesOutWhatIsNotFinite) {
  auto buckets = Make<double>({NAN, 1, INFINITY, 2, -INFINITY}, 2);
  EXPECT_EQ(buckets[0].left, 1);
  EXPECT_EQ(buckets[1].right, 2);
  EXPECT_EQ(buckets[0].count + buckets[1].count, 2);
  for (const HistogramBucket& bucket : Make<float>({NAN}, 3)) EXPECT_EQ(bucket.count, 0);
  EXPECT_EQ(Make<float>({}, 3).size(), 3u);
}

TEST_F(HistogramTest, TakesTheLargestAndSmallestNumbers) {
  auto buckets = Make<double>({-DBL_MAX, 0, DBL_MAX}, 4);
  EXPECT_EQ(buckets[0].left, -DBL_MAX);
  EXPECT_EQ(buckets[3].right, DBL_MAX);
  EXPECT_EQ(buckets[0].count + buckets[2].count + buckets[3].count, 3);
  double total = 0;
  for (const HistogramBucket& bucket : Make<double>({0, DBL_TRUE_MIN}, 30)) total += bucket.count;
  EXPECT_EQ(total, 2);
}

TEST_F(HistogramTest, RefusesWhatItCannotCount) {
  HR_EXPECT_ERROR(MakeHistogram(Tensor()), kInvalidArgument, "contiguous");
  Tensor flags = Tensor::Create(allocator_, DType::kBool, {2}).value();
  HR_EXPECT_ERROR(MakeHistogram(flags), kInvalidArgument, "got bool[2]");
}

}  // namespace
}  // namespace hr::train
