// Writing results: text for people on standard output, JSON if it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/headrace/library.h"

namespace headrace::tool {

// printf to standard output.
__attribute__((format(printf, 1, 2))) void Print(const char* format, ...);
// Throws Failure if what was printed could not be written, e.g. on a full disk.
void FinishOutput();

// Writes to the file `path`, or to standard output if it is "-".
void WriteText(const std::string& path, const std::string& text);
// The same, indented, with a line end.
void WriteJson(const std::string& path, const Json& json);

// "1,773,736"
std::string Grouped(int64_t number);
// "1 node", "50 nodes"
std::string CountText(size_t count, const char* what);
// "1.69 MiB", "417 bytes"
std::string BytesText(uint64_t bytes);
// "[20, 1, 5, 5]"; names of dimensions as they are, "?" for unknown ones, "of unknown rank".
std::string DimsText(const Json& dims);
// Rows of cells as aligned columns after `indent` spaces; the last one is not padded.
void PrintTable(const std::vector<std::vector<std::string>>& rows, int indent);

}  // namespace headrace::tool
