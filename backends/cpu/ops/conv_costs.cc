#include "backends/cpu/ops/conv_costs.h"

#include <charconv>
#include <utility>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::cpu {
namespace {

constexpr std::string_view kFirstLine = "headrace costs 1";
constexpr double kLeast = 0.01, kMost = 100;

// FNV-1a, as `headrace roof` computes it.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

using Entry = std::pair<std::string_view, std::string_view>;  // name and value

std::vector<Entry> Lines(std::string_view text) {
  std::vector<Entry> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t blank = std::min(line.find(' '), line.size());
    out.emplace_back(line.substr(0, blank), line.substr(std::min(blank + 1, line.size())));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <typename Number>
bool Parse(std::string_view text, Number* out, auto... how) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), *out, how...);
  return error == std::errc() && at == text.data() + text.size();
}

double* FactorOf(ConvCosts& costs, std::string_view name) {
  const std::pair<std::string_view, double*> factors[] = {
      {"direct", &costs.direct},       {"direct_1x1", &costs.direct_1x1},
      {"winograd", &costs.winograd},   {"channels_last", &costs.channels_last},
      {"depthwise", &costs.depthwise}, {"portable", &costs.portable},
      {"onednn", &costs.onednn},       {"copies", &costs.copies}};
  for (const auto& [known, factor] : factors) {
    if (known == name) return factor;
  }
  return nullptr;
}

Status Damaged(const std::string& path, std::string_view what) {
  return DataLoss("the table of costs '", path, "' ", what,
                  "; measure it again with `headrace roof --costs ", path, "`");
}

}  // namespace

Result<ConvCosts> ReadConvCosts(const std::string& path, std::string_view machine) {
  HR_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
  if (file.size() > 1 << 16) return Damaged(path, "is far too long");
  std::string text(static_cast<size_t>(file.size()), '\0');
  HR_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  if (!std::string_view(text).starts_with(kFirstLine)) {
    return Damaged(path, Cat("does not begin with '", kFirstLine, "'"));
  }
  const std::string_view all = text;
  const size_t last = all.rfind("check ");
  uint64_t hash = 0;
  if (last == all.npos || !all.ends_with('\n') ||
      !Parse(all.substr(last + 6, all.size() - last - 7), &hash, 16)) {
    return Damaged(path, "has no checksum at its end");
  }
  if (hash != HashOf(all.substr(0, last))) return Damaged(path, "is damaged: its checksum differs");
  ConvCosts costs;
  for (const auto& [name, value] : Lines(all.substr(0, last))) {
    if (name == "headrace") continue;
    if (name == "machine") {
      if (value == machine) continue;
      return FailedPrecondition("the table of costs '", path, "' is of a machine with '", value,
                                "', and this one has '", machine,
                                "'; measure one here with `headrace roof --costs FILE`");
    }
    double* const factor = FactorOf(costs, name);
    if (factor == nullptr) return Damaged(path, Cat("has a line '", name, "', which is unknown"));
    if (!Parse(value, factor) || !(*factor >= kLeast && *factor <= kMost)) {
      return Damaged(path, Cat("says ", name, " is '", value, "', expected a number from ", kLeast,
                               " to ", kMost));
    }
  }
  return costs;
}

}  // namespace hr::cpu
