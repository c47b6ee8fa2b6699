#include "arguments.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace {

int64_t number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value < 1) {
    throw std::invalid_argument(option + " expects a number of at least 1, got '" + text + "'");
  }
  return value;
}

}  // namespace

void parse(int argc, char** argv, const Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto text = arguments.texts.find(word);
    const auto count = arguments.numbers.find(word);
    const bool has_value = text != arguments.texts.end() || count != arguments.numbers.end();
    if (has_value && ++i == argc) {
      throw std::invalid_argument(word + " expects a value, got nothing");
    }
    if (word == "--help") {
      std::fputs(arguments.usage, stdout);
      std::exit(0);
    } else if (text != arguments.texts.end()) {
      *text->second = argv[i];
    } else if (count != arguments.numbers.end()) {
      *count->second = number(word, argv[i]);
    } else if (arguments.flags.count(word) != 0) {
      *arguments.flags.at(word) = true;
    } else if (word.rfind("--", 0) == 0) {
      throw std::invalid_argument("unknown option '" + word + "'");
    } else if (arguments.others == nullptr) {
      throw std::invalid_argument("expected options only, got '" + word + "'");
    } else {
      arguments.others->push_back(word);
    }
  }
}

int run_program(const char* name, const char* usage, const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n%s", name, error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}
