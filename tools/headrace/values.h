// Elements of tensors for people: one by one, and summed up.
#pragma once

#include <string>

#include "tools/headrace/library.h"

namespace headrace::tool {

// Element `index` of a contiguous tensor, whatever its type.
double ElementAt(const hr::Tensor& tensor, int64_t index);

struct Summary {
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;    // standard, of the population
  int64_t not_finite = 0;  // NaN and infinite elements, which the others leave out
};
Summary Summarise(const hr::Tensor& tensor);

// "float32[64, 10]"
std::string TypeText(const hr::Tensor& tensor);
// All elements: a line for each run of the last dimension.
std::string ElementsText(const hr::Tensor& tensor);
// The first few: "0.1 0.7 0.2 …".
std::string FirstElements(const hr::Tensor& tensor, int64_t most);

}  // namespace headrace::tool
