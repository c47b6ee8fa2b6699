#include "runtime/base/json_writer.h"

#include <cmath>

namespace hr {
namespace {

void AppendQuoted(std::string* out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out->append("\\u00");
      out->push_back(kHex[(c >> 4) & 0xF]);
      out->push_back(kHex[c & 0xF]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

}  // namespace

void JsonWriter::Separate() {
  if (needs_comma_) text_.push_back(',');
  needs_comma_ = true;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_.push_back(bracket);
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_.push_back(bracket);
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  Separate();
  AppendQuoted(&text_, name);
  text_.push_back(':');
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Value(std::string_view text) {
  Separate();
  AppendQuoted(&text_, text);
  return *this;
}

JsonWriter& JsonWriter::Value(double value) {
  return std::isfinite(value) ? Raw(Cat(value)) : Null();
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  Separate();
  text_.append(json);
  return *this;
}

}  // namespace hr
