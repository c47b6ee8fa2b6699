#include "runtime/graph/shards.h"

#include <charconv>

#include "runtime/base/errors.h"

namespace hr::graph {
namespace {

constexpr std::string_view kKey = "headrace.shard.";
constexpr std::string_view kCopy = "/shard";

// Takes the text before the next line's end.
std::string_view NextLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

// "scalar", "copy", or numbers apart by commas; nothing if it is none of them.
std::optional<Dims> DimsOf(std::string_view text) {
  Dims out;
  while (!text.empty() && text != "scalar") {
    const size_t end = std::min(text.find(','), text.size());
    const auto number = NumberOf(text.substr(0, end));
    if (!number) return std::nullopt;
    out.push_back(*number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string DimsText(const Dims& dims) {
  std::string out = dims.empty() ? "scalar" : "";
  for (int64_t dim : dims) out += Cat(out.empty() ? "" : ",", dim);
  return out;
}

// Whether the variable is what a shard of that kind is.
bool Fits(const Module& module, const Shard& shard) {
  if (shard.variable == kNone || shard.ranks < 1 || shard.group.empty()) return false;
  const Dims& dims = module.variables[shard.variable].dims;
  if (dims.size() != 1) return false;
  if (!shard.dims) return true;
  const auto elements = CheckedElementCount(*shard.dims);
  return elements.ok() && dims[0] == PartOf(*elements, shard.ranks);
}

}  // namespace

std::string NameOfCopy(std::string_view variable) { return Cat(variable, kCopy); }

Result<int64_t> ElementsOf(const Module& module, const Shard& shard) {
  if (shard.dims) return ElementCount(*shard.dims);
  const std::string_view name = module.variables[shard.variable].name;
  const bool copy = name.ends_with(kCopy);
  const uint32_t whole =
      copy ? module.FindVariable(name.substr(0, name.size() - kCopy.size())) : kNone;
  if (whole != kNone) return ElementCount(module.variables[whole].dims);
  return InvalidArgument("variable '", name, "' is a copy of a part of no variable");
}

std::pair<std::string, std::string> ShardMetadata(const Module& module, const Shard& shard) {
  return {Cat(kKey, module.variables[shard.variable].name),
          Cat(shard.group, "\n", shard.ranks, "\n", shard.dims ? DimsText(*shard.dims) : "copy")};
}

Result<std::vector<Shard>> ShardsOf(const Module& module) {
  std::vector<Shard> out;
  for (const auto& [key, value] : module.metadata) {
    if (!key.starts_with(kKey)) continue;
    std::string_view text = value;
    Shard shard{.variable = module.FindVariable(std::string_view(key).substr(kKey.size())),
                .group = std::string(NextLine(&text))};
    shard.ranks = NumberOf(NextLine(&text)).value_or(0);
    const bool copy = text == "copy";
    if (!copy) shard.dims = DimsOf(text);
    if (!Fits(module, shard) || (!copy && !shard.dims)) {
      return InvalidArgument("the model's metadata '", key, "' do not fit its variables");
    }
    out.push_back(std::move(shard));
  }
  return out;
}

}  // namespace hr::graph
