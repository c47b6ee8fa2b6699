#include "runtime/format/side_file.h"

#include "runtime/base/errors.h"

namespace hr::format {

Status CheckSideFileName(std::string_view name) {
  auto refuse = [&](std::string_view why) {
    return InvalidArgument("the side file's name '", name, "' ", why,
                           "; expected a path relative to the graph file, such as 'weights.bin'");
  };
  if (name.find_first_of(std::string_view("\\:\0", 3)) != std::string_view::npos) {
    return refuse("has a backslash, a colon or a zero byte");
  }
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) return refuse("is empty, absolute, or has an empty part");
    if (part == "." || part == "..") return refuse("has a part '.' or '..'");
    begin = end + 1;
  }
  return {};
}

}  // namespace hr::format
