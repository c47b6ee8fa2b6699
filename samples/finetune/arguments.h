// What the two programs of this sample do alike with their command lines.
#ifndef HEADRACE_SAMPLES_FINETUNE_ARGUMENTS_H_
#define HEADRACE_SAMPLES_FINETUNE_ARGUMENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

// Options and where their values go.
struct Arguments {
  const char* usage;
  std::map<std::string, std::string*> texts;
  std::map<std::string, int64_t*> numbers;  // of at least 1
  std::map<std::string, bool*> flags;
  std::vector<std::string>* others = nullptr;  // what is no option; nullptr: nothing else is taken
};

// Throws std::invalid_argument. With --help, prints the usage and ends the program.
void parse(int argc, char** argv, const Arguments& arguments);

// Does the work; returns the exit status of the program `name`, which says what went wrong.
int run_program(const char* name, const char* usage, const std::function<void()>& work);

#endif
