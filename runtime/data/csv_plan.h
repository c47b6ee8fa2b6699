// What is wanted of a CSV file: its dialect, which columns, and where their values go.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/csv_text.h"
#include "runtime/data/csv_value.h"
#include "runtime/data/dataset.h"
#include "runtime/data/query.h"

namespace hr::data {

// The keys of an address.
struct CsvOptions {
  CsvDialect dialect;
  bool header = true;                // the first row has the columns' names
  int64_t skip = 0;                  // lines before anything else
  std::vector<std::string> columns;  // names, numbers from 0, or ranges of numbers; empty: all
  std::string label;                 // the column of the field `labels`; empty: there is none
  bool split = false;                // a field for each column, instead of `features`
  std::string type = "float32";
  std::vector<std::string> types;  // NAME:TYPE
  std::string missing;             // the value of a missing field; empty: it is a failure
  std::vector<std::string> na;     // texts that stand for a missing value, beside none
};
Result<CsvOptions> ReadCsvOptions(Query& query);

// A column that is read.
struct CsvColumn {
  size_t place = 0;  // in a row
  std::string name;
  CsvType type;
  size_t field = 0;                // of the data set
  size_t offset = 0;               // of its value in the field, in bytes
  std::vector<std::byte> missing;  // the value of a missing one; empty: it is a failure
};

struct CsvPlan {
  std::vector<CsvColumn> columns;  // in the order of their places
  std::vector<Field> fields;
  size_t width = 0;  // fields of every row
};
// `names` are those of a row's fields.
Result<CsvPlan> MakeCsvPlan(const CsvOptions& options, const std::vector<std::string>& names);

}  // namespace hr::data
