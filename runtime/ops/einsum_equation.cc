#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/ops/einsum.h"

namespace hr::ops {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Labels Expanded(const Labels& term, size_t ellipsis) {
  Labels out;
  for (Label label : term) {
    if (label != kEllipsisEnd) out.push_back(label);
    for (size_t i = ellipsis; label == kEllipsisEnd && i > 0; --i) {
      out.push_back(kEllipsisEnd - static_cast<Label>(i));
    }
  }
  return out;
}

bool HasLabel(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// One term: letters and at most one ellipsis.
Result<Labels> ParseTerm(std::string_view text, std::string_view equation) {
  Labels out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "..." && !HasLabel(out, kEllipsisEnd)) {
      out.push_back(kEllipsisEnd);
      i += 2;
    } else if (IsLetter(text[i])) {
      out.push_back(text[i]);
    } else {
      return InvalidArgument("Einsum's equation '", equation, "' wants letters and one '...' in '",
                             text, "', got '", text.substr(i, 1), "'");
    }
  }
  return out;
}

// The ellipsis, and in the order of the alphabet the letters that stand once.
Labels ImplicitOutput(const std::vector<Labels>& terms) {
  Labels all;
  for (const Labels& term : terms) all.insert(all.end(), term.begin(), term.end());
  std::sort(all.begin(), all.end());
  Labels out;
  for (Label label : all) {
    const auto times = std::count(all.begin(), all.end(), label);
    if (label == kEllipsisEnd ? !HasLabel(out, label) : times == 1) out.push_back(label);
  }
  return out;
}

}  // namespace

Result<EinsumEquation> EinsumEquation::Parse(std::string_view text, size_t operands) {
  std::string equation;
  for (char c : text) {
    if (c != ' ') equation.push_back(c);
  }
  EinsumEquation out;
  const std::string_view whole = equation;
  const size_t arrow = whole.find("->");
  std::string_view left = whole.substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    HR_ASSIGN_OR_RETURN(auto&& term, ParseTerm(left.substr(0, comma), text));
    out.terms_.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (out.terms_.size() != operands) {
    return InvalidArgument("Einsum's equation '", text, "' has ", out.terms_.size(), " terms for ",
                           operands, " inputs");
  }
  out.output_ = ImplicitOutput(out.terms_);
  if (arrow == std::string_view::npos) return out;
  const bool ellipsis = out.output_ellipsis();
  HR_ASSIGN_OR_RETURN(out.output_, ParseTerm(whole.substr(arrow + 2), text));
  if (out.output_ellipsis() != ellipsis) {
    return InvalidArgument("Einsum's equation '", text,
                           "' wants '...' on both sides of '->', or on none");
  }
  for (Label label : out.output_) {
    const bool known = std::any_of(out.terms_.begin(), out.terms_.end(),
                                   [&](const Labels& term) { return HasLabel(term, label); });
    if (!known || std::count(out.output_.begin(), out.output_.end(), label) > 1) {
      return InvalidArgument("Einsum's equation '", text, "' has '",
                             std::string(1, static_cast<char>(label)), "' in its output, which is ",
                             known ? "there twice" : "in no input");
    }
  }
  return out;
}

bool EinsumEquation::output_ellipsis() const { return HasLabel(output_, kEllipsisEnd); }

bool EinsumEquation::HasEllipsis(size_t operand) const {
  return HasLabel(terms_[operand], kEllipsisEnd);
}

size_t EinsumEquation::EllipsisRank(size_t operand, size_t rank) const {
  return HasEllipsis(operand) ? rank - (terms_[operand].size() - 1) : 0;
}

Result<Labels> EinsumEquation::LabelsOf(size_t operand, size_t rank) const {
  const bool open = HasEllipsis(operand);
  const size_t letters = terms_[operand].size() - (open ? 1 : 0);
  if (rank < letters || (!open && rank != letters)) {
    return InvalidArgument("Einsum's equation has ", letters, open ? " or more" : "",
                           " axes for input ", operand, ", got rank ", rank);
  }
  return Expanded(terms_[operand], EllipsisRank(operand, rank));
}

Labels EinsumEquation::OutputLabels(size_t ellipsis) const { return Expanded(output_, ellipsis); }

}  // namespace hr::ops
