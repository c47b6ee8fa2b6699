#include "runtime/lowering/target.h"

namespace hr::lowering {

DType Target::ComputeType(const graph::Operator&, DType dtype) const { return dtype; }

NodeLayouts Target::LayoutsOf(Region&, graph::NodeId) const { return {}; }

std::string_view Target::ConversionOp(Layout, Layout) const { return {}; }

size_t Target::StoredBytes(DType dtype, const Dims& dims, Layout) const {
  return static_cast<size_t>(ElementCount(dims)) * DTypeSize(dtype);
}

}  // namespace hr::lowering
