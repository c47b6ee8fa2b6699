// A process of this program that answers lines with lines.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace headrace::tool {

class Child {
 public:
  // Starts this program with `arguments`; `variables` (NAME=VALUE) stand before those of this
  // process. Throws Failure.
  Child(const std::vector<std::string>& arguments, const std::vector<std::string>& variables);
  // Ends its input, and waits for it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns the next line that it writes, without its end. Throws Failure if it ends instead.
  std::string Read();
  std::string Ask(const std::string& line);

 private:
  int Wait();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string read_;  // of lines to come
};

}  // namespace headrace::tool
