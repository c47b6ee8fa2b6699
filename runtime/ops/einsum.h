// Equations of Einsum.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/base/errors.h"

namespace hr::ops {

// A label stands for one axis: a letter, or kEllipsisEnd - i for the axis that is the i-th from
// the right (1, 2, …) of those that an ellipsis stands for.
using Label = int;
using Labels = std::vector<Label>;
inline constexpr Label kEllipsisEnd = -1;
inline bool IsEllipsis(Label label) { return label < kEllipsisEnd; }

class EinsumEquation {
 public:
  // Fails with a sentence if it is no equation for this number of operands.
  static Result<EinsumEquation> Parse(std::string_view text, size_t operands);

  // Whether the output has an ellipsis.
  bool output_ellipsis() const;
  bool HasEllipsis(size_t operand) const;
  // The labels of the operand's axes, of which there are `rank`; fails if that does not fit.
  Result<Labels> LabelsOf(size_t operand, size_t rank) const;
  // Those of the output, if ellipses stand for up to `ellipsis` axes.
  Labels OutputLabels(size_t ellipsis) const;
  // The axes for which the operand's ellipsis stands.
  size_t EllipsisRank(size_t operand, size_t rank) const;

 private:
  std::vector<Labels> terms_;  // with kEllipsisEnd in the place of an ellipsis
  Labels output_;
};

}  // namespace hr::ops
