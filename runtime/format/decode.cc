#include "runtime/format/decode.h"

#include "runtime/format/layout.h"

namespace hr::format {
namespace {

using graph::kNone;
using graph::Module;

// A table of unique keys.
template <typename Map, typename Items, typename Decode>
Status DecodeMap(Literal what, const Items* items, DecodeContext* context, Map* out,
                 Decode decode) {
  if (items == nullptr) return {};
  for (const auto* item : *items) {
    HR_RETURN_IF_ERROR(context->Charge(1, 2 * sizeof(std::string)));
    std::pair<std::string, typename Map::mapped_type> entry;
    HR_RETURN_IF_ERROR(decode(*item, entry));
    if (out->find(entry.first) != out->end()) {
      return InvalidArgument(what, " '", entry.first, "' is given twice");
    }
    out->insert(std::move(entry));
  }
  return {};
}

Status DecodeSymbol(const fbs::Symbol& def, DecodeContext* context, graph::Symbol* symbol) {
  symbol->min = def.min();
  symbol->max = def.max();
  HR_RETURN_IF_ERROR(context->List(def.buckets(), &symbol->buckets));
  return context->Text(def.name(), &symbol->name);
}

Status DecodeVariable(const fbs::Variable& def, DecodeContext* context, graph::Variable* variable) {
  HR_RETURN_IF_ERROR(context->Text(def.name(), &variable->name));
  HR_RETURN_IF_ERROR(DecodeDType(def.dtype(), *context, &variable->dtype));
  variable->trainable = def.trainable();
  variable->initial_constant = def.initial_constant();
  variable->initial_graph = def.initial_graph();
  return context->DimList(def.dims(), &variable->dims);
}

Status DecodeSignature(const fbs::Signature& def, DecodeContext* context,
                       graph::Signature* signature) {
  auto port = [&](const fbs::Port& from, graph::Port& to) {
    to.value = from.value();
    return context->Text(from.name(), &to.name);
  };
  HR_RETURN_IF_ERROR(context->Text(def.name(), &signature->name));
  HR_RETURN_IF_ERROR(context->Each("input", def.inputs(), &signature->inputs, port));
  HR_RETURN_IF_ERROR(context->Each("output", def.outputs(), &signature->outputs, port));
  return context->List(def.targets(), &signature->targets);
}

template <typename T>
uint64_t CountOf(const Tables<T>* tables) {
  return tables == nullptr ? 0 : tables->size();
}

Status CheckCounts(const fbs::GraphDef& def, const ReadLimits& limits) {
  HR_RETURN_IF_ERROR(DecodeContext::CheckLimit("graphs", CountOf(def.graphs()), limits.graphs));
  uint64_t nodes = 0;
  uint64_t values = 0;
  for (uint32_t i = 0; i < CountOf(def.graphs()); ++i) {
    nodes += CountOf(def.graphs()->Get(i)->nodes());
    values += CountOf(def.graphs()->Get(i)->values());
  }
  HR_RETURN_IF_ERROR(DecodeContext::CheckLimit("nodes", nodes, limits.nodes));
  return DecodeContext::CheckLimit("values", values, limits.values);
}

Status DecodeConstant(const fbs::TensorData& def, const std::vector<Piece>& segments,
                      bool external_allowed, DecodeContext* context, Tensor* tensor) {
  DType dtype = DType::kUndefined;
  Dims dims;
  HR_RETURN_IF_ERROR(DecodeDType(def.dtype(), *context, &dtype));
  HR_RETURN_IF_ERROR(context->DimList(def.dims(), &dims));
  HR_ASSIGN_OR_RETURN(size_t bytes, CheckedTensorBytes(dtype, dims));
  if (def.segment() == kNone) {
    if (!external_allowed) {
      return InvalidArgument("has no data: this is a region for a device, not a whole model");
    }
    *tensor = Tensor::WithoutData(dtype, std::move(dims));
    return {};
  }
  if (def.segment() >= segments.size()) {
    return InvalidArgument("lies in segment ", def.segment(), ", there are ", segments.size());
  }
  if (bytes != def.bytes()) {
    return InvalidArgument(DTypeName(dtype), dims, " has ", bytes, " bytes, the file says ",
                           def.bytes());
  }
  if (def.offset() % kTensorAlignmentInFile != 0) {
    return InvalidArgument("begins at offset ", def.offset(), ", which is not a multiple of ",
                           kTensorAlignmentInFile);
  }
  const Piece& segment = segments[def.segment()];
  if (def.offset() > segment.bytes || bytes > segment.bytes - def.offset()) {
    return InvalidArgument("takes ", bytes, " bytes from offset ", def.offset(),
                           " of a segment of ", segment.bytes, " bytes");
  }
  HR_ASSIGN_OR_RETURN(
      *tensor, Tensor::View(segment.buffer, segment.offset + def.offset(), dtype, std::move(dims)));
  return {};
}

}  // namespace

Status DecodeDType(int32_t code, const DecodeContext& context, DType* out) {
  if (code < 0 || code > static_cast<int32_t>(DType::kInt4)) {
    return context.Unknown("element type", code);
  }
  *out = static_cast<DType>(code);
  return {};
}

Status DecodeModule(const fbs::GraphDef& def, DecodeContext* context, Module* module) {
  HR_RETURN_IF_ERROR(CheckCounts(def, context->limits()));
  HR_RETURN_IF_ERROR(context->Text(def.producer(), &module->producer));
  auto opset = [&](const fbs::OperatorSet& from, auto& to) {
    to.second = from.version();
    return context->Text(from.domain(), &to.first);
  };
  auto metadata = [&](const fbs::Metadata& from, auto& to) -> Status {
    HR_RETURN_IF_ERROR(context->Text(from.key(), &to.first));
    return context->Text(from.value(), &to.second);
  };
  auto op = [&](const fbs::Operator& from, graph::Operator& to) -> Status {
    to.version = from.version();
    HR_RETURN_IF_ERROR(context->Text(from.domain(), &to.domain));
    return context->Text(from.name(), &to.name);
  };
  auto symbol = [&](const auto& from, auto& to) { return DecodeSymbol(from, context, &to); };
  auto graph = [&](const auto& from, auto& to) { return DecodeGraph(from, context, &to); };
  auto variable = [&](const auto& from, auto& to) { return DecodeVariable(from, context, &to); };
  auto signature = [&](const auto& from, auto& to) { return DecodeSignature(from, context, &to); };
  HR_RETURN_IF_ERROR(DecodeMap("operator set", def.opsets(), context, &module->opsets, opset));
  HR_RETURN_IF_ERROR(DecodeMap("metadata", def.metadata(), context, &module->metadata, metadata));
  HR_RETURN_IF_ERROR(context->Each("operator", def.operators(), &module->operators, op));
  HR_RETURN_IF_ERROR(context->Each("symbol", def.symbols(), &module->symbols, symbol));
  HR_RETURN_IF_ERROR(context->Each("graph", def.graphs(), &module->graphs, graph));
  HR_RETURN_IF_ERROR(context->Each("variable", def.variables(), &module->variables, variable));
  return context->Each("signature", def.signatures(), &module->signatures, signature);
}

Status DecodeConstants(const fbs::GraphDef& def, const std::vector<Piece>& segments,
                       bool external_allowed, DecodeContext* context,
                       std::vector<Tensor>* constants) {
  return context->Each("constant", def.constants(), constants,
                       [&](const fbs::TensorData& from, Tensor& to) {
                         return DecodeConstant(from, segments, external_allowed, context, &to);
                       });
}

}  // namespace hr::format
