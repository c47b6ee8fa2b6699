#include "tools/headrace/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>

#include "tools/headrace/errors.h"

namespace headrace::tool {

CLI::App* AddCommand(CLI::App& above, const std::string& name, const std::string& description,
                     const std::string& footer) {
  CLI::App* app = above.add_subcommand(name, description);
  app->footer(footer);
  return app;
}

void AddWord(CLI::App* app, const std::string& name, std::string& value, const std::string& help) {
  app->add_option(name, value, help)->required()->type_name("");
}

void AddWords(CLI::App* app, const std::string& name, std::vector<std::string>& values,
              const std::string& help) {
  app->add_option(name, values, help)->required()->type_name("");
}

CLI::Option* AddFlag(CLI::App* app, const std::string& name, bool& value, const std::string& help) {
  return app->add_flag(name, value, help);
}

CLI::Option* AddText(CLI::App* app, const std::string& name, std::string& value,
                     const std::string& type, const std::string& help) {
  return app->add_option(name, value, help)->type_name(type);
}

void AddRepeated(CLI::App* app, const std::string& name, std::vector<std::string>& values,
                 const std::string& type, const std::string& help) {
  app->add_option(name, values, help)->allow_extra_args(false)->type_name(type);
}

void AddList(CLI::App* app, const std::string& name, std::vector<std::string>& values,
             const std::string& type, const std::string& help) {
  app->add_option(name, values, help)->allow_extra_args(false)->delimiter(',')->type_name(type);
}

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

template CLI::Option* AddNumber(CLI::App*, const std::string&, int32_t&, int32_t,
                                const std::string&);
template CLI::Option* AddNumber(CLI::App*, const std::string&, int64_t&, int64_t,
                                const std::string&);
template CLI::Option* AddNumber(CLI::App*, const std::string&, uint32_t&, uint32_t,
                                const std::string&);
template CLI::Option* AddNumber(CLI::App*, const std::string&, uint64_t&, uint64_t,
                                const std::string&);

void AddSeconds(CLI::App* app, const std::string& name, double& value, bool zero_too,
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
  app->add_option(name, value, help)->type_name("SECONDS")->check(CLI::Validator(problem, ""));
}

void AllowOtherWords(CLI::App* app) { app->prefix_command(); }

std::vector<std::string> OtherWords(const CLI::App* app) { return app->remaining(); }

void Require(CLI::Option* option) { option->required(); }

void AllowOne(const std::vector<CLI::Option*>& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t j = i + 1; j < options.size(); ++j) options[i]->excludes(options[j]);
  }
}

uint64_t ParseBytes(const std::string& text, const std::string& option) {
  constexpr char kUnits[] = "KMGT";
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, number);
  int shift = 0;
  if (error == std::errc() && at + 1 == end) {
    const char* unit = std::find(kUnits, kUnits + 4, static_cast<char>(std::toupper(*at)));
    shift = unit == kUnits + 4 ? 0 : 10 * static_cast<int>(unit - kUnits + 1);
    if (shift > 0) ++at;
  }
  if (error != std::errc() || at != end || number == 0 || number > (uint64_t{1} << 50) >> shift) {
    throw UsageError(option + " expects bytes such as 8, 64K or 1G, got '" + text + "'");
  }
  return number << shift;
}

}  // namespace headrace::tool
