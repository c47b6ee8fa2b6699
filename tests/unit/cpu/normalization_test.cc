// Normalization of rows, of channels and of groups of channels, and their gradients.
#include "backends/cpu/kernels/normalization.h"

#include <cmath>

#include "backends/cpu/kernels/normalization_channels_last.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class NormalizationTest : public KernelTest {
 protected:
  int RandomThreads() { return static_cast<int>(RandomInt(1, 3)); }
  template <typename T>
  std::vector<T> Values(const Dims& dims, double scale = 1, double shift = 0) {
    std::vector<T> x = Random<T>(ElementCount(dims));
    for (T& value : x) value = static_cast<T>(value * scale + shift);
    return x;
  }
  template <typename T>
  OneNodeRun& With(OneNodeRun& run, const Dims& dims, double scale = 1, double shift = 0) {
    return run.In(dims, Values<T>(dims, scale, shift));
  }
  Tensor Narrow(const Dims& dims) {
    reference::Array array(DType::kFloat16, dims);
    const std::vector<float> values = Values<float>(dims);
    array.data.assign(values.begin(), values.end());
    return reference::ToTensor(array);
  }
  template <typename T>
  static double Error() {
    return sizeof(T) == 4 ? 2e-4 : 1e-12;
  }

  // Around the sizes of vectors and of tasks.
  Dims RandomDims(int64_t least_rank) {
    Dims dims = {RandomInt(2, 90), RandomInt(2, 70)};
    for (int64_t i = RandomInt(least_rank - 2, 2); i > 0; --i) dims.push_back(RandomInt(2, 9));
    return dims;
  }
  // The axes from `axis` on, sometimes with one that is broadcast, sometimes without the first.
  Dims RandomScale(const Dims& dims, int64_t axis) {
    Dims out(dims.begin() + axis, dims.end());
    if (RandomInt(0, 3) == 0) out[static_cast<size_t>(RandomInt(0, out.size() - 1))] = 1;
    if (RandomInt(0, 3) == 0 && out.size() > 1) out.erase(out.begin());
    if (RandomInt(0, 3) == 0) out.insert(out.begin(), 1);
    while (out.size() > dims.size()) out.erase(out.begin());
    return out;
  }

  template <typename T>
  void CheckRows() {
    const Dims dims = RandomDims(2);
    const int64_t axis = RandomInt(0, static_cast<int64_t>(dims.size()) - 1);
    OneNodeRun run("LayerNormalization");
    With<T>(run, dims, 3, 2);
    With<T>(run, RandomScale(dims, axis));
    if (RandomInt(0, 1) == 1) With<T>(run, RandomScale(dims, axis));
    run.With("axis", axis).Outputs(static_cast<size_t>(RandomInt(1, 3)));
    run.Threads(RandomThreads()).Check(Error<T>(), Error<T>());
  }

  template <typename T>
  void CheckRowsGrad() {
    const Dims dims = RandomDims(2);
    const int64_t axis = RandomInt(0, static_cast<int64_t>(dims.size()) - 1);
    Dims rows = dims;
    for (size_t d = static_cast<size_t>(axis); d < rows.size(); ++d) rows[d] = 1;
    OneNodeRun run("LayerNormalizationGrad", "headrace.grad");
    With<T>(run, dims);
    With<T>(run, dims);
    With<T>(run, RandomScale(dims, axis));
    With<T>(run, rows, 0.1);
    With<T>(run, rows, 0.1, 2);
    run.With("axis", axis).Outputs(2);
    run.Threads(RandomThreads()).Check(Error<T>(), Error<T>());
  }

  template <typename T>
  void CheckChannels() {
    const Dims dims = RandomDims(2);
    const int64_t training = RandomInt(0, 1);
    OneNodeRun run("BatchNormalization");
    With<T>(run, dims, 3, 2);
    for (int i = 0; i < 3; ++i) With<T>(run, {dims[1]});
    With<T>(run, {dims[1]}, 0.5, 1);
    run.With("training_mode", training).With("momentum", 0.7);
    run.Outputs(training == 0 ? 1 : static_cast<size_t>(RandomInt(1, 3)));
    run.Threads(RandomThreads()).Check(Error<T>(), Error<T>());
  }

  template <typename T>
  void CheckChannelsGrad() {
    const Dims dims = RandomDims(2);
    OneNodeRun run("BatchNormalizationGrad", "headrace.grad");
    With<T>(run, dims);
    With<T>(run, dims, 1, 0.5);
    With<T>(run, {dims[1]});
    With<T>(run, {dims[1]}, 0.1);
    With<T>(run, {dims[1]}, 0.5, 1);
    run.With("training_mode", RandomInt(0, 1)).Outputs(3);
    run.Threads(RandomThreads()).Check(2 * Error<T>(), 2 * Error<T>());
  }

  // Channels of 1 to 6 groups.
  Dims RandomGroups(int64_t* groups) {
    Dims dims = RandomDims(2);
    *groups = RandomInt(1, 6);
    dims[0] = RandomInt(1, 40);
    dims[1] = *groups * RandomInt(1, 12);
    return dims;
  }

  template <typename T>
  void CheckGroups() {
    int64_t groups = 0;
    const Dims dims = RandomGroups(&groups);
    OneNodeRun run("GroupNormalization");
    With<T>(run, dims, 3, 2);
    for (int i = 0; i < 2; ++i) With<T>(run, {dims[1]});
    run.With("num_groups", groups).With("epsilon", 1e-3);
    run.Threads(RandomThreads()).Check(Error<T>(), Error<T>());
  }

  template <typename T>
  void CheckGroupsGrad() {
    int64_t groups = 0;
    const Dims dims = RandomGroups(&groups);
    OneNodeRun run("GroupNormalizationGrad", "headrace.grad");
    With<T>(run, dims);
    With<T>(run, dims, 1, 0.5);
    With<T>(run, {dims[1]});
    run.With("num_groups", groups).With("epsilon", 1e-3).Outputs(3);
    run.Threads(RandomThreads()).Check(2 * Error<T>(), 2 * Error<T>());
  }
};

TEST_P(NormalizationTest, Rows) {
  for (int i = 0; i < 20; ++i) {
    CheckRows<float>();
    CheckRows<double>();
  }
}

TEST_P(NormalizationTest, RowsGrad) {
  for (int i = 0; i < 20; ++i) {
    CheckRowsGrad<float>();
    CheckRowsGrad<double>();
  }
}

TEST_P(NormalizationTest, Channels) {
  for (int i = 0; i < 20; ++i) {
    CheckChannels<float>();
    CheckChannels<double>();
  }
}

TEST_P(NormalizationTest, ChannelsGrad) {
  for (int i = 0; i < 20; ++i) {
    CheckChannelsGrad<float>();
    CheckChannelsGrad<double>();
  }
}

TEST_P(NormalizationTest, Groups) {
  for (int i = 0; i < 20; ++i) {
    CheckGroups<float>();
    CheckGroups<double>();
  }
}

TEST_P(NormalizationTest, GroupsGrad) {
  for (int i = 0; i < 20; ++i) {
    CheckGroupsGrad<float>();
    CheckGroupsGrad<double>();
  }
}

// An output that is null changes nothing about the others.
TEST_P(NormalizationTest, GroupsGradLeavesOut) {
  const GroupShape shape{3, 2, 4, 5};
  const auto channels = static_cast<size_t>(shape.all_channels());
  const auto elements = static_cast<size_t>(shape.rows() * shape.length());
  const auto dy = Values<float>({3, 8, 5}), x = Values<float>({3, 8, 5}), s = Values<float>({8});
  std::vector<float> scratch(2 * 3 * channels);
  const auto run = [&](int wanted) {
    std::vector<std::vector<float>> out;
    for (size_t count : {elements, channels, channels}) out.emplace_back(count, 7);
    const auto to = [&](int i) { return (wanted >> i & 1) != 0 ? out[i].data() : nullptr; };
    NormalizeGroupsGrad(three_, shape, 1e-3, dy.data(), x.data(), s.data(), to(0), to(1), to(2), 3,
                        scratch.data());
    return out;
  };
  const auto all = run(7);
  for (int wanted = 0; wanted < 7; ++wanted) {
    const auto some = run(wanted);
    for (size_t i = 0; i < 3; ++i) {
      const bool given = (wanted >> i & 1) != 0;
      EXPECT_EQ(some[i], given ? all[i] : std::vector<float>(all[i].size(), 7)) << wanted << i;
    }
  }
}

// What follows a normalization, and the gradient of a ReLU, give the bits that they give apart.
class ChannelTails : public NormalizationTest {
 protected:
  // run(tail, y, statistics) trains, back(before, dy, dx, dscale, dbias) goes back.
  template <typename Run, typename Back>
  void Check(size_t elements, size_t channels, const Run& run, const Back& back) {
    const auto residual = Values<float>({static_cast<int64_t>(elements)});
    std::vector<float> plain(elements), both(elements), relu(elements), mean(channels),
        variance(channels);
    run({}, plain.data(), {.mean = mean.data(), .variance = variance.data()});
    run({.residual = residual.data(), .relu = true}, both.data(), {});
    run({.relu = true}, relu.data(), {});
    auto dy = Values<float>({static_cast<int64_t>(elements)}), passed = dy;
    for (size_t i = 0; i < elements; ++i) {
      ASSERT_EQ(both[i], std::max(0.f, plain[i] + residual[i])) << i;
      ASSERT_EQ(relu[i], std::max(0.f, plain[i])) << i;
      if (!(plain[i] > 0)) passed[i] = 0;
    }
    const std::vector<float> expected =
                                 back({.mean = mean.data(), .variance = variance.data()}, passed),
                             again = back({}, passed),
                             with_relu = back({.mean = mean.data(),
                                               .variance = variance.data(),
                                               .bias = bias_.data()},
                                              dy);
    EXPECT_EQ(with_relu, expected);
    EXPECT_EQ(again, expected);
  }
  // dx, dscale and dbias, one behind the other.
  struct Gradients {
    Gradients(size_t elements, size_t channels) : all(elements + 2 * channels) {
      dx = all.data(), dscale = dx + elements, dbias = dscale + channels;
    }
    std::vector<float> all;
    float *dx, *dscale, *dbias;
  };
  std::vector<float> scale_, bias_;
};

TEST_P(ChannelTails, OfPlanes) {
  for (const ChannelShape& shape : {ChannelShape{3, 5, 7}, {2, 3, 4500}, {70, 2, 33}}) {
    const auto elements = static_cast<size_t>(shape.count() * shape.channels);
    const auto channels = static_cast<size_t>(shape.channels);
    const auto x = Values<float>({static_cast<int64_t>(elements)}, 3, 2);
    scale_ = Values<float>({shape.channels}), bias_ = Values<float>({shape.channels});
    Check(
        elements, channels,
        [&](const ChannelTail<float>& tail, float* y, const TrainingStatistics<float>& statistics) {
          TrainChannels(three_, shape, 1e-3, x.data(), scale_.data(), bias_.data(), tail, y,
                        statistics, 2);
        },
        [&](const ChannelsBefore<float>& before, const std::vector<float>& dy) {
          Gradients out(elements, channels);
          NormalizeChannelsGrad(three_, shape, 1e-3, dy.data(), x.data(), scale_.data(), before,
                                out.dx, out.dscale, out.dbias, 2);
          return out.all;
        });
  }
}

TEST_P(ChannelTails, OfColumns) {
  for (const ColumnShape& shape : {ColumnShape{5, 3}, {150, 83}, {300, 16}}) {
    const auto elements = static_cast<size_t>(shape.rows * shape.channels);
    const auto channels = static_cast<size_t>(shape.channels);
    const auto x = Values<float>({static_cast<int64_t>(elements)}, 3, 2);
    scale_ = Values<float>({shape.channels}), bias_ = Values<float>({shape.channels});
    std::vector<double> scratch(ColumnScratchBytes<float>(shape, 2) / sizeof(double) + 1);
    Check(
        elements, channels,
        [&](const ChannelTail<float>& tail, float* y, const TrainingStatistics<float>& statistics) {
          TrainColumns(three_, shape, 1e-3, x.data(), scale_.data(), bias_.data(), tail, y,
                       statistics, 2, scratch.data());
        },
        [&](const ChannelsBefore<float>& before, const std::vector<float>& dy) {
          Gradients out(elements, channels);
          NormalizeColumnsGrad(three_, shape, 1e-3, dy.data(), x.data(), scale_.data(), before,
                               out.dx, out.dscale, out.dbias, 2, scratch.data());
          return out.all;
        });
  }
}

// Means far from 0 cost no digits of the variance.
TEST_P(ChannelTails, KeepVariancesFarFromZero) {
  const ColumnShape shape{1000, 20};
  auto x = Values<float>({20000});
  for (float& value : x) value = std::round(value * 64) / 64 + 4096;
  std::vector<double> scratch(ColumnScratchBytes<float>(shape, 3) / sizeof(double) + 1);
  std::vector<float> y(x.size()), ones(20, 1), mean(20), variance(20);
  TrainColumns<float>(three_, shape, 1e-5, x.data(), ones.data(), ones.data(), {}, y.data(),
                      {.mean = mean.data(), .variance = variance.data()}, 3, scratch.data());
  for (size_t c = 0; c < 20; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = c; i < x.size(); i += 20) sum += x[i];
    for (size_t i = c; i < x.size(); i += 20) squares += std::pow(x[i] - sum / 1000, 2);
    EXPECT_NEAR(variance[c], squares / 1000, 1e-6 * squares / 1000);
  }
}

HR_KERNEL_TESTS(ChannelTails);

// Channels without elements get no gradient.
TEST_P(NormalizationTest, EmptyGroups) {
  for (const Dims& dims : {Dims{0, 4, 3}, Dims{2, 4, 0}}) {
    OneNodeRun run("GroupNormalizationGrad", "headrace.grad");
    With<float>(With<float>(With<float>(run, dims), dims), {4});
    run.With("num_groups", int64_t{2}).Outputs(3).Check();
  }
}

TEST_P(NormalizationTest, SaysWhatItLacks) {
  OneNodeRun rows("LayerNormalization");
  With<float>(rows, {4, 8});
  With<float>(rows, {4, 8});
  ExpectFailure(rows, "input 1 of shape [4, 8], which differs between rows");
  OneNodeRun types("LayerNormalization");
  With<float>(types, {4, 8});
  With<double>(types, {8});
  ExpectFailure(types, "LayerNormalization of float32 with float64 has no CPU kernel");
}

// Numbers of 16 bits are computed in float32 and rounded at the end.
TEST_P(NormalizationTest, NarrowNumbersAndStatistics) {
  OneNodeRun stash("LayerNormalization");
  With<float>(With<float>(stash, {4, 8}, 3, 2), {8});
  stash.With("stash_type", int64_t{16}).Outputs(3).Check(0x1p-8, 1e-3);
  EXPECT_EQ(stash.MustRun()[1].dtype(), DType::kBfloat16);
  for (const char* op : {"LayerNormalization", "GroupNormalization"}) {
    OneNodeRun run(op);
    run.In(Narrow({4, 8, 5}));
    run.In(Narrow(op[0] == 'L' ? Dims{5} : Dims{8})).In(Narrow(op[0] == 'L' ? Dims{5} : Dims{8}));
    if (op[0] == 'G') run.With("num_groups", int64_t{2});
    run.Check(0x1p-10, 1e-3);
    EXPECT_EQ(run.MustRun()[0].dtype(), DType::kFloat16);
  }
}

HR_KERNEL_TESTS(NormalizationTest);

}  // namespace
}  // namespace hr::cpu
