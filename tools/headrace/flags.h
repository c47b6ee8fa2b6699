// The options of a command line. Whoever adds some needs no more of CLI11 than these names, since
// its headers take seconds to compile.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headrace::tool {

// A command below `above`; `footer` ends its help.
CLI::App* AddCommand(CLI::App& above, const std::string& name, const std::string& description,
                     const std::string& footer);

// The values stand where the options are declared and must outlive `app`. Help shows `type` behind
// the name.

// A word without an option's name that must be given; in the second form one or more.
void AddWord(CLI::App* app, const std::string& name, std::string& value, const std::string& help);
void AddWords(CLI::App* app, const std::string& name, std::vector<std::string>& values,
              const std::string& help);

CLI::Option* AddFlag(CLI::App* app, const std::string& name, bool& value, const std::string& help);
CLI::Option* AddText(CLI::App* app, const std::string& name, std::string& value,
                     const std::string& type, const std::string& help);
// May be given several times, one value each.
void AddRepeated(CLI::App* app, const std::string& name, std::vector<std::string>& values,
                 const std::string& type, const std::string& help);
// As AddRepeated; each value may hold several, with commas between them.
void AddList(CLI::App* app, const std::string& name, std::vector<std::string>& values,
             const std::string& type, const std::string& help);
// A whole number from `least`, as digits; a sentence refuses all else.
template <typename T>
CLI::Option* AddNumber(CLI::App* app, const std::string& name, T& value,
                       std::type_identity_t<T> least, const std::string& help);
// Seconds: 0 or more, or only more.
void AddSeconds(CLI::App* app, const std::string& name, double& value, bool zero_too,
                const std::string& help);

// "8", "64K", "1M", "2G": bytes in powers of 1024. Throws UsageError naming `option`.
uint64_t ParseBytes(const std::string& text, const std::string& option);

// Leaves words that are no options of `app` to it: all from the first one that is none, if it does
// not begin with '-'.
void AllowOtherWords(CLI::App* app);
std::vector<std::string> OtherWords(const CLI::App* app);

// The command line must have it.
void Require(CLI::Option* option);
// At most one of them may be given.
void AllowOne(const std::vector<CLI::Option*>& options);

}  // namespace headrace::tool
