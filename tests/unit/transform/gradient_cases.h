// The table of gradient checks. Every differentiable operator, in every version, has a row here.
#pragma once

#include "tests/unit/transform/composed_gradient_cases.h"
#include "tests/unit/transform/gradient_case.h"

namespace hr::transform {

inline void AddUnaryCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  for (const char* op :
       {"Abs",  "Neg",   "Exp",      "Sin",      "Cos",  "Tan",      "Atan",      "Sinh",
        "Cosh", "Asinh", "Erf",      "Relu",     "Tanh", "Sigmoid",  "LeakyRelu", "Elu",
        "Selu", "Celu",  "Softplus", "Softsign", "Mish", "Identity", "Gelu"}) {
    cases.push_back(Case(op).X({3, 5}, -1.4, 1.5));
  }
  for (const char* op : {"Asin", "Acos", "Atanh"}) cases.push_back(Case(op).X({7}, -0.9, 0.9));
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) cases.push_back(Case(op).X({7}, 0.2, 3));
  cases.push_back(Case("Reciprocal").X({5}, -3, -0.2));
  cases.push_back(Case("Acosh").X({7}, 1.2, 4));
  cases.push_back(Case("LeakyRelu").X({9}).With("alpha", 0.3));
  cases.push_back(Case("Elu").X({9}).With("alpha", 0.7));
  cases.push_back(Case("Celu").X({9}).With("alpha", 0.7));
  cases.push_back(Case("Selu").X({9}).With("alpha", 0.7).With("gamma", 1.3));
  cases.push_back(Case("ThresholdedRelu").X({9}, -2, 2).With("alpha", 0.4));
  cases.push_back(Case("HardSigmoid").X({11}, -5, 5));
  cases.push_back(Case("HardSigmoid").X({11}, -5, 5).With("alpha", 0.3).With("beta", 0.1));
  cases.push_back(Case("HardSwish").X({11}, -5, 5));
  cases.push_back(Case("Gelu").X({9}, -3, 3).With("approximate", std::string("tanh")));
  cases.push_back(Case("PRelu").X({2, 3, 4}).X({3, 1}));
  cases.push_back(
      Case("Clip").X({9}, -2, 2).Scalar(DType::kFloat64, -0.5).Scalar(DType::kFloat64, 1));
  cases.push_back(Case("Clip").X({9}, -2, 2).Omitted().Scalar(DType::kFloat64, 1));
  cases.push_back(Case("Clip").X({9}, -2, 2));
  for (int version : {9, 19}) {
    cases.push_back(Case("Cast").Version(version).X({4}).With("to", int64_t{1}));
  }
  for (int version : {15, 19}) {
    cases.push_back(Case("CastLike").Version(version).X({4}).Fed(DType::kFloat32, {}, {0}));
  }
}

inline void AddBinaryCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    cases.push_back(Case(op).X({2, 3}, 0.4, 2).X({2, 3}, 0.5, 2.2));
    cases.push_back(Case(op).X({2, 1, 4}, 0.4, 2).X({3, 1}, 0.5, 2.2));
    cases.push_back(Case(op).X({}, 0.4, 2).X({2, 2}, 0.5, 2.2));
    cases.push_back(Case(op).X({2, 2}, 0.4, 2).X({1}, 0.5, 2.2));
  }
  cases.push_back(Case("Pow").X({4}, -2, 2).Scalar(DType::kInt64, 2));
  cases.push_back(Case("Pow").X({4}, -2, 2).Scalar(DType::kFloat64, 0));
  cases.push_back(Case("Mod").X({5}, 3.1, 9).X({5}, 1.1, 1.9).With("fmod", int64_t{1}));
  for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
    cases.push_back(Case(op).X({3, 4}));
    cases.push_back(Case(op).X({3, 4}).X({4}, -0.8, 0.9).X({3, 1}, -0.7, 0.6));
  }
  cases.push_back(Case("Where").Fed(DType::kBool, {3, 1}, {1, 0, 1}).X({3, 2}).X({2}));
}

inline void AddReductionCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Axes = std::vector<int64_t>;
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare",
                         "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    cases.push_back(Case(op).Version(13).X({2, 3, 4}, 0.3, 2));
    cases.push_back(Case(op).Version(13).X({2, 3, 4}, 0.3, 2).With("axes", Axes{1}));
    cases.push_back(Case(op)
                        .Version(13)
                        .X({2, 3, 4}, 0.3, 2)
                        .With("axes", Axes{-1, 0})
                        .With("keepdims", int64_t{0}));
    cases.push_back(Case(op).Version(13).X({2, 3}, 0.3, 2).With("keepdims", int64_t{0}));
  }
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare",
        "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    cases.push_back(Case(op).X({2, 3, 4}, 0.3, 2).Ints({1}));
    cases.push_back(Case(op).X({2, 3, 4}, 0.3, 2).Ints({0, -1}).With("keepdims", int64_t{0}));
    cases.push_back(
        Case(op).X({2, 3, 4}, 0.3, 2).Fed(DType::kInt64, {2}, {2, 0}).With("keepdims", int64_t{0}));
    cases.push_back(Case(op).X({2, 3}, 0.3, 2).Ints({}).With("noop_with_empty_axes", int64_t{1}));
    cases.push_back(Case(op).X({2, 3}, 0.3, 2));
  }
  cases.push_back(Case("ReduceSum").Version(11).X({2, 3, 4}).With("axes", Axes{1, -1}));
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    cases.push_back(Case(op).Version(18).X({2, 3, 4}, 0.3, 2).Ints({1}));
  }
  // A row with one zero, and one with two: only elements without another zero get a gradient.
  cases.push_back(Case("ReduceProd").X({2, 3}).Ints({1}));
  auto& zeros = cases.back().inputs[0].value.data;
  zeros[1] = zeros[3] = zeros[5] = 0;
  for (int64_t exclusive : {0, 1}) {
    for (int64_t reverse : {0, 1}) {
      for (const char* op : {"CumSum", "CumProd"}) {
        cases.push_back(Case(op)
                            .X({2, 4})
                            .Scalar(DType::kInt64, 1)
                            .With("exclusive", exclusive)
                            .With("reverse", reverse));
        cases.back().inputs[0].value.data[2] = 0;
      }
    }
  }
  cases.push_back(Case("Trilu").X({3, 4}));
  cases.push_back(Case("Trilu").X({2, 3, 4}).Scalar(DType::kInt64, 1).With("upper", int64_t{0}));
}

inline void AddProductCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  for (int64_t ta : {0, 1}) {
    for (int64_t tb : {0, 1}) {
      Dims a = ta ? Dims{4, 3} : Dims{3, 4};
      Dims b = tb ? Dims{5, 4} : Dims{4, 5};
      cases.push_back(Case("Gemm")
                          .X(a)
                          .X(b)
                          .X({5})
                          .With("transA", ta)
                          .With("transB", tb)
                          .With("alpha", 0.7)
                          .With("beta", 1.3));
      cases.push_back(Case("Gemm").X(a).X(b).With("transA", ta).With("transB", tb));
    }
  }
  cases.push_back(Case("Gemm").X({3, 4}).X({4, 2}).X({3, 1}));
  cases.push_back(Case("MatMul").X({3, 4}).X({4, 2}));
  cases.push_back(Case("MatMul").X({2, 1, 3, 4}).X({5, 4, 2}));
  cases.push_back(Case("MatMul").X({4}).X({4, 2}));
  cases.push_back(Case("MatMul").X({3, 4}).X({4}));
  cases.push_back(Case("MatMul").X({4}).X({4}));
  cases.push_back(Case("MatMul").X({4}).X({2, 3, 4, 2}));
  cases.push_back(Case("MatMul").X({2, 3, 4}).X({4}));
}

inline void AddConvolutionCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  cases.push_back(Case("Conv").X({2, 2, 5, 6}).X({3, 2, 3, 2}).X({3}));
  cases.push_back(Case("Conv")
                      .X({1, 4, 6})
                      .X({6, 2, 3})
                      .With("group", int64_t{2})
                      .With("strides", Ints{2})
                      .With("pads", Ints{2, 1}));
  cases.push_back(
      Case("Conv").X({1, 1, 3, 4, 3}).X({2, 1, 2, 2, 2}).With("dilations", Ints{1, 2, 1}));
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    cases.push_back(Case("Conv")
                        .X({1, 1, 6, 5})
                        .X({1, 1, 2, 3})
                        .With("auto_pad", std::string(mode))
                        .With("strides", Ints{2, 1}));
  }
  for (const char* op : {"MaxPool", "AveragePool"}) {
    cases.push_back(
        Case(op).X({2, 2, 5, 6}).With("kernel_shape", Ints{2, 2}).With("strides", Ints{2, 2}));
    cases.push_back(Case(op)
                        .X({1, 2, 7})
                        .With("kernel_shape", Ints{3})
                        .With("strides", Ints{2})
                        .With("pads", Ints{1, 1})
                        .With("ceil_mode", int64_t{1}));
    cases.push_back(
        Case(op).X({1, 1, 7, 7}).With("kernel_shape", Ints{3, 2}).With("dilations", Ints{2, 1}));
  }
  for (const char* op : {"MaxPool", "AveragePool"}) {
    cases.push_back(Case(op)
                        .X({1, 2, 3, 4, 5})
                        .With("kernel_shape", Ints{2, 2, 3})
                        .With("strides", Ints{1, 2, 2})
                        .With("pads", Ints{1, 0, 1, 0, 1, 1}));
  }
  cases.push_back(Case("Conv")
                      .X({2, 4, 3, 3, 4})
                      .X({2, 2, 2, 3, 2})
                      .X({2})
                      .With("group", int64_t{2})
                      .With("strides", Ints{1, 2, 2})
                      .With("pads", Ints{1, 0, 1, 0, 2, 0}));
  // Second gradients: each is linear in both of its operands.
  cases.push_back(Case("ConvGradInput")
                      .In("headrace.grad")
                      .X({2, 2, 2, 3})
                      .X({2, 1, 2, 3})
                      .Fixed({2, 2, 5, 4}, 0, 1)
                      .With("group", int64_t{2})
                      .With("strides", Ints{2, 1})
                      .With("pads", Ints{0, 1, 0, 0}));
  cases.push_back(Case("ConvGradWeight")
                      .In("headrace.grad")
                      .X({2, 2, 3})
                      .X({2, 3, 6})
                      .Fixed({2, 3, 2}, 0, 1)
                      .With("dilations", Ints{2})
                      .With("pads", Ints{1, 0})
                      .With("strides", Ints{2}));
  cases.push_back(Case("MaxPool").Outputs(2).X({1, 1, 4}).With("kernel_shape", Ints{2}));
  for (int version : {11, 19}) {
    cases.push_back(Case("AveragePool")
                        .Version(version)
                        .X({1, 1, 4, 5})
                        .With("kernel_shape", Ints{2, 3})
                        .With("pads", Ints{1, 0, 1, 2})
                        .With("count_include_pad", int64_t{1}));
  }
  for (double p : {1.0, 2.0, 3.0}) {
    const auto lp_pool = [&](int version) {
      Case row = Case("LpPool").Version(version).X({1, 2, 5, 4}, -1, 1);
      row.With("kernel_shape", Ints{2, 3}).With("pads", Ints{1, 0, 0, 1});
      return version == 1 ? row.With("p", p) : row.With("p", static_cast<int64_t>(p));
    };
    for (int version : {1, 2, 18}) cases.push_back(lp_pool(version));
    cases.push_back(lp_pool(18).With("dilations", Ints{2, 1}).With("ceil_mode", int64_t{1}));
    cases.push_back(Case("GlobalLpPool").Version(1).X({2, 2, 3}).With("p", p));
    cases.push_back(Case("GlobalLpPool").X({2, 2, 3}).With("p", static_cast<int64_t>(p)));
  }
  cases.push_back(Case("GlobalAveragePool").X({2, 3, 2, 4}));
  cases.push_back(Case("GlobalMaxPool").X({2, 3, 2, 4}));
}

inline void AddRegionCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  for (int64_t n : {1, 2, 3, 4}) cases.push_back(Case("Det").X({2, n, n}));
  cases.push_back(
      Case("Col2Im").X({2, 12, 6}).Ints({4, 5}).Ints({2, 3}).With("strides", Ints{1, 2}));
  cases.back().With("pads", Ints{0, 1, 0, 0});
  cases.push_back(Case("Col2Im").X({1, 4, 5}).Ints({9}).Ints({2}).With("dilations", Ints{4}));
  cases.push_back(Case("MaxUnpool")
                      .X({1, 2, 2})
                      .Fed(DType::kInt64, {1, 2, 2}, {1, 2, 4, 7})
                      .With("kernel_shape", Ints{2}));
  cases.back().With("strides", Ints{2});
  cases.push_back(Case("MaxUnpool")
                      .X({1, 1, 2, 2})
                      .Fed(DType::kInt64, {1, 1, 2, 2}, {5, 7, 13, 15})
                      .Ints({1, 1, 5, 6})
                      .With("kernel_shape", Ints{2, 2})
                      .With("strides", Ints{2, 2}));
  cases.push_back(Case("DeformConv")
                      .X({1, 4, 4, 5})
                      .X({4, 2, 2, 2})
                      .Known({2, 3})
                      .X({1, 16, 2, 4}, -1.4, 1.4)
                      .X({4})
                      .X({1, 8, 2, 4})
                      .With("group", int64_t{2})
                      .With("offset_group", int64_t{2})
                      .With("strides", Ints{2, 1})
                      .With("pads", Ints{0, 0, 1, 0}));
  cases.push_back(Case("DeformConv")
                      .X({2, 1, 6})
                      .X({1, 1, 2})
                      .X({2, 2, 4}, -0.8, 0.9)
                      .With("kernel_shape", Ints{2})
                      .With("dilations", Ints{2}));
  for (int version : {10, 16}) {
    for (const char* mode : {"avg", "max"}) {
      for (int64_t sampling : {0, 2}) {
        cases.push_back(Case("RoiAlign")
                            .Version(version)
                            .X({2, 2, 5, 6})
                            .Fed(DType::kFloat64, {3, 4}, {0, 1, 7, 6, 3, 2, 11, 9, -4, -3, 4, 3})
                            .Fed(DType::kInt64, {3}, {1, 0, 1})
                            .With("mode", std::string(mode))
                            .With("sampling_ratio", sampling)
                            .With("spatial_scale", 0.55)
                            .With("output_height", int64_t{2})
                            .With("output_width", int64_t{3}));
      }
    }
  }
  cases.push_back(
      Case("MaxRoiPool")
          .X({2, 2, 5, 6})
          .Fed(DType::kFloat64, {3, 5}, {1, 0, 1, 7, 6, 0, 3, 2, 11, 9, 1, 9, 9, 30, 30})
          .With("pooled_shape", Ints{2, 3})
          .With("spatial_scale", 0.5));
}

inline void AddLossCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    cases.push_back(Case(op).X({3, 4}, -2, 2));
    cases.push_back(Case(op).X({2, 3, 2}, -2, 2).With("axis", int64_t{1}));
  }
  for (const char* op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
    for (const char* reduction : {"mean", "sum", "none"}) {
      std::string how = reduction;
      cases.push_back(
          Case(op).X({3, 4}, -2, 2).Fed(DType::kInt64, {3}, {1, 3, 0}).With("reduction", how));
      cases.push_back(Case(op)
                          .X({2, 3, 2}, -2, 2)
                          .Fed(DType::kInt32, {2, 2}, {1, 2, 0, 1})
                          .Fixed({3}, 0.5, 2)
                          .With("reduction", how)
                          .With("ignore_index", int64_t{2}));
    }
  }
  cases.push_back(Case("SoftmaxCrossEntropyLoss")
                      .Outputs(2)
                      .X({3, 4}, -2, 2)
                      .Fed(DType::kInt64, {3}, {1, 3, 0}));
}

inline void AddMovementCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  cases.push_back(Case("Reshape").Version(13).X({2, 6}).Ints({0, 3, -1}));
  cases.push_back(Case("Reshape").X({2, 6}).Fed(DType::kInt64, {2}, {3, 4}));
  cases.push_back(Case("Flatten").X({2, 3, 2}).With("axis", int64_t{2}));
  cases.push_back(Case("Squeeze").X({2, 1, 3, 1}).Ints({1, -1}));
  cases.push_back(Case("Squeeze").X({2, 1, 3}));
  cases.push_back(Case("Unsqueeze").X({2, 3}).Ints({0, -1}));
  cases.push_back(Case("Transpose").X({2, 3, 4}).With("perm", Ints{2, 0, 1}));
  cases.push_back(Case("Transpose").X({2, 3}));
  cases.push_back(Case("Concat").X({2, 3}).X({2, 1}).X({2, 2}).With("axis", int64_t{-1}));
  cases.push_back(Case("Concat").X({2, 3}).With("axis", int64_t{0}));
  cases.push_back(Case("Split").Version(13).Outputs(2).X({3, 4}).With("axis", int64_t{1}));
  cases.push_back(Case("Split").Outputs(3).X({7, 2}).With("num_outputs", int64_t{3}));
  cases.push_back(Case("Split").Outputs(2).X({3, 4}).Ints({1, 3}).With("axis", int64_t{-1}));
  cases.push_back(Case("Slice").X({5, 4}).Ints({1}).Ints({4}));
  cases.push_back(
      Case("Slice").X({5, 4}).Ints({-1, 3}).Ints({INT64_MIN, 0}).Ints({0, -1}).Ints({-2, -1}));
  for (int version : {13, 18, 19}) {
    cases.push_back(Case("Pad").Version(version).X({2, 3}).Ints({1, 0, 0, 2}).X({}));
  }
  cases.push_back(Case("Pad").X({3, 4}).Ints({1, -1}).Omitted().Ints({-1}));
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    cases.push_back(Case("Pad").X({3, 4}).Ints({2, 1, 1, 3}).With("mode", std::string(mode)));
  }
  cases.push_back(Case("Tile").X({2, 3}).Ints({2, 3}));
  cases.push_back(Case("Expand").X({3, 1}).Ints({2, 1, 4}));
  cases.push_back(Case("ReshapeLike").In("headrace.grad").X({2, 3}).Fixed({3, 2}, 0, 1));
  cases.push_back(Case("ExpandLike").In("headrace.grad").X({3, 1}).Fixed({2, 3, 4}, 0, 1));
  cases.push_back(Case("SumTo").In("headrace.grad").X({2, 3, 4}).Fixed({3, 1}, 0, 1));
}

inline void AddIndexingCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  cases.push_back(Case("Gather").X({4, 3}).Fed(DType::kInt64, {2, 2}, {1, -1, 1, 0}));
  cases.push_back(Case("Gather").X({4, 3}).Fed(DType::kInt32, {}, {2}).With("axis", int64_t{1}));
  cases.push_back(Case("GatherElements")
                      .X({2, 3})
                      .Fed(DType::kInt64, {2, 2}, {1, 1, 2, 0})
                      .With("axis", int64_t{-1}));
  for (int version : {13, 16, 18}) {
    cases.push_back(Case("ScatterElements")
                        .Version(version)
                        .X({3, 3})
                        .Fed(DType::kInt64, {2, 2}, {0, 2, 1, -1})
                        .X({2, 2})
                        .With("axis", int64_t{1}));
    cases.push_back(
        Case("ScatterND").Version(version).X({3, 2}).Fed(DType::kInt64, {2, 1}, {2, 0}).X({2, 2}));
  }
  cases.push_back(Case("ScatterElements")
                      .X({3})
                      .Fed(DType::kInt64, {4}, {0, 2, 0, 1})
                      .X({4})
                      .With("reduction", std::string("add")));
  cases.push_back(Case("ScatterND")
                      .X({3, 2})
                      .Fed(DType::kInt64, {3, 2}, {2, 1, 0, 0, 2, 1})
                      .X({3})
                      .With("reduction", std::string("add")));
  cases.push_back(Case("GatherND").X({3, 2, 2}).Fed(DType::kInt64, {3, 2}, {2, 1, 0, 0, 2, 1}));
  cases.push_back(Case("TopK").Outputs(2).X({2, 5}).Ints({3}));
  cases.push_back(Case("TopK")
                      .Outputs(2)
                      .X({5, 2})
                      .Ints({2})
                      .With("axis", int64_t{0})
                      .With("largest", int64_t{0}));
}

inline void AddNormalizationCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  cases.push_back(Case("Dropout").X({5, 5}).With("stream", int64_t{3}));
  cases.push_back(Case("Dropout")
                      .X({5, 5})
                      .Scalar(DType::kFloat64, 0.3)
                      .Scalar(DType::kBool, 1)
                      .With("stream", int64_t{3}));
  for (int version : {9, 14}) {
    cases.push_back(Case("BatchNormalization")
                        .Version(version)
                        .X({3, 2, 2})
                        .X({2}, 0.5, 1.5)
                        .X({2})
                        .Fixed({2}, -1, 1)
                        .Fixed({2}, 0.5, 2));
  }
  cases.push_back(Case("BatchNormalization")
                      .X({3, 2, 2})
                      .X({2}, 0.5, 1.5)
                      .X({2})
                      .Fixed({2}, -1, 1)
                      .Fixed({2}, 0.5, 2)
                      .With("training_mode", int64_t{1})
                      .With("epsilon", 1e-3));
  cases.push_back(Case("LayerNormalization").X({2, 3, 4}).X({4}, 0.5, 1.5).X({4}));
  cases.push_back(Case("LayerNormalization")
                      .X({2, 3, 4})
                      .X({3, 4}, 0.5, 1.5)
                      .With("axis", int64_t{1})
                      .With("epsilon", 1e-3));
  for (int64_t groups : {1, 2, 4}) {
    cases.push_back(
        Case("GroupNormalization").X({2, 4, 3}).X({4}, 0.5, 1.5).X({4}).With("num_groups", groups));
  }
  cases.push_back(Case("GroupNormalization")
                      .X({3, 6})
                      .X({6}, 0.5, 1.5)
                      .X({6})
                      .With("num_groups", int64_t{2})
                      .With("epsilon", 1e-3));
}

// x [4, 2, 3] ([2, 4, 3] with layout 1), hidden 2, and all optional inputs but lengths.
inline GradientCase RecurrentCase(const char* op, int version, int64_t gates, int64_t directions,
                                  bool batch_first = false) {
  const bool lstm = gates == 4;
  const Dims state = batch_first ? Dims{2, directions, 2} : Dims{directions, 2, 2};
  GradientCase out = GradientCase(op).Version(version).Outputs(lstm ? 3 : 2);
  out.X(batch_first ? Dims{2, 4, 3} : Dims{4, 2, 3})
      .X({directions, gates * 2, 3})
      .X({directions, gates * 2, 2})
      .X({directions, gates * 4});
  out.Omitted().X(state);
  if (lstm) out.X(state).X({directions, 6});
  if (batch_first) out.With("layout", int64_t{1});
  if (directions == 2) out.With("direction", std::string("bidirectional"));
  return out;
}

inline void AddRecurrentCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Names = std::vector<std::string>;
  const std::pair<const char*, int64_t> kCells[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [op, gates] : kCells) {
    cases.push_back(RecurrentCase(op, 7, gates, 1));
    cases.push_back(RecurrentCase(op, 7, gates, 1).With("direction", std::string("reverse")));
    cases.push_back(RecurrentCase(op, 14, gates, 2));
    cases.push_back(RecurrentCase(op, 14, gates, 2, true));
    cases.push_back(RecurrentCase(op, 14, gates, 1).With("clip", 0.6));
    // Lengths that end early, a whole one and an empty one, both ways; one output only.
    cases.push_back(Case(op)
                        .X({4, 3, 2})
                        .X({2, gates * 2, 2})
                        .X({2, gates * 2, 2})
                        .Omitted()
                        .Fed(DType::kInt32, {3}, {2, 4, 0})
                        .X({2, 3, 2})
                        .With("direction", std::string("bidirectional")));
    cases.push_back(Case(op).X({2, 1, 2}).X({1, gates * 3, 2}).X({1, gates * 3, 3}));
  }
  for (int64_t directions : {1, 2}) {
    cases.push_back(
        RecurrentCase("GRU", 14, 3, directions).With("linear_before_reset", int64_t{1}));
    cases.push_back(RecurrentCase("LSTM", 14, 4, directions).With("input_forget", int64_t{1}));
  }
  cases.push_back(RecurrentCase("GRU", 14, 3, 2, true)
                      .With("linear_before_reset", int64_t{1})
                      .With("clip", 0.5));
  for (const char* f : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh",
                        "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}) {
    cases.push_back(RecurrentCase("RNN", 14, 1, 1).With("activations", Names{f}));
  }
  cases.push_back(RecurrentCase("RNN", 14, 1, 2)
                      .With("activations", Names{"ScaledTanh", "LeakyRelu"})
                      .With("activation_alpha", std::vector<double>{0.7, 0.3})
                      .With("activation_beta", std::vector<double>{1.4}));
  cases.push_back(RecurrentCase("LSTM", 14, 4, 1)
                      .With("activations", Names{"HardSigmoid", "Softsign", "Elu"})
                      .With("activation_alpha", std::vector<double>{0.3, 0.5}));
}

// A composed operator: the gradients are those of its composition.
inline void AddEinsumCases(std::vector<GradientCase>& cases) {
  const auto add = [&](const char* equation, const std::vector<Dims>& operands) {
    GradientCase row("Einsum");
    for (const Dims& dims : operands) row.X(dims);
    cases.push_back(row.With("equation", std::string(equation)));
  };
  add("ij->ji", {{2, 3}});
  add("ijk->j", {{2, 3, 2}});
  add("ii", {{3, 3}});
  add("iji->ji", {{3, 2, 3}});
  add("iii->i", {{2, 2, 2}});
  add("...ii -> ...i", {{2, 3, 3}});
  add("->", {{}});
  add("i,i", {{4}, {4}});
  add("i,j->ji", {{2}, {3}});
  add("ij,jk", {{2, 3}, {3, 2}});
  add("ij,kj->ki", {{2, 3}, {4, 3}});
  add("bij, bjk -> bik", {{2, 2, 3}, {2, 3, 2}});
  add("bqhd,bkhd->bhqk", {{2, 2, 2, 3}, {2, 3, 2, 3}});
  add("ijkl,klm->mij", {{2, 3, 2, 2}, {2, 2, 3}});
  add("...ij,...jk", {{2, 1, 2, 3}, {3, 3, 2}});
  add("i...,i...->...", {{2, 3}, {2, 2, 3}});
  add("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 3}});
  add("a,ab,bc,c->", {{2}, {2, 3}, {3, 2}, {2}});
  add("ij,ij->ij", {{2, 3}, {2, 3}});
  add("ij,j->i", {{2, 3}, {3}});
  add("ij,k->i", {{2, 3}, {2}});
  add("iij,jkk->ik", {{2, 2, 3}, {3, 2, 2}});
}

inline void AddCausalConvCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  const std::string name = "CausalConvWithState";
  cases.push_back(Case(name).Outputs(2).X({2, 3, 5}).X({3, 1, 4}).X({3}).X({2, 3, 3}));
  cases.push_back(
      Case(name).Outputs(2).X({2, 3, 2}).X({3, 1, 4}).With("activation", std::string("silu")));
  cases.push_back(Case(name).X({1, 2, 3}).X({2, 1, 1}).Omitted().X({1, 2, 0}));
}

// Two heads of 3 keys and 2 values, each of which two query heads share.
inline GradientCase LinearAttentionCase(const char* rule) {
  return GradientCase("LinearAttention")
      .Outputs(2)
      .With("update_rule", std::string(rule))
      .With("kv_num_heads", int64_t{2})
      .With("q_num_heads", int64_t{4})
      .X({2, 5, 12})
      .X({2, 5, 6})
      .X({2, 5, 4});
}

inline void AddLinearAttentionCases(std::vector<GradientCase>& cases) {
  const Dims past = {2, 2, 3, 2};
  cases.push_back(LinearAttentionCase("linear"));
  cases.push_back(LinearAttentionCase("linear").X(past).With("scale", 0.7));
  cases.push_back(LinearAttentionCase("gated").X(past).X({2, 5, 2}));
  cases.push_back(LinearAttentionCase("gated").Omitted().X({2, 5, 6}));
  cases.push_back(LinearAttentionCase("delta").X(past).Omitted().X({2, 5, 2}));
  cases.push_back(LinearAttentionCase("delta").Omitted().Omitted().X({2, 5, 1}));
  cases.push_back(LinearAttentionCase("gated_delta").X(past).X({2, 5, 2}).X({2, 5, 2}));
  cases.push_back(LinearAttentionCase("gated_delta").X(past).X({2, 5, 6}).X({2, 5, 1}));
}

inline void AddSequenceCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  cases.push_back(Case("ReverseSequence").X({4, 3, 2}).Fed(DType::kInt64, {3}, {4, 0, 3}));
  cases.push_back(Case("ReverseSequence")
                      .X({2, 4})
                      .Fed(DType::kInt64, {2}, {1, 2})
                      .With("batch_axis", int64_t{0})
                      .With("time_axis", int64_t{1}));
  cases.push_back(Case("TensorScatter").X({2, 4, 3}).X({2, 2, 3}));
  cases.push_back(
      Case("TensorScatter").X({2, 3, 4, 2}).X({2, 3, 1, 2}).Fed(DType::kInt64, {2}, {3, 1}));
  cases.push_back(Case("TensorScatter")
                      .X({2, 3, 4})
                      .X({2, 3, 3})
                      .Fed(DType::kInt64, {2}, {-2, 7})
                      .With("axis", int64_t{-1})
                      .With("mode", std::string("circular")));
}

inline void AddSamplingCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  const auto word = [](const char* text) { return std::string(text); };
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* how : {"half_pixel", "align_corners", "asymmetric"}) {
      cases.push_back(Case("Resize")
                          .X({1, 2, 3, 4})
                          .Known({0, 1, 2, 3})
                          .Omitted()
                          .Omitted()
                          .Ints({1, 2, 5, 3})
                          .With("mode", word(mode))
                          .With("coordinate_transformation_mode", word(how)));
    }
  }
  cases.push_back(Case("Resize")
                      .X({2, 7})
                      .Known({0, 1})
                      .Omitted()
                      .Omitted()
                      .Ints({3})
                      .With("axes", std::vector<int64_t>{-1})
                      .With("mode", word("cubic"))
                      .With("antialias", int64_t{1})
                      .With("exclude_outside", int64_t{1}));
  const reference::Array scales = ScalesOf({1, 1, 2, 2});
  cases.push_back(Case("Resize").Version(10).X({1, 1, 2, 3}).Known({0, 1, 2, 3}).Constant(scales));
  cases.push_back(Case("Upsample").X({1, 1, 2, 3}).Known({0, 1, 2, 3}).Constant(scales));
  for (const char* mode : {"linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      cases.push_back(Case("GridSample")
                          .X({2, 2, 3, 4})
                          .X({2, 2, 3, 2}, -0.93, 0.91)
                          .With("mode", word(mode))
                          .With("padding_mode", word(padding)));
    }
  }
  cases.push_back(Case("GridSample").X({1, 2, 2, 3, 2}).X({1, 2, 1, 2, 3}, -0.8, 0.83));
  cases.push_back(Case("AffineGrid").X({2, 2, 3}).Ints({2, 1, 3, 2}));
  cases.push_back(
      Case("AffineGrid").X({1, 3, 4}).Ints({1, 1, 2, 3, 2}).With("align_corners", int64_t{1}));
}

// Gradients of what gradients are computed by.
inline void AddSecondGradientCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  const auto grad = [](const char* op) { return Case(op).In("headrace.grad"); };
  cases.push_back(grad("ReluGrad").X({3, 4}).Fixed({3, 4}, -1, 1));
  cases.push_back(grad("TanhGrad").X({3, 4}).X({3, 4}, -0.9, 0.9));
  cases.push_back(grad("SigmoidGrad").X({3, 4}).X({3, 4}, 0.1, 0.9));
  cases.push_back(grad("GatherGrad")
                      .X({2, 4})
                      .Fed(DType::kInt64, {2}, {2, 2})
                      .Fixed({3, 4}, 0, 1)
                      .With("axis", int64_t{0}));
  cases.push_back(
      grad("SliceGrad").X({2, 2}).Fixed({5, 2}, 0, 1).Ints({1}).Ints({5}).Ints({0}).Ints({2}));
}

inline std::vector<GradientCase> GradientCases() {
  std::vector<GradientCase> cases;
  AddUnaryCases(cases);
  AddBinaryCases(cases);
  AddReductionCases(cases);
  AddProductCases(cases);
  AddConvolutionCases(cases);
  AddRegionCases(cases);
  AddLossCases(cases);
  AddMovementCases(cases);
  AddIndexingCases(cases);
  AddNormalizationCases(cases);
  AddRecurrentCases(cases);
  AddSequenceCases(cases);
  AddLinearAttentionCases(cases);
  AddCausalConvCases(cases);
  AddEinsumCases(cases);
  AddComposedCases(cases);
  AddSamplingCases(cases);
  AddSecondGradientCases(cases);
  AddMlCases(cases);
  return cases;
}

}  // namespace hr::transform
