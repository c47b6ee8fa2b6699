#include "runtime/base/json_writer.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/utf8.h"

namespace hr {
namespace {

void AppendEscaped(std::string* out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
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

// Bytes that are no UTF-8, which JSON cannot hold, become the replacement character.
void AppendQuoted(std::string* out, std::string_view text) {
  out->push_back('"');
  while (!text.empty()) {
    size_t length = Utf8Length(text);
    if (length > 1) {
      out->append(text.substr(0, length));
    } else if (length == 0) {
      out->append("\\ufffd");
    } else {
      AppendEscaped(out, text[0]);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
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

JsonWriter& JsonWriter::Key(const char* name) { return Key(std::string_view(name)); }

JsonWriter& JsonWriter::Value(std::string_view text) {
  Separate();
  AppendQuoted(&text_, text);
  return *this;
}

JsonWriter& JsonWriter::Value(bool value) { return Raw(value ? "true" : "false"); }
JsonWriter& JsonWriter::Integer(int64_t value) { return Raw(Cat(value)); }
JsonWriter& JsonWriter::Natural(uint64_t value) { return Raw(Cat(value)); }

JsonWriter& JsonWriter::Field(const char* name, std::string_view value) {
  return Key(name).Value(value);
}
JsonWriter& JsonWriter::Field(const char* name, const char* value) {
  return Key(name).Value(value);
}
JsonWriter& JsonWriter::Field(const char* name, bool value) { return Key(name).Value(value); }
JsonWriter& JsonWriter::Field(const char* name, double value) { return Key(name).Value(value); }
JsonWriter& JsonWriter::Integer(const char* name, int64_t value) {
  return Key(name).Integer(value);
}
JsonWriter& JsonWriter::Natural(const char* name, uint64_t value) {
  return Key(name).Natural(value);
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
