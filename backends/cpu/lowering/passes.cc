#include "backends/cpu/lowering/passes.h"

#include "backends/cpu/lowering/fuse_conv.h"
#include "backends/cpu/lowering/fuse_elementwise.h"
#include "backends/cpu/lowering/fuse_gemm.h"
#include "backends/cpu/lowering/fuse_updates.h"
#include "backends/cpu/lowering/layout.h"

namespace hr::cpu {

Status RunPasses(Region& region, const CompileOptions& options) {
  if (options.fuse) {
    FuseConvolutions(region, options.exact_sums);
    FuseMatrixProducts(region);
    FuseElementwise(region);
    FuseUpdates(region, *options.operators);
  }
  AssignLayouts(region);
  return {};
}

}  // namespace hr::cpu
