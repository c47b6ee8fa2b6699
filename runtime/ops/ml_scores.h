// What the scores of ai.onnx.ml's models become at last.
#pragma once

#include "runtime/ops/compose.h"

namespace hr::ops {

enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// Returns what the attribute post_transform says.
Result<PostTransform> PostTransformOf(const graph::Node& node);
// Emits scores [N, scores] after the transformation. A single score is only changed by PROBIT, as
// in ONNX Runtime.
ValueId Transformed(ComposeContext& c, ValueId scores, int64_t count);
ValueId Transformed(ComposeContext& c, ValueId scores, int64_t count, PostTransform transform);

// Emits x [N, features], or [features] as one row, in float32.
ValueId FeatureRows(ComposeContext& c, ValueId x);
// Fails unless input 0 is numbers of rank 1 or 2; returns its rows and features.
struct FeatureDims {
  graph::Dim rows, features;
};
Result<FeatureDims> CheckFeatures(const InferContext& context);

}  // namespace hr::ops
