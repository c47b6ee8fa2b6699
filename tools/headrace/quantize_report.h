// Two models on the same data: how far their outputs lie apart.
#pragma once

#include "tools/headrace/library.h"

namespace headrace::tool {

// Runs the signature of both on the rest of the data set's pass. A list of {"name", "examples",
// "error" (root mean square, as a part of that of the output before), "largest_error" (of an
// element)}, with "same_largest" (the share of rows whose largest element of the last axis stays
// where it was) if the last axis has several, and "before" and "after" (means) if the output is one
// number. Throws Failure if there is no example.
Json CompareModels(const hr::Model& before, const hr::Model& after, const Json& signature,
                   hr::Dataset& data);
void PrintComparison(const Json& outputs);

}  // namespace headrace::tool
