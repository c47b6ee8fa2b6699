// Attributes and operator names as short text, for hosts that build graphs by hand.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::transform {

// "Conv", "headrace.train.SGD", "Softmax@13".
Result<graph::Operator> ParseOperator(std::string_view text);

// "kernel_shape=5,5 auto_pad=SAME_UPPER": pairs apart by spaces, elements by commas, strings with
// spaces in double quotes. The kinds come from the operator's definition.
Result<std::vector<graph::Attribute>> ParseAttributes(const ops::OpDef& def, std::string_view text);

// "sgd momentum=0.9" into its first word and (key, number) pairs.
struct NamedNumbers {
  std::string name;
  std::vector<std::pair<std::string, double>> numbers;
};
Result<NamedNumbers> ParseNamedNumbers(std::string_view text);

// "piecewise at=10,20 rates=1,0.5,0.1" into its first word and (key, numbers) pairs, with at least
// one number each and no key twice.
struct NamedLists {
  std::string name;
  std::vector<std::pair<std::string, std::vector<double>>> lists;
};
Result<NamedLists> ParseNamedLists(std::string_view text);

}  // namespace hr::transform
