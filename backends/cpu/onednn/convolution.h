// Convolution of plain NCHW images by oneDNN, forward and backward, float. The layouts inside are
// oneDNN's: each part copies its images and weights into them and the result back.
//
// Results depend on the shape and on `slices` (the planned number of threads), never on how many
// threads the lease has. Scratch memory and packed weights are aligned to 64 bytes.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm.h"
#include "backends/cpu/onednn/choice.h"
#include "backends/cpu/onednn/primitive.h"

namespace hr::cpu::onednn {

struct ConvOptions {
  ConvPass pass = ConvPass::kForward;
  bool bias = false;                          // forward only
  Activation activation = Activation::kNone;  // forward only
  bool packed_weights = false;                // they come from Pack; not of kBackwardWeights
  int slices = 1;
};

// Memory of the pass's operands: x [n][ic][ih][iw], w [oc][ic / groups][kh][kw], y
// [n][oc][oh][ow], or their gradients.
struct ConvMemory {
  float* x = nullptr;
  float* w = nullptr;
  float* y = nullptr;
  const float* bias = nullptr;
};

// Immutable, so thread-safe.
class Convolution {
 public:
  static Result<std::shared_ptr<const Convolution>> Create(const ConvShape& shape,
                                                           const ConvOptions& options);

  size_t scratch_bytes() const { return scratch_bytes_ * parts_.size(); }
  // Forward makes y of x and w, backward data x of y and w, backward weights w of x and y.
  Status Run(const Lease& threads, const ConvMemory& memory, void* scratch) const;

  // Weights in the order in which Run reads them. Only with `packed_weights`.
  size_t packed_bytes() const { return packed_bytes_; }
  std::string packed_format() const;
  Status Pack(const Lease& threads, const float* w, float* packed, void* scratch) const;

 private:
  // Where the memory of a part begins, in elements; that of packed weights in bytes.
  struct Part {
    size_t kind;  // of its size
    int64_t x, w, y, bias;
    size_t packed;
  };
  // Some images, some groups, and some input and output channels of each group.
  struct Size {
    int64_t images, groups, in, out;
    bool operator==(const Size&) const = default;
  };
  // A tensor of a pass: as the caller has it, and as the primitive wants it.
  struct Operand {
    MemoryDesc plain, any;
    const_dnnl_memory_desc_t inner = nullptr;  // of the primitive's description
    bool copied = false;
    Primitive copy;          // from plain to inner, or back where it is the result
    size_t inner_bytes = 0;  // of the copy, where there is one
  };
  // Parts of one size share primitives.
  struct Kind {
    Size size;
    PrimitiveDesc forward, desc;  // `forward` is a hint for the other passes
    Operand x, w, y;
    Primitive convolve;
    size_t scratch_bytes = 0;
  };

  Convolution(const ConvShape& shape, const ConvOptions& options) : s_(shape), options_(options) {}
  int64_t Cuts() const;
  Status AddParts();
  Status AddPart(Range images, Range groups, Range in, Range out);
  Result<size_t> KindOf(const Size& size);
  Status DescribeTensors(Kind* kind) const;
  Status DescribePass(Kind* kind) const;
  Status Finish(Operand* operand, dnnl_query_t query, bool result, const Kind& kind) const;
  Status MakePrimitives(Kind* kind) const;
  Status RunPart(const Part& part, const ConvMemory& memory, char* scratch) const;

  const ConvShape s_;
  const ConvOptions options_;
  std::shared_ptr<const Library> library_;
  std::vector<Kind> kinds_;
  std::vector<Part> parts_;
  size_t scratch_bytes_ = 0;  // of one part
  size_t packed_bytes_ = 0;
};

}  // namespace hr::cpu::onednn
