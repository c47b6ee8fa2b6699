// What lowering needs of a backend whose executables are programs of kernels: its kernels, its
// layouts and its rewriting passes.
#pragma once

#include "runtime/lowering/kernel_request.h"
#include "runtime/lowering/region.h"
#include "runtime/ops/custom_op.h"

namespace hr::lowering {

// How a target runs an operator.
enum class Support : uint8_t {
  kNone,
  kView,    // the output is the input's memory seen under another shape (Reshape, Identity, …)
  kKernel,  // MakeKernel makes one for it
};

// Thread-safe; outlives the executables that are made with it.
class Target {
 public:
  // Returns the name for messages: "CPU".
  virtual std::string_view name() const = 0;

  virtual Support SupportOf(const graph::Operator& op) const = 0;
  // Returns the type in which an operator's operands of `dtype` are computed: casts are put around
  // nodes if it is another one.
  virtual DType ComputeType(const graph::Operator& op, DType dtype) const;
  // Returns the kernel of a node. The node's types were checked before; UNIMPLEMENTED if the kernel
  // does not exist for them.
  virtual Result<LoweredKernel> MakeKernel(const KernelRequest& request) const = 0;
  // Returns the kernel of an operator of the host's own.
  virtual Result<LoweredKernel> MakeCustomKernel(const KernelRequest& request,
                                                 const ops::CustomOp& op) const = 0;
  // Returns a kernel (from) → (to) that copies so many bytes.
  virtual std::unique_ptr<engine::Kernel> MakeCopyKernel(size_t bytes) const = 0;

  // Rewrites the region: the shared passes (fuse_*.h) in an order that suits the target, and passes
  // of its own. Not called if CompileOptions::fuse is off.
  virtual Status Fuse(Region& region, const CompileOptions& options) const = 0;

  // Returns the layouts of a node's operands; plain for those that the lists leave out. Nodes are
  // asked in topological order, and the layouts
  // in which inputs were written are known (Region::LayoutOf). All plain by default.
  virtual NodeLayouts LayoutsOf(Region& region, graph::NodeId node) const;
  // Returns the operator that converts between two layouts, as a node with the domain kLowered.
  virtual std::string_view ConversionOp(Layout from, Layout to) const;
  // Returns the bytes that a tensor takes in the layout.
  virtual size_t StoredBytes(DType dtype, const Dims& dims, Layout layout) const;

 protected:
  ~Target() = default;  // nobody deletes one through this interface
};

// Compiles a region: rewriting, layouts, schedule, kernels, buffers. `target` outlives the
// executable.
Result<std::unique_ptr<Executable>> Lower(const Target& target, const graph::Module& region,
                                          const CompileOptions& options);

}  // namespace hr::lowering
