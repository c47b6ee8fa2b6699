// The rows and fields of a CSV file (RFC 4180, and the dialects that programs write).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/errors.h"

namespace hr::data {

struct CsvDialect {
  char delimiter = ',';
  char quote = '"';  // 0: none
  char escape = 0;   // takes its special meaning from the character behind it; 0: none
  char comment = 0;  // rows that begin with it are left out; 0: none
  char point = '.';  // of numbers
};

// A field, and what stands around it.
struct CsvField {
  const char* begin = nullptr;  // behind the opening quote, if there is one
  const char* end = nullptr;
  const char* next =
      nullptr;  // behind the field and its quotes: a delimiter, a line end or the end
  bool quoted = false;
  bool escaped = false;  // has doubled quotes or escapes
};

// The text of one file. It must outlive the object. Rows end with \n or \r\n; a quoted field may
// hold line ends. Rows without any character and comments are left out.
class CsvText {
 public:
  CsvText(std::string_view text, const CsvDialect& dialect, std::string name)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        dialect_(dialect),
        name_(std::move(name)) {}

  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  const CsvDialect& dialect() const { return dialect_; }

  // Returns where the first row at or behind `p`, which begins a line, begins; end() if none does.
  const char* SkipBlank(const char* p) const;
  // Returns where the line behind the row at `row` begins. Checks the quotes of the row.
  Result<const char*> AfterRow(const char* row) const;

  // Reads the field that begins at `p`.
  Result<CsvField> ReadField(const char* p) const;
  // Returns where the field that begins at `p` ends, in a row whose quotes were checked.
  Result<const char*> AfterField(const char* p) const;
  bool EndsRow(const char* p) const {
    return p == end_ || *p == '\n' || (*p == '\r' && (p + 1 == end_ || p[1] == '\n'));
  }
  bool EndsField(const char* p) const {
    return p == end_ || *p == dialect_.delimiter || EndsRow(p);
  }
  // Whether a field with quotes begins at `p`.
  bool OpensQuotes(const char* p) const {
    return dialect_.quote != 0 && p != end_ && *p == dialect_.quote;
  }
  // Returns the text of a field without quotes and escapes.
  std::string TextOf(const CsvField& field) const;
  // Reads the fields of a row.
  Result<std::vector<std::string>> ReadRow(const char* row) const;

  // DATA_LOSS that begins with the file, the line and the column of `p`.
  template <typename... Pieces>
  Status Fault(const char* p, const Pieces&... pieces) const {
    return DataLoss(Where(p), pieces...);
  }
  std::string Where(const char* p) const;

 private:
  Result<CsvField> ReadQuoted(const char* p) const;
  // Returns where the field at `p` ends; null for what is left to ReadField: escapes and faults.
  const char* QuickEnd(const char* p) const;
  const char* PlainEnd(const char* p) const;  // of a field without quotes

  const char* begin_;
  const char* end_;
  CsvDialect dialect_;
  std::string name_;
};

}  // namespace hr::data
