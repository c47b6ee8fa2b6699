// A part of graph::Verify.
#pragma once

#include "runtime/graph/graph.h"

namespace hr::graph {

// Every name, and all text but the values of attributes, is UTF-8 without zero bytes, because it
// travels through C strings and JSON. Attributes may hold any bytes, as in ONNX.
Status VerifyNames(const Module& module);

}  // namespace hr::graph
