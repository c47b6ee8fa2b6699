// Options that take numbers; a wrong value is refused with a sentence that says what is expected.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace headrace::tool {

// A whole number from `least`, as digits.
template <typename T>
CLI::Option* AddNumber(CLI::App* app, const std::string& name, T& value,
                       std::type_identity_t<T> least, const std::string& help) {
  auto problem = [least](std::string& text) -> std::string {
    T number{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = end == text.data() + text.size();
    if (error == std::errc() && whole && number >= least) {
      text = std::to_string(number);  // CLI11 would take a leading 0 for octal
      return "";
    }
    const bool large = error == std::errc::result_out_of_range && whole && text[0] != '-';
    return "expected a whole number from " + std::to_string(least) +
           (large ? " to " + std::to_string(std::numeric_limits<T>::max()) : "") + ", got " + text;
  };
  return app->add_option(name, value, help)->type_name("N")->transform(CLI::Validator(problem, ""));
}

// Seconds: 0 or more, or only more.
inline CLI::Option* AddSeconds(CLI::App* app, const std::string& name, double& value, bool zero_too,
                               const std::string& help) {
  auto problem = [zero_too](std::string& text) -> std::string {
    double number{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool read = error == std::errc() && end == text.data() + text.size();
    constexpr double kMost = 1e6;
    if (read && number <= kMost && (number > 0 || (zero_too && number == 0))) return "";
    return std::string("expected seconds ") + (zero_too ? "from" : "above") +
           " 0 to 1000000, got " + text;
  };
  return app->add_option(name, value, help)
      ->type_name("SECONDS")
      ->check(CLI::Validator(problem, ""));
}

}  // namespace headrace::tool
