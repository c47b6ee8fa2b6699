// The library as the commands use it: its introspection as parsed JSON.
#pragma once

#include <headrace/headrace.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace headrace::tool {

using Json = nlohmann::ordered_json;

}  // namespace headrace::tool

// library.cc has all of its code, once.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace headrace::tool {

// Calls one of the library's functions whose last argument is a text, and parses what it gives.
template <typename... Parameters, typename... Arguments>
Json Described(hr_status* (*function)(Parameters...), Arguments... arguments) {
  hr_text* text;
  hr::check(function(arguments..., &text));
  return Json::parse(hr::detail::take(text));
}

// As Described, for text that is no JSON.
template <typename... Parameters, typename... Arguments>
std::string TextOf(hr_status* (*function)(Parameters...), Arguments... arguments) {
  hr_text* text;
  hr::check(function(arguments..., &text));
  return hr::detail::take(text);
}

// A struct of the library with its struct_size set and the rest zero.
template <typename T>
T Sized() {
  T out{};
  out.struct_size = sizeof out;
  return out;
}

}  // namespace headrace::tool
