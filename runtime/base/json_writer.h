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

  JsonWriter& Key(const char* name);
  JsonWriter& Key(std::string_view name);
  JsonWriter& Value(std::string_view text);
  JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
  JsonWriter& Value(bool value);
  JsonWriter& Value(double value);  // null if JSON has no such number
  JsonWriter& Value(std::signed_integral auto value) { return Integer(value); }
  JsonWriter& Value(std::unsigned_integral auto value) { return Natural(value); }
  template <typename T>
  JsonWriter& Values(std::span<const T> items) {
    BeginArray();
    for (const T& item : items) Value(item);
    return EndArray();
  }
  JsonWriter& Null() { return Raw("null"); }
  // Text that is JSON already.
  JsonWriter& Raw(std::string_view json);

  // A key that the program knows, and its value: hundreds of places hand over one pointer.
  JsonWriter& Field(const char* name, std::string_view value);
  JsonWriter& Field(const char* name, const char* value);
  JsonWriter& Field(const char* name, bool value);
  JsonWriter& Field(const char* name, double value);
  JsonWriter& Field(const char* name, std::signed_integral auto value) {
    return Integer(name, value);
  }
  JsonWriter& Field(const char* name, std::unsigned_integral auto value) {
    return Natural(name, value);
  }

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  JsonWriter& Integer(int64_t value);
  JsonWriter& Natural(uint64_t value);
  JsonWriter& Integer(const char* name, int64_t value);
  JsonWriter& Natural(const char* name, uint64_t value);
  void Separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace hr
