// What headrace inspect prints for people, from the library's JSON.
#pragma once

#include <string>

#include "tools/headrace/library.h"

namespace headrace::tool {

// `all` has "file", "model" and "graph". With a signature, only it and the variables it uses.
void PrintModel(const std::string& path, const Json& all, const std::string& signature);

// Of hr_call_describe, with "signature".
void PrintPlan(const Json& plan);

// The same, as the devices of its nodes and the copies between them.
void PrintPlacement(const Json& plan);

}  // namespace headrace::tool
