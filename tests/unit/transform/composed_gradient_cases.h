// Rows of the table of gradient checks for composed operators.
#pragma once

#include "tests/unit/transform/gradient_case.h"

namespace hr::transform {

inline void AddComposedNormalizationCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  cases.push_back(Case("Gradient").In("headrace.train").X({2, 3}));
  cases.push_back(Case("RMSNormalization").X({2, 3, 4}).X({4}, 0.5, 1.5));
  cases.push_back(
      Case("RMSNormalization").X({2, 3, 4}).X({3, 4}, 0.5, 1.5).With("axis", int64_t{1}));
  for (int64_t p : {1, 2}) {
    cases.push_back(Case("LpNormalization").X({3, 4}).With("p", p).With("axis", int64_t{0}));
    cases.push_back(Case("LpNormalization").X({2, 3}).With("p", p));
  }
  cases.push_back(Case("MeanVarianceNormalization").X({2, 3, 2, 2}));
  cases.push_back(Case("MeanVarianceNormalization").X({3, 5}).With("axes", Ints{-1}));
  cases.push_back(Case("InstanceNormalization").X({2, 3, 4}).X({3}, 0.5, 1.5).X({3}));
  cases.push_back(
      Case("InstanceNormalization").X({2, 2, 2, 3}).X({2}, 0.5, 1.5).X({2}).With("epsilon", 1e-2));
  for (int64_t size : {1, 2, 3, 5}) {
    cases.push_back(Case("LRN")
                        .X({2, 4, 3})
                        .With("size", size)
                        .With("alpha", 0.5)
                        .With("beta", 0.6)
                        .With("bias", 1.5));
  }
  cases.push_back(Case("GroupNormalization")
                      .Version(18)
                      .X({2, 4, 3})
                      .X({2}, 0.5, 1.5)
                      .X({2})
                      .With("num_groups", int64_t{2}));
}

inline void AddComposedMovementCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  for (const char* mode : {"DCR", "CRD"}) {
    cases.push_back(Case("DepthToSpace")
                        .X({2, 8, 2, 3})
                        .With("blocksize", int64_t{2})
                        .With("mode", std::string(mode)));
  }
  cases.push_back(Case("SpaceToDepth").X({2, 2, 4, 6}).With("blocksize", int64_t{2}));
  cases.push_back(Case("CenterCropPad").X({5, 4}).Ints({2, 7}));
  cases.push_back(Case("CenterCropPad").X({3, 5, 4}).Ints({6, 3}).With("axes", Ints{-1, 1}));
  cases.push_back(Case("CenterCropPad").X({3, 4}).Fed(DType::kInt64, {2}, {4, 3}));
  cases.push_back(
      Case("Compress").X({4, 3}).Fed(DType::kBool, {4}, {1, 0, 1, 1}).With("axis", int64_t{0}));
  cases.push_back(Case("Compress").X({2, 3}).Fed(DType::kBool, {5}, {0, 1, 1, 0, 1}));
  cases.push_back(Case("Unique").X({6}));
  cases.push_back(Case("Unique").X({3, 2}).With("axis", int64_t{0}).With("sorted", int64_t{0}));
  cases.push_back(Case("Pack")
                      .In("headrace.comm")
                      .X({2, 3})
                      .Known({0, 1})
                      .X({5})
                      .Known({0})
                      .With("group", std::string("g"))
                      .With("ranks", int64_t{3}));
  cases.push_back(Case("Unpack")
                      .In("headrace.comm")
                      .Outputs(2)
                      .X({3, 4})
                      .With("group", std::string("g"))
                      .With("ranks", int64_t{3})
                      .With("elements", Ints{6, 5}));
  cases.push_back(Case("Swish").X({3, 5}, -2, 2));
  cases.push_back(Case("Swish").X({7}, -2, 2).With("alpha", 1.7));
  cases.push_back(Case("Shrink").X({9}, -2, 2).With("lambd", 0.7).With("bias", 0.3));
  cases.push_back(Case("DequantizeLinear")
                      .Version(10)
                      .Fed(DType::kUint8, {2, 2}, {255, 3, 0, 5})
                      .X({}, 0.1, 2)
                      .Fed(DType::kUint8, {}, {7}));
  cases.push_back(Case("DequantizeLinear")
                      .Version(21)
                      .Fed(DType::kInt16, {2, 5}, {-128, 3, 4, 5, 0, 127, 2, 3000, -7, 1})
                      .X({2, 3}, 0.1, 2)
                      .With("block_size", int64_t{2}));
  cases.push_back(Case("DequantizeLinear")
                      .Fed(DType::kInt8, {2, 3}, {-128, 3, 4, 5, 0, 127})
                      .X({3}, 0.1, 2)
                      .Fed(DType::kInt8, {3}, {1, 0, -2}));
}

inline void AddOlderVersionCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    cases.push_back(Case(op).Version(1).X({2, 2, 3}, -2, 2));
    cases.push_back(Case(op).Version(11).X({2, 3, 2}, -2, 2).With("axis", int64_t{-1}));
  }
  cases.push_back(Case("Squeeze").Version(1).X({2, 1, 3, 1}).With("axes", Ints{1, 3}));
  cases.push_back(Case("Squeeze").Version(11).X({2, 1, 3}));
  cases.push_back(Case("Unsqueeze").Version(1).X({2, 3}).With("axes", Ints{0, 2}));
  cases.push_back(Case("Split").Version(2).Outputs(3).X({6, 2}));
  cases.push_back(Case("Split")
                      .Version(11)
                      .Outputs(2)
                      .X({3, 4})
                      .With("axis", int64_t{1})
                      .With("split", Ints{1, 3}));
  cases.push_back(Case("Slice")
                      .Version(1)
                      .X({5, 4})
                      .With("starts", Ints{1, -3})
                      .With("ends", Ints{4, 1000})
                      .With("axes", Ints{0, 1}));
  cases.push_back(
      Case("Slice").Version(9).X({5, 4}).With("starts", Ints{2}).With("ends", Ints{-1}));
  cases.push_back(Case("Clip").Version(6).X({9}, -2, 2).With("min", -0.5).With("max", 1.0));
  cases.push_back(Case("Clip").Version(6).X({9}, -2, 2).With("max", 0.25));
  cases.push_back(
      Case("Pad").Version(2).X({2, 3}).With("pads", Ints{1, 0, 0, 2}).With("value", 0.7));
  cases.push_back(Case("Pad")
                      .Version(10)
                      .X({3, 4})
                      .With("pads", Ints{2, 1, 1, 3})
                      .With("mode", std::string("reflect")));
  cases.push_back(Case("TopK").Version(1).Outputs(2).X({2, 5}).With("k", int64_t{3}));
  cases.push_back(Case("Dropout").Version(7).X({5, 5}).With("ratio", 0.3));
  cases.push_back(Case("Scatter")
                      .Version(9)
                      .X({3, 3})
                      .Fed(DType::kInt64, {2, 2}, {0, 2, 1, 0})
                      .X({2, 2})
                      .With("axis", int64_t{1}));
}

inline void AddMlCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Reals = std::vector<double>;
  using Ints = std::vector<int64_t>;
  const auto ml = [](const char* op) { return Case(op).In("ai.onnx.ml"); };
  for (const char* transform : {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"}) {
    cases.push_back(ml("LinearRegressor")
                        .X({3, 2})
                        .With("coefficients", Reals{0.5, -1, 2, 0.25, 1, 1})
                        .With("intercepts", Reals{0.5, 0, -1})
                        .With("targets", int64_t{3})
                        .With("post_transform", std::string(transform)));
  }
  cases.push_back(ml("LinearRegressor").X({4}).With("coefficients", Reals{0.5, -1, 2, 0.25}));
  cases.push_back(ml("LinearRegressor")
                      .X({3, 1}, 0.2, 0.8)
                      .With("coefficients", Reals{1})
                      .With("post_transform", std::string("PROBIT")));
  cases.push_back(ml("LinearClassifier")
                      .Outputs(2)
                      .X({3, 2})
                      .With("coefficients", Reals{0.5, -1, 2, 0.25})
                      .With("intercepts", Reals{0.5, 0})
                      .With("classlabels_ints", Ints{4, 5}));
  for (const char* transform : {"NONE", "LOGISTIC"}) {
    cases.push_back(ml("LinearClassifier")
                        .Outputs(2)
                        .X({3, 2})
                        .With("coefficients", Reals{0.5, -1})
                        .With("intercepts", Reals{0.5})
                        .With("post_transform", std::string(transform))
                        .With("classlabels_ints", Ints{4, 5}));
  }
  for (const char* kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    cases.push_back(ml("SVMRegressor")
                        .X({3, 2})
                        .With("coefficients", Reals{0.5, -1, 2})
                        .With("support_vectors", Reals{0.5, -1, 2, 0.25, 1, 1})
                        .With("n_supports", int64_t{3})
                        .With("kernel_params", Reals{0.5, 2, 3})
                        .With("kernel_type", std::string(kernel))
                        .With("rho", Reals{0.25}));
  }
  cases.push_back(ml("SVMClassifier")
                      .Outputs(2)
                      .X({3, 2})
                      .With("coefficients", Reals{0.5, -1, 2, 0.25, 1, -2})
                      .With("support_vectors", Reals{0.5, -1, 2, 0.25, 1, 1})
                      .With("vectors_per_class", Ints{1, 1, 1})
                      .With("classlabels_ints", Ints{4, 5, 6})
                      .With("kernel_params", Reals{0.5, 2, 3})
                      .With("kernel_type", std::string("RBF"))
                      .With("rho", Reals{0.25, 0.5, -1}));
  cases.push_back(ml("SVMClassifier")
                      .Outputs(2)
                      .X({3, 2})
                      .With("coefficients", Reals{0.5, -1, 2})
                      .With("support_vectors", Reals{0.5, -1, 2, 0.25, 1, 1})
                      .With("vectors_per_class", Ints{1, 2})
                      .With("classlabels_ints", Ints{4, 5})
                      .With("post_transform", std::string("LOGISTIC"))
                      .With("rho", Reals{0.25}));
  cases.push_back(
      ml("Scaler").X({3, 2}).With("offset", Reals{0.5, 1}).With("scale", Reals{2, 0.5}));
  for (const char* norm : {"MAX", "L1", "L2"}) {
    cases.push_back(ml("Normalizer").X({3, 4}, -1, 2).With("norm", std::string(norm)));
  }
  cases.push_back(ml("Imputer")
                      .X({3, 2})
                      .With("imputed_value_floats", Reals{0.5, 1})
                      .With("replaced_value_float", 0.25));
  cases.back().inputs[0].value.data[2] = 0.75;
  cases.push_back(ml("FeatureVectorizer").X({3, 2}).X({3, 1}).X({3, 4}));
  cases.push_back(ml("ArrayFeatureExtractor").X({3, 4}).Fed(DType::kInt64, {2}, {3, 1}));
}

inline void AddAttentionCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  // [batch, heads, positions, size]
  const auto heads = [](int64_t query_heads = 2, int64_t key_heads = 2) {
    return Case("Attention")
        .X({2, query_heads, 3, 2})
        .X({2, key_heads, 4, 2})
        .X({2, key_heads, 4, 3});
  };
  cases.push_back(heads());
  cases.push_back(heads().With("scale", 0.3).With("softcap", 0.8));
  cases.push_back(heads(4, 2).With("is_causal", int64_t{1}));
  cases.push_back(heads(3, 1).X({3, 4}));
  cases.push_back(heads().Fed(DType::kBool, {2, 1, 3, 4}, {1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1,
                                                           1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1}));
  // A mask that is shorter than the keys; what is behind it is not seen.
  cases.push_back(heads().X({2, 2, 3, 3}));
  cases.push_back(
      heads().Outputs(3).Omitted().X({2, 2, 2, 2}).X({2, 2, 2, 3}).With("is_causal", int64_t{1}));
  cases.push_back(
      heads(4, 2).Outputs(3).X({3, 6}).X({2, 2, 2, 2}).X({2, 2, 2, 3}).With("softcap", 0.5));
  cases.push_back(heads().Omitted().Omitted().Omitted().Fed(DType::kInt64, {2}, {4, 2}));
  for (int64_t mode : {0, 1, 2, 3}) {
    cases.push_back(
        heads().Outputs(4).X({3, 4}).With("softcap", 0.9).With("qk_matmul_output_mode", mode));
  }
  cases.push_back(Case("Attention")
                      .X({2, 3, 8})
                      .X({2, 4, 4})
                      .X({2, 4, 6})
                      .With("q_num_heads", int64_t{4})
                      .With("kv_num_heads", int64_t{2}));
  for (int64_t interleaved : {0, 1}) {
    cases.push_back(Case("RotaryEmbedding")
                        .X({2, 2, 3, 4})
                        .X({2, 3, 2})
                        .X({2, 3, 2})
                        .With("interleaved", interleaved));
    cases.push_back(Case("RotaryEmbedding")
                        .X({2, 3, 12})
                        .X({5, 2})
                        .X({5, 2})
                        .Fed(DType::kInt64, {2, 3}, {0, 4, 1, 2, 2, 3})
                        .With("interleaved", interleaved)
                        .With("num_heads", int64_t{2})
                        .With("rotary_embedding_dim", int64_t{4}));
  }
}

inline void AddTransposedConvolutionCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  using Ints = std::vector<int64_t>;
  cases.push_back(
      Case("ConvTranspose").X({2, 2, 4}).X({2, 3, 3}).Known({2}).X({3}).With("strides", Ints{2}));
  cases.push_back(Case("ConvTranspose")
                      .X({1, 4, 3, 2})
                      .X({4, 1, 2, 3})
                      .With("kernel_shape", Ints{2, 3})
                      .With("group", int64_t{2})
                      .With("strides", Ints{3, 2})
                      .With("dilations", Ints{2, 1})
                      .With("pads", Ints{1, 0, 0, 1})
                      .With("output_padding", Ints{1, 1}));
  cases.push_back(Case("ConvTranspose")
                      .X({1, 2, 2, 3, 2})
                      .X({2, 2, 2, 1, 2})
                      .X({2})
                      .With("kernel_shape", Ints{2, 1, 2})
                      .With("strides", Ints{1, 2, 2})
                      .With("pads", Ints{1, 0, 0, 0, 0, 1}));
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    cases.push_back(Case("ConvTranspose")
                        .X({1, 1, 3, 3})
                        .X({1, 2, 3, 2})
                        .With("kernel_shape", Ints{3, 2})
                        .With("auto_pad", std::string(mode))
                        .With("strides", Ints{2, 3}));
  }
  for (const char* mode : {"NOTSET", "SAME_UPPER"}) {
    cases.push_back(Case("ConvTranspose")
                        .X({1, 1, 3, 3})
                        .Known({2, 3})
                        .X({1, 2, 3, 3})
                        .With("kernel_shape", Ints{3, 3})
                        .With("auto_pad", std::string(mode))
                        .With("strides", Ints{3, 2})
                        .With("output_shape", Ints{10, 6}));
  }
}

inline void AddFourierCases(std::vector<GradientCase>& cases) {
  using Case = GradientCase;
  for (int64_t inverse : {0, 1}) {
    cases.push_back(Case("FourierTransform")
                        .In("headrace.grad")
                        .X({2, 5, 3, 2})
                        .With("axis", int64_t{1})
                        .With("inverse", inverse));
    for (int64_t length : {0, 3, 8}) {
      const auto with_length = [&](Case row) {
        return length == 0 ? row.Omitted() : row.Scalar(DType::kInt64, static_cast<double>(length));
      };
      cases.push_back(with_length(Case("DFT").X({2, 6, 2}).Known({2})).With("inverse", inverse));
      cases.push_back(with_length(Case("DFT").X({5, 3, 2}).Known({2}))
                          .Scalar(DType::kInt64, 0)
                          .With("inverse", inverse)
                          .With("onesided", int64_t{1}));
    }
    cases.push_back(Case("DFT")
                        .Version(17)
                        .X({2, 3, 4, 1})
                        .Known({3})
                        .With("axis", int64_t{2})
                        .With("inverse", inverse));
  }
  cases.push_back(
      Case("DFT").X({2, 7, 1}).Known({2}).Scalar(DType::kInt32, 5).With("onesided", int64_t{1}));
  for (int64_t onesided : {0, 1}) {
    cases.push_back(Case("STFT")
                        .X({2, 9, 1})
                        .Known({2})
                        .Scalar(DType::kInt64, 2)
                        .X({4}, 0.2, 1)
                        .With("onesided", onesided));
    cases.push_back(Case("STFT")
                        .X({2, 9, 2})
                        .Known({2})
                        .Scalar(DType::kInt64, 3)
                        .Omitted()
                        .Scalar(DType::kInt64, 3)
                        .With("onesided", onesided));
  }
}

inline void AddComposedCases(std::vector<GradientCase>& cases) {
  AddComposedNormalizationCases(cases);
  AddComposedMovementCases(cases);
  AddOlderVersionCases(cases);
  AddAttentionCases(cases);
  AddTransposedConvolutionCases(cases);
  AddFourierCases(cases);
}

}  // namespace hr::transform
