#include "tools/headrace/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "tools/headrace/errors.h"

namespace headrace::tool {
namespace {

[[noreturn]] void CannotWrite(const std::string& what) {
  throw Failure("cannot write " + what + ": " + std::strerror(errno));
}

// Columns that UTF-8 text takes: its bytes but for those that go on a character.
size_t Columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void Print(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int written = std::vprintf(format, arguments);
  va_end(arguments);
  if (written < 0) CannotWrite("to standard output");
}

void FinishOutput() {
  if (std::fflush(stdout) != 0) CannotWrite("to standard output");
}

void WriteText(const std::string& path, const std::string& text) {
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      CannotWrite("to standard output");
    FinishOutput();
    return;
  }
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) CannotWrite("'" + path + "'");
  bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  bool closed = std::fclose(file) == 0;
  if (!written || !closed) CannotWrite("'" + path + "'");
}

void WriteJson(const std::string& path, const Json& json) { WriteText(path, json.dump(2) + "\n"); }

std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  size_t first = number < 0 ? 1 : 0;
  for (size_t i = text.size(); i > first + 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string CountText(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string BytesText(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s",
                value < 10    ? 2
                : value < 100 ? 1
                              : 0,
                value, units[unit]);
  return text;
}

std::string DimsText(const Json& dims) {
  if (dims.is_null()) return " of unknown rank";
  std::string out = "[";
  for (const Json& dim : dims) {
    if (out.size() > 1) out += ", ";
    out += dim.is_null() ? "?" : dim.is_string() ? dim.get<std::string>() : dim.dump();
  }
  return out + "]";
}

void PrintTable(const std::vector<std::vector<std::string>>& rows, int indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  for (const auto& row : rows) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - Columns(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    Print("%s\n", line.c_str());
  }
}

}  // namespace headrace::tool
