// RoiAlign, MaxRoiPool, Col2Im, LpPool and Det, with their gradients.
#include <cmath>

#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

using IntList = std::vector<int64_t>;

class RegionTest : public KernelTest {
 protected:
  template <typename T>
  OneNodeRun& In(OneNodeRun& run, const Dims& dims) {
    return run.In(dims, Random<T>(ElementCount(dims)));
  }
  // Corners inside and outside of an image of 8 x 8.
  std::vector<float> Corners(int64_t regions, bool with_image) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < regions; ++i) {
      if (with_image) numbers.push_back(static_cast<float>(RandomInt(0, 1)));
      const int64_t x = RandomInt(-20, 90), y = RandomInt(-20, 90);
      for (int64_t v : {x, y, x + RandomInt(-10, 90), y + RandomInt(-10, 90)}) {
        numbers.push_back(static_cast<float>(v) / 8 + 0.01F);
      }
    }
    return numbers;
  }
};

TEST_P(RegionTest, RoiAlign) {
  for (int round = 0; round < Rounds(60) && !HasFatalFailure(); ++round) {
    const int64_t regions = RandomInt(0, 4), channels = RandomInt(1, 3);
    const int64_t rows = RandomInt(1, 3), columns = RandomInt(1, 4);
    const Dims images = {2, channels, RandomInt(1, 8), RandomInt(1, 8)};
    const std::vector<float> corners = Corners(regions, false);
    IntList of;
    for (int64_t i = 0; i < regions; ++i) of.push_back(RandomInt(0, 1));
    const int64_t sampling = RandomInt(0, 3);
    const std::string mode = RandomInt(0, 1) == 0 ? "avg" : "max";
    for (const int version : {10, 16}) {
      OneNodeRun run("RoiAlign", "", version);
      In<float>(run, images).In({regions, 4}, corners).In({regions}, of).Threads(2);
      run.With("output_height", rows).With("output_width", columns).With("mode", mode);
      run.With("sampling_ratio", sampling).With("spatial_scale", 0.75).Check();
    }
    OneNodeRun grad("RoiAlignGrad", "headrace.grad");
    In<float>(In<float>(grad, {regions, channels, rows, columns}), images);
    grad.In({regions, 4}, corners).In({regions}, of).With("mode", mode).Threads(2);
    grad.With("output_height", rows).With("output_width", columns);
    grad.With("sampling_ratio", sampling).With("spatial_scale", 0.75).Check(1e-5, 1e-5);
  }
}

TEST_P(RegionTest, RoiAlignRefuses) {
  const auto align = [&](std::vector<float> corners, int64_t image) {
    OneNodeRun run("RoiAlign");
    In<float>(run, {2, 1, 3, 3}).In<float>({1, 4}, corners).In<int64_t>({1}, {image});
    return run.Failure();
  };
  EXPECT_NE(align({0, 0, 1, 1}, 2).find("has 2 images; region 0 is of image 2"), std::string::npos);
  EXPECT_NE(align({0, 0, 1, 1}, -1).find("is of image -1"), std::string::npos);
  EXPECT_NE(align({0, 0, 1e9F, 1e9F}, 0).find("give a smaller region"), std::string::npos);
  EXPECT_NE(align({0, NAN, 1, 1}, 0).find("not finite"), std::string::npos);
  OneNodeRun bins("RoiAlign");
  In<float>(bins, {2, 1, 3, 3}).In<float>({1, 4}, {0, 0, 1, 1}).In<int64_t>({1}, {0});
  ExpectFailure(bins.With("output_height", int64_t{0}), "bins along each axis");
}

TEST_P(RegionTest, MaxRoiPool) {
  for (int round = 0; round < Rounds(60) && !HasFatalFailure(); ++round) {
    const int64_t regions = RandomInt(0, 4), channels = RandomInt(1, 3);
    const IntList bins = {RandomInt(1, 3), RandomInt(1, 4)};
    const Dims images = {2, channels, RandomInt(1, 8), RandomInt(1, 8)};
    const std::vector<float> corners = Corners(regions, true);
    OneNodeRun run("MaxRoiPool");
    In<float>(run, images).In({regions, 5}, corners).With("pooled_shape", bins);
    run.With("spatial_scale", 0.75).Check(0, 0);
    OneNodeRun grad("MaxRoiPoolGrad", "headrace.grad");
    In<float>(In<float>(grad, {regions, channels, bins[0], bins[1]}), images);
    grad.In({regions, 5}, corners).With("pooled_shape", bins).Threads(2);
    grad.With("spatial_scale", 0.75).Check(1e-6, 1e-6);
  }
}

TEST_P(RegionTest, MaxRoiPoolRefuses) {
  const auto pool = [&](std::vector<float> region) {
    OneNodeRun run("MaxRoiPool");
    In<float>(run, {2, 1, 3, 3}).In<float>({1, 5}, region).With("pooled_shape", IntList{2, 2});
    return run.Failure();
  };
  EXPECT_NE(pool({2, 0, 0, 1, 1}).find("has 2 images"), std::string::npos);
  EXPECT_NE(pool({NAN, 0, 0, 1, 1}).find("has 2 images"), std::string::npos);
  EXPECT_NE(pool({0, 0, NAN, 1, 1}).find("no number"), std::string::npos);
  EXPECT_EQ(pool({1, -1e30F, 0, 1e30F, INFINITY}), "");
}

TEST_P(RegionTest, ColumnsAndImages) {
  for (int round = 0; round < Rounds(80) && !HasFatalFailure(); ++round) {
    const int64_t axes = RandomInt(1, 4);
    IntList image, block, strides, dilations, pads(static_cast<size_t>(2 * axes));
    int64_t positions = 1;
    for (int64_t i = 0; i < axes; ++i) {
      block.push_back(RandomInt(1, 3)), strides.push_back(RandomInt(1, 3));
      dilations.push_back(RandomInt(1, 2));
      const auto at = static_cast<size_t>(i);
      pads[at] = RandomInt(0, 2), pads[at + static_cast<size_t>(axes)] = RandomInt(0, 2);
      image.push_back((block[at] - 1) * dilations[at] + RandomInt(1, 4));
      const int64_t room = image[at] + pads[at] + pads[at + static_cast<size_t>(axes)] -
                           (block[at] - 1) * dilations[at] - 1;
      positions *= room / strides[at] + 1;
    }
    const Dims columns = {2, RandomInt(1, 3) * ElementCount(block), positions};
    OneNodeRun run("Col2Im");
    round % 2 == 0 ? In<float>(run, columns) : In<double>(run, columns);
    run.Constant<int64_t>({axes}, image).Constant<int64_t>({axes}, block).Threads(2);
    run.With("strides", strides).With("dilations", dilations).With("pads", pads).Check();
    if (HasFatalFailure()) return;
    Dims planes = {2, columns[1] / ElementCount(block)};
    planes.insert(planes.end(), image.begin(), image.end());
    OneNodeRun grad("Im2Col", "headrace.grad");
    In<float>(In<float>(grad, planes), columns).Constant<int64_t>({axes}, block);
    grad.With("strides", strides).With("dilations", dilations).With("pads", pads).Check(0, 0);
  }
}

TEST_P(RegionTest, ColumnsOfIntegersWrapAround) {
  OneNodeRun run("Col2Im");
  run.In<int8_t>({1, 2, 2}, {1, 100, 100, 3}).Constant<int64_t>({1}, {3});
  EXPECT_EQ(ValuesOf<int8_t>(run.Constant<int64_t>({1}, {2}).MustRun()[0]),
            (std::vector<int8_t>{1, -56, 3}));
}

TEST_P(RegionTest, ColumnsThatDoNotFit) {
  const auto columns = [](Dims dims, std::vector<int64_t> image, std::vector<int64_t> block) {
    OneNodeRun run("Col2Im");
    run.In(dims, std::vector<float>(static_cast<size_t>(ElementCount(dims))));
    run.Constant<int64_t>({static_cast<int64_t>(image.size())}, image);
    return run.Constant<int64_t>({static_cast<int64_t>(block.size())}, block).Failure();
  };
  EXPECT_NE(columns({1, 2, 3}, {3}, {2}).find("columns and the places"), std::string::npos);
  EXPECT_NE(columns({1, 3, 2}, {3}, {2}).find("no whole number of blocks"), std::string::npos);
  EXPECT_NE(columns({1, 2, 2}, {3, 1}, {2}).find("for each spatial axis"), std::string::npos);
  EXPECT_NE(columns({1, 2, 2}, {-3}, {2}).find("from 1 on"), std::string::npos);
  EXPECT_NE(columns({1, 2, 2}, {3}, {0}).find("kernel_shape"), std::string::npos);
  const int64_t large = int64_t{1} << 62;
  EXPECT_NE(columns({1, 1, 1}, {large, large}, {1, 1}), "");
}

TEST_P(RegionTest, LpPools) {
  for (int round = 0; round < Rounds(60) && !HasFatalFailure(); ++round) {
    const int64_t p = RandomInt(1, 4);
    const Dims images = {RandomInt(1, 2), RandomInt(1, 3), RandomInt(3, 7), RandomInt(3, 7)};
    const IntList kernel = {RandomInt(1, 3), RandomInt(1, 3)};
    const IntList strides = {RandomInt(1, 2), RandomInt(1, 2)};
    OneNodeRun run("LpPool");
    In<float>(run, images).With("p", p).With("kernel_shape", kernel).With("strides", strides);
    run.With("ceil_mode", RandomInt(0, 1)).Threads(2).Check(1e-6, 1e-6);
    OneNodeRun global("GlobalLpPool");
    In<double>(global, images).With("p", p).Check(1e-12, 1e-12);
  }
  for (const int version : {1, 2}) {
    OneNodeRun pool("GlobalLpPool", "", version);
    pool.In<float>({1, 1, 2}, {3, -4});
    EXPECT_EQ(ValuesOf<float>(pool.MustRun()[0]), std::vector<float>{5}) << version;
  }
  OneNodeRun wrong("GlobalLpPool");
  ExpectFailure(wrong.In<float>({1, 1, 2}, {3, -4}).With("p", int64_t{0}), "from 1 on, got 0");
}

TEST_P(RegionTest, StorageOrderOfMaxima) {
  for (int round = 0; round < Rounds(20) && !HasFatalFailure(); ++round) {
    Dims images = {2, 2};
    IntList kernel;
    for (int64_t i = RandomInt(1, 3); i > 0; --i) {
      images.push_back(RandomInt(2, 5)), kernel.push_back(RandomInt(1, 2));
    }
    OneNodeRun run("MaxPool");
    In<float>(run, images).With("kernel_shape", kernel).With("storage_order", RandomInt(0, 1));
    run.Outputs(2).Check(0, 0);
  }
}

TEST_P(RegionTest, Determinants) {
  for (int64_t n = 0; n < 6; ++n) {
    OneNodeRun run("Det");
    In<double>(run, {2, 3, n, n}).Threads(2).Check(1e-12, 1e-12);
    OneNodeRun grad("DetGrad", "headrace.grad");
    In<double>(In<double>(grad, {2, 3}), {2, 3, n, n}).Threads(2).Check(1e-12, 1e-12);
  }
  OneNodeRun wide("Det");
  ExpectFailure(In<float>(wide, {2, 3}), "rows and columns");
}

// Cofactors of matrices of all ranks.
TEST_P(RegionTest, DeterminantsOfSingularMatrices) {
  for (int64_t rank = 0; rank < 4; ++rank) {
    std::vector<double> x(16);
    for (int64_t k = 0; k < rank; ++k) {
      for (int64_t i = 0; i < 16; ++i) {
        x[static_cast<size_t>(i)] += static_cast<double>((k + i / 4 * 3) % 5 * ((k + i % 4) % 3));
      }
    }
    OneNodeRun grad("DetGrad", "headrace.grad");
    grad.In<double>({}, {1.5}).In<double>({4, 4}, x).Check(1e-12, 1e-11);
    OneNodeRun det("Det");
    det.In<double>({4, 4}, x).Check(1e-12, 1e-11);
  }
}

HR_KERNEL_TESTS(RegionTest);

}  // namespace
}  // namespace hr::cpu
