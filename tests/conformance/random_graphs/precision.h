// What is known of the rounding of types and operators.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"
#include "tests/reference/array.h"

namespace hr::random_graphs {

struct Format {
  int digits;                  // of the significand
  reference::Number smallest;  // normal number
  reference::Number largest;   // beyond which a graph is not judged
};
Format FormatOf(DType dtype);

// The unit in the last place; below the normal numbers, the smallest of them.
reference::Number Ulp(const Format& format, reference::Number x);
bool Representable(const Format& format, reference::Number x);

// Operators that copy, select or compare: they never round.
bool Copies(std::string_view op);
// Operators that round at most once: if the exact result is representable, it is the library's. The
// others' results always move.
bool RoundsOnce(std::string_view op);
// Operators that sum: the same holds if the sum of the terms' sizes is representable, too. Then so
// are, but for rare chance, all sums on the way (those of whole numbers).
bool Sums(std::string_view op);

// Operators that take a mean off, whose rounding all results of a group have in common.
bool MovesGroups(std::string_view op);

// The size of the numbers inside a kernel of which the result may be a small rest: its error is one
// of such a number. log(1 + …) and 1 + erf go through 1; the gradient of a normalization takes from
// dy what does not change the statistics, and divides the rest by the deviation. 0 for others.
reference::Number InnerSize(const graph::Node& node, std::string_view op,
                            const std::vector<const reference::Array*>& in);

// The same for sums of many terms, one after the other: roundings pile up with the terms, which
// noise of the terms, as it cancels, does not show. 0 for sums of up to 64.
reference::Number SummedSize(const std::vector<const reference::Array*>& in,
                             const reference::Array& out);

}  // namespace hr::random_graphs
