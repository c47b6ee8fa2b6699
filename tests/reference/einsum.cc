// Einsum: for every combination of indices, the product of one element of each input.
#include <map>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// The axes of a term by name: letters, and "-1", "-2", … from the right for an ellipsis.
using Names = std::vector<std::string>;

Names NamesOf(const std::string& term, size_t ellipsis) {
  Names out;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      out.emplace_back(1, term[i]);
      continue;
    }
    for (size_t left = ellipsis; left > 0; --left) out.push_back(Cat("-", left));
    i += 2;
  }
  return out;
}

size_t Letters(const std::string& term) {
  return term.size() - (term.find('.') == std::string::npos ? 0 : 3);
}

std::string ImplicitOutput(const std::string& terms) {
  std::map<char, int> times;
  for (char c : terms) ++times[c];
  std::string out = times.count('.') != 0 ? "..." : "";
  for (const auto& [c, count] : times) {
    if (c != '.' && c != ',' && count == 1) out += c;
  }
  return out;
}

void Einsum(Call& call) {
  std::string equation;
  for (char c : call.String("equation", "")) {
    if (c != ' ') equation += c;
  }
  const size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  const std::string right =
      arrow == std::string::npos ? ImplicitOutput(left) : equation.substr(arrow + 2);
  std::vector<Names> terms;
  std::map<std::string, int64_t> sizes;
  size_t ellipsis = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string term = left.substr(0, left.find(','));
    left.erase(0, std::min(left.size(), term.size() + 1));
    const Array& x = call.In(i);
    if (x.rank() < Letters(term)) Fail("term ", term, " for rank ", x.rank());
    ellipsis = std::max(ellipsis, x.rank() - Letters(term));
    terms.push_back(NamesOf(term, x.rank() - Letters(term)));
    for (size_t axis = 0; axis < x.rank(); ++axis) {
      int64_t& size = sizes.try_emplace(terms[i][axis], 1).first->second;
      if (size == 1) size = x.dims[axis];
    }
  }
  const Names output = NamesOf(right, ellipsis);
  Names names;
  Dims all, dims;
  for (const auto& [name, size] : sizes) {
    names.push_back(name);
    all.push_back(size);
  }
  const auto place = [&](const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const std::string& name : output) dims.push_back(sizes.at(name));
  Array y(call.In(0).dtype, dims);
  ForEach(all, [&](const Dims& index) {
    Number product = 1;
    for (size_t i = 0; i < terms.size(); ++i) {
      Dims at;
      for (size_t axis = 0; axis < terms[i].size(); ++axis) {
        at.push_back(call.In(i).dims[axis] == 1 ? 0 : index[place(terms[i][axis])]);
      }
      product *= call.In(i)[at];
    }
    Dims to;
    for (const std::string& name : output) to.push_back(index[place(name)]);
    y[to] = Fit(y.dtype, y[to] + product);
  });
  call.Out(0, std::move(y));
}

const Entry kEinsumEntries[] = {{"", "Einsum", Einsum}};

}  // namespace

std::span<const Entry> EinsumFunctions() { return kEinsumEntries; }

}  // namespace hr::reference
