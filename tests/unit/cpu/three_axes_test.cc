// Convolutions and pools of images with three spatial axes, and their gradients, against their
// definitions.
#include "tests/leaks.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

using IntList = std::vector<int64_t>;

class ThreeAxes : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    library_keeps_objects = true;  // oneDNN is opened if a plan wants it, and keeps its primitives
    kernel_ = strides_ = dilations_ = {0, 0, 0};
    pads_.assign(6, 0);
    images_ = {RandomInt(1, 3), 0, 0, 0, 0};
  }

  // A window that fits the image, and the size of what it gives.
  void DrawWindow(bool dilated) {
    outputs_.clear();
    for (size_t i = 0; i < 3; ++i) {
      kernel_[i] = RandomInt(1, 3);
      strides_[i] = RandomInt(1, 3);
      dilations_[i] = dilated ? RandomInt(1, 2) : 1;
      pads_[i] = RandomInt(0, kernel_[i] - 1);
      pads_[i + 3] = RandomInt(0, kernel_[i] - 1);
      const int64_t extent = (kernel_[i] - 1) * dilations_[i] + 1;
      images_[i + 2] = RandomInt(extent, extent + 5);
      outputs_.push_back((images_[i + 2] + pads_[i] + pads_[i + 3] - extent) / strides_[i] + 1);
    }
  }
  void DrawConvolution() {
    DrawWindow(true);
    groups_ = RandomInt(1, 3);
    images_[1] = groups_ * RandomInt(1, 4);
    weights_ = {groups_ * RandomInt(1, 5), images_[1] / groups_, kernel_[0], kernel_[1],
                kernel_[2]};
    result_ = {images_[0], weights_[0], outputs_[0], outputs_[1], outputs_[2]};
  }
  void DrawPool() {
    DrawWindow(false);
    images_[1] = RandomInt(1, 5);
    result_ = {images_[0], images_[1], outputs_[0], outputs_[1], outputs_[2]};
  }

  template <typename T>
  OneNodeRun& In(OneNodeRun& run, const Dims& dims) {
    return run.In(dims, Random<T>(ElementCount(dims)));
  }
  OneNodeRun& Window(OneNodeRun& run) {
    run.With("kernel_shape", kernel_).With("strides", strides_).With("pads", pads_);
    return run.Threads(static_cast<int>(RandomInt(1, 3)));
  }
  OneNodeRun& Convolution(OneNodeRun& run) {
    return Window(run).With("dilations", dilations_).With("group", groups_);
  }
  template <typename T>
  static double Error() {
    return sizeof(T) == 4 ? 1e-4 : 1e-12;
  }

  template <typename T>
  void CheckConvolution() {
    OneNodeRun forward("Conv");
    In<T>(In<T>(forward, images_), weights_);
    if (RandomInt(0, 1) == 1) In<T>(forward, {weights_[0]});
    Convolution(forward).Check(Error<T>(), Error<T>());
    OneNodeRun data("ConvGradInput", "headrace.grad");
    In<T>(In<T>(In<T>(data, result_), weights_), images_);
    Convolution(data).Check(Error<T>(), Error<T>());
    OneNodeRun weights("ConvGradWeight", "headrace.grad");
    In<T>(In<T>(In<T>(weights, result_), images_), weights_);
    Convolution(weights).Check(Error<T>(), Error<T>());
  }

  template <typename T>
  void CheckPools() {
    OneNodeRun largest("MaxPool");
    In<T>(largest, images_).Outputs(2);
    Window(largest).Check(0, 0);
    if (HasFatalFailure()) return;
    const int64_t with_pads = RandomInt(0, 1);
    OneNodeRun average("AveragePool");
    Window(In<T>(average, images_)).With("count_include_pad", with_pads);
    average.Check(Error<T>(), Error<T>());
    OneNodeRun spread("AveragePoolGrad", "headrace.grad");
    In<T>(In<T>(spread, result_), images_);
    Window(spread).With("count_include_pad", with_pads).Check(Error<T>(), Error<T>());
  }

  IntList kernel_, strides_, dilations_, pads_, outputs_;
  Dims images_, weights_, result_;
  int64_t groups_ = 1;
};

TEST_P(ThreeAxes, Convolutions) {
  for (int round = 0; round < Rounds(25) && !HasFatalFailure(); ++round) {
    DrawConvolution();
    CheckConvolution<float>();
    if (!HasFatalFailure()) CheckConvolution<double>();
  }
}

// The only position along depth is one of padding: it is no convolution of two axes.
TEST_P(ThreeAxes, DepthOfPaddingAlone) {
  OneNodeRun run("Conv");
  In<float>(run, {2, 16, 1, 8, 9}), In<float>(run, {16, 16, 1, 3, 3});
  run.With("strides", IntList{3, 1, 1}).With("pads", IntList{2, 1, 1, 0, 1, 1});
  for (const float y : ValuesOf<float>(run.Threads(2).MustRun()[0])) ASSERT_EQ(y, 0);
}

TEST_P(ThreeAxes, Pools) {
  for (int round = 0; round < Rounds(25) && !HasFatalFailure(); ++round) {
    DrawPool();
    CheckPools<float>();
    if (!HasFatalFailure()) CheckPools<double>();
  }
}

// Beyond three there is no kernel, and that is told.
TEST_P(ThreeAxes, NoneOfFour) {
  const Dims images = {1, 2, 2, 2, 2, 2}, weights = {1, 2, 1, 1, 1, 1};
  OneNodeRun conv("Conv");
  In<float>(In<float>(conv, images), weights);
  ExpectFailure(conv, "spatial axes");
  OneNodeRun pool("MaxPool");
  In<float>(pool, images).With("kernel_shape", IntList{1, 1, 1, 1});
  ExpectFailure(pool, "spatial axes");
}

HR_KERNEL_TESTS(ThreeAxes);

}  // namespace
}  // namespace hr::cpu
