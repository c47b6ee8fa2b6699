// The families of built-in operators, one function a file. A new family adds one line here and one
// in builtin.cc.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::ops {

std::span<const OpDef> ActivationOps();             // activation.cc
std::span<const OpDef> AttentionOps();              // attention.cc
std::span<const OpDef> BitOps();                    // bits.cc
std::span<const OpDef> BroadcastOps();              // broadcast.cc
std::span<const OpDef> CastOps();                   // cast.cc
std::span<const OpDef> CausalConvOps();             // causal_conv.cc
std::span<const OpDef> CommunicationOps();          // communication.cc
std::span<const OpDef> ComposedMovementOps();       // composed_movement.cc
std::span<const OpDef> ComposedNormalizationOps();  // composed_normalization.cc
std::span<const OpDef> ContainerOps();              // containers.cc
std::span<const OpDef> ControlOps();                // control.cc
std::span<const OpDef> ConvOps();                   // conv.cc
std::span<const OpDef> ConvTransposeOps();          // conv_transpose.cc
std::span<const OpDef> DataSizedOps();              // data_sized.cc
std::span<const OpDef> DeformConvOps();             // deform_conv.cc
std::span<const OpDef> DeterminantOps();            // determinant.cc
std::span<const OpDef> EinsumOps();                 // einsum.cc
std::span<const OpDef> ElementwiseOps();            // elementwise.cc
std::span<const OpDef> GenerateOps();               // generate.cc
std::span<const OpDef> GradientMarkOps();           // gradient_mark.cc
std::span<const OpDef> IndexingOps();               // indexing.cc
std::span<const OpDef> LinearAttentionOps();        // linear_attention.cc
std::span<const OpDef> LogicOps();                  // logic.cc
std::span<const OpDef> MatrixOps();                 // matrix.cc
std::span<const OpDef> MlEncoderOps();              // ml_encoders.cc
std::span<const OpDef> MlFeatureOps();              // ml_features.cc
std::span<const OpDef> MlLinearOps();               // ml_linear.cc
std::span<const OpDef> MlSvmOps();                  // ml_svm.cc
std::span<const OpDef> MlTreeOps();                 // ml_trees.cc
std::span<const OpDef> MovementOps();               // movement.cc
std::span<const OpDef> NGramOps();                  // ngrams.cc
std::span<const OpDef> NormalizationOps();          // normalization.cc
std::span<const OpDef> OlderVersions();             // older_versions.cc
std::span<const OpDef> OptimizerOps();              // optimizer.cc
std::span<const OpDef> PoolOps();                   // pool.cc
std::span<const OpDef> QuantizationOps();           // quantization.cc
std::span<const OpDef> QuantizedProductOps();       // quantized_products.cc
std::span<const OpDef> RandomOps();                 // random.cc
std::span<const OpDef> RecurrentOps();              // recurrent.cc
std::span<const OpDef> ReductionOps();              // reduction.cc
std::span<const OpDef> RegionOps();                 // regions.cc
std::span<const OpDef> ResizeOps();                 // resize.cc
std::span<const OpDef> ReshapeOps();                // reshape.cc
std::span<const OpDef> SamplingOps();               // sampling.cc
std::span<const OpDef> ScanOps();                   // scan.cc
std::span<const OpDef> SequenceOps();               // sequence.cc
std::span<const OpDef> ShapeOps();                  // shape.cc
std::span<const OpDef> SignalOps();                 // signal.cc
std::span<const OpDef> SliceOps();                  // slice.cc
std::span<const OpDef> SoftmaxOps();                // softmax.cc
std::span<const OpDef> StateOps();                  // state.cc
std::span<const OpDef> UnaryOps();                  // unary.cc
std::span<const OpDef> UnfoldOps();                 // unfold.cc

// All of them, in no particular order.
std::span<const std::span<const OpDef>> BuiltinFamilies();

// The newest definition of an operator of ONNX that is among them, or the first that is newer than
// `version`.
const OpDef& NewestBuiltin(std::string_view name);
const OpDef& NextBuiltin(std::string_view name, int version);

}  // namespace hr::ops
