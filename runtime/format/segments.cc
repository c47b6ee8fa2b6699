#include "runtime/format/segments.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/errors.h"
#include "runtime/format/layout.h"

namespace hr::format {
namespace {

using graph::kNone;
using graph::Module;

// True for constants that only variables refer to.
graph::Marks FindMutable(const Module& module) {
  graph::Marks is_mutable = module.InitialConstants();
  for (const graph::Graph& graph : module.graphs) {
    for (const graph::Value& value : graph.values) {
      if (value.constant != kNone) is_mutable[value.constant] = false;
    }
    for (const graph::Node& node : graph.nodes) {
      for (const graph::Attribute& attribute : node.attributes) {
        const auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value);
        if (tensor != nullptr) is_mutable[tensor->index] = false;
      }
    }
  }
  return is_mutable;
}

// For each constant the first one with the same memory.
std::vector<uint32_t> FindShared(const Module& module) {
  std::map<std::tuple<const std::byte*, size_t, Dims>, uint32_t> seen;
  std::vector<uint32_t> first(module.constants.size());
  for (uint32_t i = 0; i < first.size(); ++i) {
    const Tensor& tensor = module.constants[i];
    // Strides order the elements, so strided views are the same only with equal shapes, too.
    Dims order = tensor.strides();
    if (!order.empty()) order.insert(order.end(), tensor.dims().begin(), tensor.dims().end());
    first[i] = seen.try_emplace({tensor.data(), tensor.bytes(), std::move(order)}, i).first->second;
  }
  return first;
}

Status CheckWritable(const Module& module) {
  for (size_t i = 0; i < module.constants.size(); ++i) {
    const Tensor& tensor = module.constants[i];
    if (!tensor.defined()) {
      return InvalidArgument("constant ", i, " (", tensor.TypeText(),
                             ") has no data; give it some, or write the graph as a region");
    }
    if (tensor.device().type == DeviceType::kCuda) {
      return InvalidArgument("constant ", i, " lies on ", DeviceName(tensor.device()),
                             "; copy it to the CPU first");
    }
  }
  return {};
}

void AddSegment(const Module& module, bool mutable_data, const std::vector<uint32_t>& members,
                SegmentTable* table) {
  if (members.empty()) return;
  SegmentPlan segment{.mutable_data = mutable_data, .constants = members};
  if (!table->segments.empty()) {
    const SegmentPlan& last = table->segments.back();
    segment.offset = AlignUp(last.offset + last.bytes, kSegmentAlignment);
  }
  auto index = static_cast<uint32_t>(table->segments.size());
  for (uint32_t constant : members) {
    uint64_t offset = AlignUp(segment.bytes, kTensorAlignmentInFile);
    table->places[constant] = {index, offset};
    segment.bytes = offset + module.constants[constant].bytes();
  }
  table->segments.push_back(std::move(segment));
}

}  // namespace

Result<SegmentTable> PlanSegments(const Module& module) {
  HR_RETURN_IF_ERROR(CheckWritable(module));
  graph::Marks is_mutable = FindMutable(module);
  std::vector<uint32_t> first = FindShared(module);
  for (uint32_t i = 0; i < first.size(); ++i) {
    if (!is_mutable[i]) is_mutable[first[i]] = false;
  }
  std::vector<uint32_t> members[2];
  for (uint32_t i = 0; i < first.size(); ++i) {
    if (first[i] == i) members[is_mutable[i] ? 1 : 0].push_back(i);
  }
  SegmentTable table;
  table.places.resize(module.constants.size());
  AddSegment(module, false, members[0], &table);
  AddSegment(module, true, members[1], &table);
  for (uint32_t i = 0; i < first.size(); ++i) table.places[i] = table.places[first[i]];
  return table;
}

Status SendSegment(const Module& module, const SegmentTable& table, const SegmentPlan& segment,
                   Allocator& allocator, Sink sink) {
  uint64_t sent = 0;
  for (uint32_t constant : segment.constants) {
    uint64_t offset = table.places[constant].offset;
    HR_RETURN_IF_ERROR(SendZeros(offset - sent, sink));
    HR_ASSIGN_OR_RETURN(auto&& tensor, module.constants[constant].Contiguous(allocator));
    HR_RETURN_IF_ERROR(sink({tensor.data(), tensor.bytes()}));
    sent = offset + tensor.bytes();
  }
  return {};
}

Status SendZeros(uint64_t bytes, Sink sink) {
  const std::byte zeros[4096] = {};
  while (bytes != 0) {
    size_t piece = std::min<uint64_t>(bytes, sizeof zeros);
    HR_RETURN_IF_ERROR(sink({zeros, piece}));
    bytes -= piece;
  }
  return {};
}

}  // namespace hr::format
