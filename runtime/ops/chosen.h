// Which of the built-in operators a build has: all of them, or those that HEADRACE_OPERATORS has
// chosen (cmake/HeadraceOperators.cmake). What is not chosen is left out of the tables when they
// are compiled, so that nothing refers to its rules and kernels, and the linker drops them.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/ops/chosen_operators.inc"  // kReduced, kChosenOperators: made by the build
#include "runtime/ops/op_def.h"

namespace hr::ops {

// Ends the message of a reduced build that misses an operator.
inline constexpr Literal kHowToAdd =
    " in this build, which leaves out what its HEADRACE_OPERATORS does not name; add it there and "
    "build again";

// Whether an operator is there; its whole name is "Conv" or "headrace.grad.ConvGradInput".
constexpr bool IsChosenName(std::string_view whole) {
  for (const std::string_view chosen : kChosenOperators) {
    if (chosen == whole) return true;
  }
  return !kReduced;
}
constexpr bool IsChosen(std::string_view domain, std::string_view name) {
  // What programs are held together by belongs to every build.
  if (domain == kState || domain == kControl || domain == kComm || domain == kData) return true;
  for (const std::string_view chosen : kChosenOperators) {
    if (domain.empty() && chosen == name) return true;
    if (!domain.empty() && chosen.size() == domain.size() + 1 + name.size() &&
        chosen.starts_with(domain) && chosen.find('.', domain.size()) == domain.size() &&
        chosen.ends_with(name)) {
      return true;
    }
  }
  return !kReduced;
}

// The part of a table that a build has. Only PartOf makes it, so that no table forgets to ask.
template <typename Entry>
class Part : public std::span<const Entry> {
 private:
  constexpr explicit Part(std::span<const Entry> entries) : std::span<const Entry>(entries) {}
  template <const auto& kAll, auto kKeep>
  friend constexpr auto PartOf();
};

template <const auto& kAll, auto kKeep>
constexpr auto KeptIndices() {
  constexpr auto keeps = [](const auto& entry) { return kKeep(entry, std::span(kAll)); };
  constexpr size_t kCount = [keeps] {
    size_t count = 0;
    for (const auto& entry : kAll) count += keeps(entry) ? 1 : 0;
    return count;
  }();
  std::array<size_t, kCount> out{};
  size_t next = 0;
  for (size_t i = 0; i < std::size(kAll); ++i) {
    if (keeps(kAll[i])) out[next++] = i;
  }
  return out;
}
template <const auto& kAll, auto kIndices, size_t... kI>
constexpr auto Picked(std::index_sequence<kI...>) {
  using Entry = std::remove_cvref_t<decltype(kAll[0])>;
  return std::array<Entry, sizeof...(kI)>{kAll[kIndices[kI]]...};
}
template <const auto& kAll, auto kKeep>
inline constexpr auto kPicked = Picked<kAll, KeptIndices<kAll, kKeep>()>(
    std::make_index_sequence<KeptIndices<kAll, kKeep>().size()>());

// Returns the entries of a table for which keep(entry, table).
template <const auto& kAll, auto kKeep>
constexpr auto PartOf() {
  using Entry = std::remove_cvref_t<decltype(kAll[0])>;
  if constexpr (kReduced) {
    return Part<Entry>(kPicked<kAll, kKeep>);
  } else {
    return Part<Entry>(kAll);
  }
}

using OpFamily = Part<OpDef>;

template <const auto& kOps>
constexpr OpFamily Chosen() {
  return PartOf<kOps, [](const OpDef& def, auto) { return IsChosen(def.domain, def.name); }>();
}

}  // namespace hr::ops
