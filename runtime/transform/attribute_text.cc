#include "runtime/transform/attribute_text.h"

#include <charconv>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

// Takes the next word off the text; double quotes keep spaces together and are removed.
std::string NextWord(std::string_view* text) {
  size_t at = text->find_first_not_of(" \t\n");
  std::string word;
  if (at == std::string_view::npos) {
    *text = {};
    return word;
  }
  bool quoted = false;
  for (; at < text->size(); ++at) {
    char c = (*text)[at];
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      break;
    } else {
      word.push_back(c);
    }
  }
  text->remove_prefix(at);
  return word;
}

std::vector<std::string_view> SplitCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (true) {
    size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <typename T>
Status ParseNumber(std::string_view key, std::string_view text, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return InvalidArgument("'", key, "' takes ",
                         std::is_same_v<T, int64_t> ? "an integer" : "a number", ", got '", text,
                         "'");
}

template <typename T>
Status ParseNumbers(std::string_view key, std::string_view text, std::vector<T>* out) {
  for (std::string_view part : SplitCommas(text)) {
    HR_RETURN_IF_ERROR(ParseNumber(key, part, &out->emplace_back()));
  }
  return {};
}

Status ParseValue(const ops::AttributeDef& def, std::string_view text, graph::AttributeValue* out) {
  switch (def.kind) {
    case ops::AttributeKind::kInt:
    case ops::AttributeKind::kFlag: return ParseNumber(def.name, text, &out->emplace<int64_t>());
    case ops::AttributeKind::kFloat: return ParseNumber(def.name, text, &out->emplace<double>());
    case ops::AttributeKind::kString: out->emplace<std::string>(text); return {};
    case ops::AttributeKind::kInts:
      return ParseNumbers(def.name, text, &out->emplace<std::vector<int64_t>>());
    case ops::AttributeKind::kFloats:
      return ParseNumbers(def.name, text, &out->emplace<std::vector<double>>());
    case ops::AttributeKind::kStrings: {
      auto& values = out->emplace<std::vector<std::string>>();
      for (std::string_view part : SplitCommas(text)) values.emplace_back(part);
      return {};
    }
    case ops::AttributeKind::kTensor:
    case ops::AttributeKind::kGraph: break;
  }
  return InvalidArgument("'", def.name, "' cannot be written as text");
}

Result<std::pair<std::string, std::string>> SplitPair(const std::string& word) {
  size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("expected name=value, got '", word, "'");
  }
  return std::pair(word.substr(0, equals), word.substr(equals + 1));
}

}  // namespace

Result<graph::Operator> ParseOperator(std::string_view text) {
  graph::Operator op;
  if (size_t at = text.find('@'); at != std::string_view::npos) {
    int64_t version;
    HR_RETURN_IF_ERROR(ParseNumber("operator version", text.substr(at + 1), &version));
    if (version < 1 || version > INT32_MAX) {
      return InvalidArgument("an operator version is at least 1, got ", version);
    }
    op.version = static_cast<int32_t>(version);
    text = text.substr(0, at);
  }
  if (size_t dot = text.rfind('.'); dot != std::string_view::npos) {
    op.domain = text.substr(0, dot);
    text = text.substr(dot + 1);
  }
  if (text.empty()) return InvalidArgument("an operator needs a name");
  op.name = text;
  return op;
}

Result<std::vector<graph::Attribute>> ParseAttributes(const ops::OpDef& def,
                                                      std::string_view text) {
  std::vector<graph::Attribute> out;
  for (std::string word = NextWord(&text); !word.empty(); word = NextWord(&text)) {
    HR_ASSIGN_OR_RETURN(auto&& pair, SplitPair(word));
    HR_ASSIGN_OR_RETURN(const ops::AttributeDef* known, ops::FindAttribute(def, pair.first));
    graph::Attribute& attribute = out.emplace_back(graph::Attribute{std::move(pair.first), {}});
    HR_RETURN_IF_ERROR(ParseValue(*known, pair.second, &attribute.value));
  }
  return out;
}

Result<NamedLists> ParseNamedLists(std::string_view text) {
  NamedLists out{.name = NextWord(&text)};
  for (std::string word = NextWord(&text); !word.empty(); word = NextWord(&text)) {
    HR_ASSIGN_OR_RETURN(auto&& pair, SplitPair(word));
    for (const auto& known : out.lists) {
      if (known.first == pair.first) return InvalidArgument("'", pair.first, "' is given twice");
    }
    std::vector<double> numbers;
    HR_RETURN_IF_ERROR(ParseNumbers(pair.first, pair.second, &numbers));
    if (numbers.empty()) return InvalidArgument("'", pair.first, "' takes a number, got none");
    out.lists.emplace_back(std::move(pair.first), std::move(numbers));
  }
  return out;
}

Result<NamedNumbers> ParseNamedNumbers(std::string_view text) {
  NamedNumbers out{.name = NextWord(&text)};
  for (std::string word = NextWord(&text); !word.empty(); word = NextWord(&text)) {
    HR_ASSIGN_OR_RETURN(auto&& pair, SplitPair(word));
    double value;
    HR_RETURN_IF_ERROR(ParseNumber(pair.first, pair.second, &value));
    out.numbers.emplace_back(std::move(pair.first), value);
  }
  return out;
}

}  // namespace hr::transform
