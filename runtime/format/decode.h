// From the FlatBuffer, which FlatBuffers' verifier has accepted, to a Module: every code, index and
// size that the room `graph` does not check itself is checked here.
#pragma once

#include <vector>

#include "runtime/format/decode_context.h"
#include "runtime/format/source.h"
#include "runtime/graph/graph.h"

namespace hr::format {

// Everything but the constants.
Status DecodeModule(const fbs::GraphDef& def, DecodeContext* context, graph::Module* module);
// One body; sets the producers of values.
Status DecodeGraph(const fbs::Graph& def, DecodeContext* context, graph::Graph* graph);
// `segments` has one piece for each of the file's.
Status DecodeConstants(const fbs::GraphDef& def, const std::vector<Piece>& segments,
                       bool external_allowed, DecodeContext* context,
                       std::vector<Tensor>* constants);

// A code of ONNX's, reserved ones included.
Status DecodeDType(int32_t code, const DecodeContext& context, DType* out);

}  // namespace hr::format
