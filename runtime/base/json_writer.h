// Writes JSON text for introspection. Commas are its business; nesting is the caller's.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Field("steps", 12);
//   json.Key("devices").BeginArray(); json.Value("CPU:0"); json.EndArray();
//   json.EndObject();
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/strings.h"

namespace hr {

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }

  JsonWriter& Key(std::string_view name);
  JsonWriter& Value(std::string_view text);
  JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
  JsonWriter& Value(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Value(double value);  // null where JSON has no such number
  template <std::integral T>
  JsonWriter& Value(T value) {
    return Raw(Cat(value));
  }
  template <typename T>
  JsonWriter& Values(std::span<const T> items) {
    BeginArray();
    for (const T& item : items) Value(item);
    return EndArray();
  }
  JsonWriter& Null() { return Raw("null"); }
  // Text that is JSON already.
  JsonWriter& Raw(std::string_view json);

  template <typename T>
  JsonWriter& Field(std::string_view name, const T& value) {
    return Key(name).Value(value);
  }

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace hr
