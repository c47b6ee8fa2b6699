#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/csv_plan.h"
#include "runtime/data/csv_text.h"
#include "runtime/data/decimal.h"
#include "runtime/data/formats.h"
#include "runtime/data/offset_index.h"
#include "runtime/data/places.h"

namespace hr::data {
namespace {

// After so many bytes, memory of what was walked through is given back.
constexpr size_t kWindow = size_t{64} << 20;
constexpr size_t kPart = size_t{1} << 20;  // in which a thread looks for rows at once
constexpr int64_t kNanosPerValue = 12;
// The most cache lines of a row that are fetched ahead; the processor sees for itself that more are
// wanted.
constexpr size_t kMostLines = 16;

// A file that is mapped, and where its rows begin.
class CsvFile {
 public:
  // Names of the columns come from the first row, and are numbers without a header.
  static Result<std::unique_ptr<CsvFile>> Open(const std::string& path, const CsvOptions& options,
                                               ThreadBudget* threads, const CallLimits& limits);

  const CsvText& text() const { return text_; }
  const std::vector<std::string>& names() const { return names_; }
  int64_t rows() const { return index_.count(); }
  // Where a row begins.
  Result<const char*> Row(int64_t row) const;
  void ExpectPlace(int64_t row) const { index_.Expect(row); }
  // Hints that it will be read, if its place is known without reading the file.
  void Expect(int64_t row) const {
    const OffsetIndex::Place place = index_.Before(row);
    if (place.item != row) return;
    for (size_t i = 0; i < lines_; ++i) __builtin_prefetch(text_.begin() + place.offset + 64 * i);
  }

 private:
  CsvFile(MappedFile file, const CsvOptions& options, const std::string& path)
      : file_(std::move(file)), text_(AsText(file_.bytes()), options.dialect, path) {}
  Result<const char*> ReadNames(const CsvOptions& options);
  // The rows that begin in a part of the text.
  struct Part {
    const char* begin = nullptr;
    const char* until = nullptr;
    const char* next = nullptr;  // the first row behind them
    std::vector<uint64_t> offsets;
    Status status;
  };
  Status Index(const char* row, ThreadBudget* threads, const CallLimits& limits);
  void Divide(const char* row, std::span<Part> parts) const;
  void FindRows(Part& part) const;

  const MappedFile file_;
  const CsvText text_;
  std::vector<std::string> names_;
  OffsetIndex index_;
  size_t lines_ = 0;  // that a row of usual length touches
};

Result<std::unique_ptr<CsvFile>> CsvFile::Open(const std::string& path, const CsvOptions& options,
                                               ThreadBudget* threads, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  std::unique_ptr<CsvFile> file(new CsvFile(std::move(mapped), options, path));
  HR_ASSIGN_OR_RETURN(const char* first, file->ReadNames(options));
  HR_RETURN_IF_ERROR(file->Index(first, threads, limits));
  return file;
}

Result<const char*> CsvFile::ReadNames(const CsvOptions& options) {
  const std::string_view all = AsText(file_.bytes());
  if (all.starts_with("\xFF\xFE") || all.starts_with("\xFE\xFF"))
    return text_.Fault(text_.begin(), "the text is UTF-16; convert it to UTF-8");
  const char* p = text_.begin() + (all.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  for (int64_t i = 0; i < options.skip; ++i) {
    p = std::find(p, text_.end(), '\n');
    if (p != text_.end()) ++p;
  }
  p = text_.SkipBlank(p);
  if (p == text_.end()) return text_.Fault(p, "the file has no rows");
  HR_ASSIGN_OR_RETURN(names_, text_.ReadRow(p));
  if (options.header) {
    HR_ASSIGN_OR_RETURN(p, text_.AfterRow(p));
    return text_.SkipBlank(p);
  }
  for (size_t i = 0; i < names_.size(); ++i) names_[i] = Cat(i);
  return p;
}

// Neighbours, each of which begins with a line.
void CsvFile::Divide(const char* row, std::span<Part> parts) const {
  for (Part& part : parts) {
    part.begin = row;
    const size_t left = static_cast<size_t>(text_.end() - row);
    row = left <= kPart ? text_.end() : std::find(row + kPart, text_.end(), '\n');
    if (row != text_.end()) row = text_.SkipBlank(row);
    part.until = row;
  }
}

void CsvFile::FindRows(Part& part) const {
  part.offsets.clear();
  part.next = part.begin;
  while (part.next < part.until) {
    part.offsets.push_back(static_cast<uint64_t>(part.next - text_.begin()));
    auto next = text_.AfterRow(part.next);
    if (!next.ok()) {
      part.status = std::move(next).status();
      return;
    }
    part.next = text_.SkipBlank(*next);
  }
}

// Threads look for the rows of neighbouring parts at once. A part that begins within quotes is
// found by the one before, which ends behind its beginning; then one thread goes on alone, so that
// little is looked at twice.
Status CsvFile::Index(const char* row, ThreadBudget* threads, const CallLimits& limits) {
  std::vector<Part> parts(threads == nullptr ? 1 : static_cast<size_t>(threads->total()));
  const char* window = text_.begin();
  while (row != text_.end()) {
    Divide(row, parts);
    const int tasks = static_cast<int>(
        std::ranges::count_if(parts, [](const Part& part) { return part.begin != part.until; }));
    Lease lease;
    if (tasks > 1) {
      HR_ASSIGN_OR_RETURN(lease, threads->Acquire(tasks, limits));
    }
    lease.ParallelFor(tasks, [&](int task) { FindRows(parts[static_cast<size_t>(task)]); });
    for (Part& part : std::span(parts).first(static_cast<size_t>(tasks))) {
      if (part.begin != row) {
        parts.resize(1);
        break;
      }
      HR_RETURN_IF_ERROR(std::move(part.status));
      for (const uint64_t offset : part.offsets) index_.Add(offset);
      row = part.next;
    }
    HR_RETURN_IF_ERROR(limits.Check());
    if (static_cast<size_t>(row - window) < kWindow) continue;
    file_.Forget(static_cast<size_t>(window - text_.begin()), static_cast<size_t>(row - window));
    window = row;
  }
  const size_t rows = static_cast<size_t>(std::max<int64_t>(index_.count(), 1));
  lines_ = std::min(file_.bytes().size() / rows / 64 + 2, kMostLines);
  return {};
}

Result<const char*> CsvFile::Row(int64_t row) const {
  const OffsetIndex::Place place = index_.Before(row);
  const char* p = text_.begin() + place.offset;
  for (int64_t i = place.item; i < row; ++i) {
    HR_ASSIGN_OR_RETURN(p, text_.AfterRow(p));
    p = text_.SkipBlank(p);
  }
  return p;
}

// Whether no character of the dialect can be one of a number.
bool StandBesideNumbers(const CsvDialect& dialect) {
  const std::string_view all = "0123456789+-.eE";
  return std::ranges::none_of(
      std::initializer_list<char>{dialect.delimiter, dialect.quote, dialect.escape},
      [&](char c) { return all.find(c) != std::string_view::npos; });
}

class CsvSource final : public RowSource {
 public:
  CsvSource(std::vector<std::unique_ptr<CsvFile>> files, CsvPlan plan, CsvOptions options,
            std::string identity, ThreadBudget* threads)
      : RowSource(plan.fields, RowsOf(files), threads,
                  static_cast<int64_t>(plan.width) * kNanosPerValue),
        files_(std::move(files)),
        plan_(std::move(plan)),
        options_(std::move(options)),
        identity_(std::move(identity)) {}

  Status ReadRow(int64_t row, std::span<std::byte* const> to) const override;
  void ExpectPlace(int64_t row) const override { FileOf(&row).ExpectPlace(row); }
  void Expect(int64_t row) const override { FileOf(&row).Expect(row); }
  std::string Identity() const override { return identity_; }

 private:
  static int64_t RowsOf(const std::vector<std::unique_ptr<CsvFile>>& files) {
    int64_t rows = 0;
    for (const auto& file : files) rows += file->rows();
    return rows;
  }
  // The file of a row, which becomes its place there.
  const CsvFile& FileOf(int64_t* row) const {
    size_t i = 0;
    for (; *row >= files_[i]->rows(); ++i) *row -= files_[i]->rows();
    return *files_[i];
  }
  // Read the value of a column that begins at `p`, and return where the field ends. The first
  // returns null for what is left to the second.
  const char* ReadQuickly(const CsvText& text, const CsvColumn& column, const char* p,
                          std::byte* to) const;
  Result<const char*> ReadSlowly(const CsvText& text, const CsvColumn& column, const char* p,
                                 std::byte* to) const;
  bool IsMissing(std::string_view value) const {
    return value.empty() || std::ranges::find(options_.na, value) != options_.na.end();
  }
  Status WrongWidth(const CsvText& text, const char* row, size_t found) const;

  const std::vector<std::unique_ptr<CsvFile>> files_;
  const CsvPlan plan_;
  const CsvOptions options_;
  const std::string identity_;
  // Otherwise a number might stand for a missing value, or go on behind a delimiter.
  const bool quick_ = options_.na.empty() && StandBesideNumbers(options_.dialect);
};

template <typename T>
const char* ReadFloat(const CsvText& text, const char* p, std::byte* to) {
  T value;
  const bool quoted = text.OpensQuotes(p);
  const char* end = QuickFloat(quoted ? p + 1 : p, text.end(), text.dialect().point, &value);
  if (end != nullptr && quoted) end = text.OpensQuotes(end) ? end + 1 : nullptr;
  if (end == nullptr || !text.EndsField(end)) return nullptr;
  std::memcpy(to, &value, sizeof value);
  return end;
}

const char* CsvSource::ReadQuickly(const CsvText& text, const CsvColumn& column, const char* p,
                                   std::byte* to) const {
  if (column.type.dtype == DType::kFloat32 && quick_) return ReadFloat<float>(text, p, to);
  if (column.type.dtype == DType::kFloat64 && quick_) return ReadFloat<double>(text, p, to);
  return nullptr;
}

Result<const char*> CsvSource::ReadSlowly(const CsvText& text, const CsvColumn& column,
                                          const char* p, std::byte* to) const {
  HR_ASSIGN_OR_RETURN(const CsvField field, text.ReadField(p));
  const std::string plain = field.escaped ? text.TextOf(field) : std::string();
  const std::string_view value = field.escaped ? plain : std::string_view(field.begin, field.end);
  if (!IsMissing(value)) {
    if (column.type.Read(value, text.dialect().point, to)) return field.next;
    return text.Fault(p, "expected ", column.type.Expectation(), " in column '", column.name,
                      "', found '", value.substr(0, 100), "'");
  }
  if (column.missing.empty()) {
    return text.Fault(p, "column '", column.name,
                      "' has no value here; say missing=VALUE, such as ",
                      "missing=nan, to read on");
  }
  std::ranges::copy(column.missing, to);
  return field.next;
}

Status CsvSource::WrongWidth(const CsvText& text, const char* row, size_t found) const {
  return text.Fault(row, "expected ", plan_.width, " fields, as in the first row, found ", found);
}

Status CsvSource::ReadRow(int64_t row, std::span<std::byte* const> to) const {
  const CsvFile& file = FileOf(&row);
  const CsvText& text = file.text();
  HR_ASSIGN_OR_RETURN(const char* const begin, file.Row(row));
  const char* p = begin;
  const CsvColumn* column = plan_.columns.data();
  const CsvColumn* const last = column + plan_.columns.size();
  for (size_t place = 0;; ++place) {
    if (column != last && column->place == place) {
      std::byte* const value = to[column->field] + column->offset;
      const char* end = ReadQuickly(text, *column, p, value);
      if (end == nullptr) {
        HR_ASSIGN_OR_RETURN(end, ReadSlowly(text, *column, p, value));
      }
      p = end;
      ++column;
    } else {
      HR_ASSIGN_OR_RETURN(p, text.AfterField(p));
    }
    const bool ends = text.EndsRow(p);
    if (ends && place + 1 == plan_.width) return {};
    if (ends || place + 1 == plan_.width) break;
    ++p;
  }
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> all, text.ReadRow(begin));
  return WrongWidth(text, begin, all.size());
}

Status CheckSameNames(const CsvFile& first, const CsvFile& other) {
  if (first.names() == other.names()) return {};
  return other.text().Fault(other.text().begin(), "its columns are ", Join(other.names()),
                            ", those of the first file ", Join(first.names()));
}

}  // namespace

Result<SourceRef> OpenCsv(const std::string& path, Query& query, const DatasetOptions& options) {
  HR_ASSIGN_OR_RETURN(CsvOptions csv, ReadCsvOptions(query));
  HR_RETURN_IF_ERROR(query.CheckKnown());
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindFiles(path, options));
  std::vector<std::unique_ptr<CsvFile>> files;
  for (const std::string& one : paths) {
    HR_ASSIGN_OR_RETURN(files.emplace_back(), CsvFile::Open(one, csv, options.threads(), {}));
    HR_RETURN_IF_ERROR(CheckSameNames(*files.front(), *files.back()));
  }
  HR_ASSIGN_OR_RETURN(CsvPlan plan, MakeCsvPlan(csv, files.front()->names()));
  HR_ASSIGN_OR_RETURN(std::string identity, FilesIdentity(paths, query));
  return SourceRef(new CsvSource(std::move(files), std::move(plan), std::move(csv),
                                 std::move(identity), options.threads()));
}

}  // namespace hr::data
