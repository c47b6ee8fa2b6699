// The families of built-in operators, one function a file. A new family adds one line here and one
// in builtin.cc.
#pragma once

#include "runtime/ops/chosen.h"

namespace hr::ops {

OpFamily ActivationOps();             // activation.cc
OpFamily AttentionOps();              // attention.cc
OpFamily BitOps();                    // bits.cc
OpFamily BroadcastOps();              // broadcast.cc
OpFamily CastOps();                   // cast.cc
OpFamily CausalConvOps();             // causal_conv.cc
OpFamily CommunicationOps();          // communication.cc
OpFamily ComposedMovementOps();       // composed_movement.cc
OpFamily ComposedNormalizationOps();  // composed_normalization.cc
OpFamily ContainerOps();              // containers.cc
OpFamily ControlOps();                // control.cc
OpFamily ConvOps();                   // conv.cc
OpFamily ConvTransposeOps();          // conv_transpose.cc
OpFamily DataSizedOps();              // data_sized.cc
OpFamily DeformConvOps();             // deform_conv.cc
OpFamily DeterminantOps();            // determinant.cc
OpFamily EinsumOps();                 // einsum.cc
OpFamily ElementwiseOps();            // elementwise.cc
OpFamily GenerateOps();               // generate.cc
OpFamily GradientMarkOps();           // gradient_mark.cc
OpFamily IndexingOps();               // indexing.cc
OpFamily LinearAttentionOps();        // linear_attention.cc
OpFamily LogicOps();                  // logic.cc
OpFamily MatrixOps();                 // matrix.cc
OpFamily MlEncoderOps();              // ml_encoders.cc
OpFamily MlFeatureOps();              // ml_features.cc
OpFamily MlLinearOps();               // ml_linear.cc
OpFamily MlSvmOps();                  // ml_svm.cc
OpFamily MlTreeOps();                 // ml_trees.cc
OpFamily MovementOps();               // movement.cc
OpFamily NGramOps();                  // ngrams.cc
OpFamily NormalizationOps();          // normalization.cc
OpFamily OlderVersions();             // older_versions.cc
OpFamily OptimizerOps();              // optimizer.cc
OpFamily PackingOps();                // packing.cc
OpFamily PoolOps();                   // pool.cc
OpFamily QuantizationOps();           // quantization.cc
OpFamily QuantizedProductOps();       // quantized_products.cc
OpFamily RandomOps();                 // random.cc
OpFamily RecurrentOps();              // recurrent.cc
OpFamily ReductionOps();              // reduction.cc
OpFamily RegionOps();                 // regions.cc
OpFamily ResizeOps();                 // resize.cc
OpFamily ReshapeOps();                // reshape.cc
OpFamily SamplingOps();               // sampling.cc
OpFamily ScanOps();                   // scan.cc
OpFamily SequenceOps();               // sequence.cc
OpFamily ShapeOps();                  // shape.cc
OpFamily SignalOps();                 // signal.cc
OpFamily SliceOps();                  // slice.cc
OpFamily SoftmaxOps();                // softmax.cc
OpFamily StateOps();                  // state.cc
OpFamily UnaryOps();                  // unary.cc
OpFamily UnfoldOps();                 // unfold.cc

// All of them, in no particular order.
std::span<const OpFamily> BuiltinFamilies();

// The newest definition of an operator of ONNX that is among them, or the first that is newer than
// `version`.
const OpDef& NewestBuiltin(std::string_view name);
const OpDef& NextBuiltin(std::string_view name, int version);

}  // namespace hr::ops
