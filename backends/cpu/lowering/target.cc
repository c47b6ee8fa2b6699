#include "backends/cpu/lowering/target.h"

#include <cstring>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/lowering/bfloat16_products.h"
#include "backends/cpu/lowering/chain_convs.h"
#include "backends/cpu/lowering/fuse_conv.h"
#include "backends/cpu/lowering/fuse_normalization.h"
#include "backends/cpu/lowering/layouts.h"
#include "backends/cpu/lowering/transposes.h"
#include "backends/cpu/ops/custom.h"
#include "runtime/lowering/drop_copies.h"
#include "runtime/lowering/fuse_attention.h"
#include "runtime/lowering/fuse_elementwise.h"
#include "runtime/lowering/fuse_narrow_tables.h"
#include "runtime/lowering/fuse_one_hot.h"
#include "runtime/lowering/fuse_products.h"
#include "runtime/lowering/fuse_quantized.h"
#include "runtime/lowering/fuse_recomputation.h"
#include "runtime/lowering/fuse_updates.h"
#include "runtime/lowering/turn_products.h"

namespace hr::cpu {
namespace {

using lowering::Region;
using lowering::Support;

class Cpu final : public lowering::Target {
 public:
  explicit Cpu(const ConvCosts& costs) : costs_(costs) {}
  std::string_view name() const override { return "CPU"; }

  Support SupportOf(const graph::Operator& op) const override {
    const KernelEntry* entry = FindKernel(op);
    if (entry == nullptr) return Support::kNone;
    return entry->make == nullptr ? Support::kView : Support::kKernel;
  }
  DType ComputeType(const graph::Operator& op, DType dtype) const override {
    return cpu::ComputeType(op, dtype);
  }
  Result<LoweredKernel> MakeKernel(const KernelRequest& request) const override {
    return FindKernel(request.op)->make(request);
  }
  Result<LoweredKernel> MakeCustomKernel(const KernelRequest& request,
                                         const ops::CustomOp& op) const override {
    return MakeCustom(request, op);
  }
  std::unique_ptr<engine::Kernel> MakeCopyKernel(size_t bytes) const override {
    return engine::MakeKernel(
        "copy", [bytes](const engine::Operands& p, const engine::LaunchContext&) -> Status {
          if (bytes != 0) std::memcpy(p.output(0), p.input(0), bytes);
          return {};
        });
  }

  Status Fuse(Region& region, const CompileOptions& options) const override {
    HR_ASSIGN_OR_RETURN(ConvPins pins, ParseConvPins(options.pin));
    lowering::DropCopies(region);
    lowering::FuseNarrowTables(region);
    lowering::FuseQuantized(region);
    UseBfloat16Convolutions(region);
    FuseConvolutions(region, {options.exact_sums, std::move(pins), costs_});
    ChainConvolutions(region, *options.operators, options.threads);
    FuseNormalizations(region);
    RelabelTransposes(region);
    lowering::FuseAttention(region, options.threads);
    lowering::FuseOneHotProducts(region);
    lowering::FuseMatrixProducts(region);
    UseBfloat16Products(region);
    lowering::TurnBatchedProducts(region);
    lowering::JoinGelus(region);
    lowering::FuseElementwise(region);
    lowering::FuseRecomputation(region);
    lowering::FuseUpdates(region, *options.operators);
    return {};
  }

  lowering::NodeLayouts LayoutsOf(Region& region, graph::NodeId node) const override {
    return LayoutsOfImages(region, node);
  }
  std::string_view ConversionOp(Layout from, Layout to) const override {
    if (from == kChannelsLastLayout) return "FromChannelsLast";
    if (to == kChannelsLastLayout) return "ToChannelsLast";
    return to == Layout::kPlain ? "FromBatchBlocked" : "ToBatchBlocked";
  }
  size_t StoredBytes(DType dtype, const Dims& dims, Layout layout) const override {
    if (layout != kBatchBlockedLayout) return Target::StoredBytes(dtype, dims, layout);
    const int64_t block = 64 / static_cast<int64_t>(DTypeSize(dtype));
    const int64_t images = (dims[0] + block - 1) / block * block;
    return static_cast<size_t>(images * ElementCount(std::span(dims).subspan(1))) *
           DTypeSize(dtype);
  }

 private:
  const ConvCosts costs_;
};

}  // namespace

std::shared_ptr<const lowering::Target> CpuTarget(const ConvCosts& costs) {
  return std::make_shared<const Cpu>(costs);
}

}  // namespace hr::cpu
