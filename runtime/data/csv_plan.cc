#include "runtime/data/csv_plan.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "runtime/base/errors.h"

namespace hr::data {
namespace {

struct CharName {
  std::string_view name;
  char c;
};
constexpr CharName kCharNames[] = {{"none", 0},        {"comma", ','},     {"tab", '\t'},
                                   {"semicolon", ';'}, {"pipe", '|'},      {"space", ' '},
                                   {"hash", '#'},      {"backslash", '\\'}};

Status ReadChar(Query& query, std::string_view key, char* c) {
  HR_ASSIGN_OR_RETURN(const std::string* text, query.Find(key));
  if (text == nullptr) return {};
  for (const CharName& known : kCharNames) {
    if (*text != known.name) continue;
    *c = known.c;
    return {};
  }
  if (text->size() == 1 && *text != "\n" && *text != "\r" && (*text)[0] != 0) {
    *c = (*text)[0];
    return {};
  }
  return InvalidArgument("expected one character, or a word such as tab, space or none, as '", key,
                         "', got '", *text, "'");
}

Status CheckDialect(const CsvDialect& dialect) {
  if (dialect.delimiter == 0) return InvalidArgument("'delimiter' cannot be none");
  const std::string all = {dialect.delimiter, dialect.quote, dialect.escape, dialect.comment,
                           dialect.point};
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0 && all.find(all[i], i + 1) != std::string::npos) {
      return InvalidArgument("'", all.substr(i, 1), "' cannot be two of delimiter, quote, escape, ",
                             "comment and decimal");
    }
  }
  return {};
}

bool ParseNumber(std::string_view text, size_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

Status NoColumn(std::string_view text, const std::vector<std::string>& names) {
  const std::string_view close = ClosestWord(text, names);
  return NotFound("no column '", text, "' (a name, a number from 0 to ", names.size() - 1,
                  ", or a range of numbers): there are", ListText(names),
                  close.empty() ? "" : Cat("; did you mean '", close, "'?"));
}

Result<size_t> FindColumn(std::string_view text, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  size_t number = 0;
  if (ParseNumber(text, &number) && number < names.size()) return number;
  return NoColumn(text, names);
}

// A column, or a range of them.
Status AddColumns(const std::string& text, const std::vector<std::string>& names,
                  std::vector<size_t>* places) {
  const size_t dash = text.find('-');
  size_t first = 0, last = 0;
  const bool range = std::ranges::find(names, text) == names.end() && dash != std::string::npos &&
                     ParseNumber(text.substr(0, dash), &first) &&
                     ParseNumber(text.substr(dash + 1), &last);
  if (!range) {
    HR_ASSIGN_OR_RETURN(first, FindColumn(text, names));
    last = first;
  }
  if (first > last || last >= names.size()) return NoColumn(text, names);
  for (; first <= last; ++first) places->push_back(first);
  return {};
}

// The places of the columns that are read, the label's at the end.
Result<std::vector<size_t>> PlacesOf(const CsvOptions& options,
                                     const std::vector<std::string>& names) {
  constexpr size_t kNone = SIZE_MAX;
  size_t label = kNone;
  if (!options.label.empty()) {
    HR_ASSIGN_OR_RETURN(label, FindColumn(options.label, names));
  }
  std::vector<size_t> places;
  for (const std::string& text : options.columns)
    HR_RETURN_IF_ERROR(AddColumns(text, names, &places));
  if (options.columns.empty()) {
    for (size_t i = 0; i < names.size(); ++i) places.push_back(i);
    std::erase(places, label);
  }
  if (label != kNone) places.push_back(label);
  std::vector<size_t> sorted = places;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return InvalidArgument("the column '", names[*twice], "' is asked for twice");
  if (places.empty()) return InvalidArgument("no column is left to be read");
  return places;
}

Result<std::map<size_t, CsvType>> TypesOf(const CsvOptions& options,
                                          const std::vector<std::string>& names) {
  std::map<size_t, CsvType> types;
  for (const std::string& text : options.types) {
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos)
      return InvalidArgument("expected COLUMN:TYPE as 'types', got '", text, "'");
    HR_ASSIGN_OR_RETURN(const size_t place, FindColumn(text.substr(0, colon), names));
    HR_ASSIGN_OR_RETURN(types[place], ParseCsvType(text.substr(colon + 1)));
  }
  return types;
}

Status SetMissing(const CsvOptions& options, CsvColumn* column) {
  if (options.missing.empty()) return {};
  column->missing.resize(DTypeSize(column->type.dtype));
  if (!column->type.categories.empty()) {
    std::ranges::fill(column->missing, std::byte{0xFF});  // -1
    return {};
  }
  if (column->type.Read(options.missing, '.', column->missing.data())) return {};
  return InvalidArgument("expected ", column->type.Expectation(), " as 'missing' for column '",
                         column->name, "', got '", options.missing, "'");
}

// Gives the column a field, or a place in the field `features`.
Status Place(bool own_field, std::string_view field_name, CsvColumn* column,
             std::vector<Field>* fields) {
  if (own_field || fields->empty()) {
    column->field = fields->size();
    fields->push_back({std::string(field_name), column->type.dtype, own_field ? Dims{} : Dims{1}});
    return {};
  }
  Field& features = fields->front();
  column->offset = static_cast<size_t>(features.dims[0]++) * DTypeSize(features.dtype);
  if (features.dtype == column->type.dtype) return {};
  return InvalidArgument("column '", column->name, "' is ", DTypeName(column->type.dtype),
                         ", others of the field 'features' are ", DTypeName(features.dtype),
                         "; say split=1 for a field for each column");
}

}  // namespace

Result<CsvOptions> ReadCsvOptions(Query& query) {
  CsvOptions options;
  CsvDialect& dialect = options.dialect;
  HR_RETURN_IF_ERROR(query.List("columns", &options.columns));
  HR_RETURN_IF_ERROR(query.Text("label", &options.label));
  HR_RETURN_IF_ERROR(query.Bool("split", &options.split));
  HR_RETURN_IF_ERROR(query.Text("type", &options.type));
  HR_RETURN_IF_ERROR(query.List("types", &options.types));
  HR_RETURN_IF_ERROR(query.Text("missing", &options.missing));
  HR_RETURN_IF_ERROR(query.List("na", &options.na));
  HR_RETURN_IF_ERROR(query.Bool("header", &options.header));
  HR_RETURN_IF_ERROR(query.Int("skip", &options.skip, 0));
  HR_RETURN_IF_ERROR(ReadChar(query, "delimiter", &dialect.delimiter));
  HR_RETURN_IF_ERROR(ReadChar(query, "quote", &dialect.quote));
  HR_RETURN_IF_ERROR(ReadChar(query, "escape", &dialect.escape));
  HR_RETURN_IF_ERROR(ReadChar(query, "comment", &dialect.comment));
  HR_RETURN_IF_ERROR(ReadChar(query, "decimal", &dialect.point));
  HR_RETURN_IF_ERROR(CheckDialect(dialect));
  return options;
}

Result<CsvPlan> MakeCsvPlan(const CsvOptions& options, const std::vector<std::string>& names) {
  HR_ASSIGN_OR_RETURN(const std::vector<size_t> places, PlacesOf(options, names));
  HR_ASSIGN_OR_RETURN(auto types, TypesOf(options, names));
  HR_ASSIGN_OR_RETURN(const CsvType common, ParseCsvType(options.type));
  CsvPlan plan = {.columns = {}, .fields = {}, .width = names.size()};
  const size_t labels = options.label.empty() ? 0 : 1;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool label = i + labels == places.size();
    CsvColumn column = {.place = places[i], .name = names[places[i]], .type = common};
    if (label) column.type = CsvType{.dtype = DType::kInt64, .categories = {}};
    if (const auto own = types.extract(places[i])) column.type = own.mapped();
    HR_RETURN_IF_ERROR(SetMissing(options, &column));
    const std::string field = label ? "labels" : options.split ? column.name : "features";
    HR_RETURN_IF_ERROR(Place(label || options.split, field, &column, &plan.fields));
    plan.columns.push_back(std::move(column));
  }
  if (!types.empty()) {
    return InvalidArgument("'types' names the column '", names[types.begin()->first],
                           "', which is not read");
  }
  std::ranges::sort(plan.columns, {}, &CsvColumn::place);
  return plan;
}

}  // namespace hr::data
