#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/formats.h"
#include "runtime/data/offset_index.h"
#include "runtime/data/places.h"
#include "runtime/data/tokenizer.h"

namespace hr::data {
namespace {

// After so many bytes, memory of what was walked through is given back.
constexpr size_t kWindow = size_t{64} << 20;
constexpr int64_t kNanosPerToken = 5;

struct TextOptions {
  int64_t length = 128;  // tokens of an example
  int64_t stride = 0;    // from the beginning of a window to that of the next; 0: length
  bool lines = false;    // an example is a line, and no window
  int64_t pad = 0;       // behind the tokens of a line
  Tokenizer::Kind kind = Tokenizer::Kind::kBytes;
  std::string vocabulary;  // a file
  int64_t unknown = Tokenizer::kNone;
};

Result<TextOptions> ReadTextOptions(Query& query) {
  TextOptions options;
  size_t kind = 0, unit = 0;
  HR_RETURN_IF_ERROR(query.Choice("unit", {"window", "line"}, &unit));
  HR_RETURN_IF_ERROR(query.Choice("tokens", {"bytes", "pieces", "words"}, &kind));
  HR_RETURN_IF_ERROR(query.Int("length", &options.length, 1));
  HR_RETURN_IF_ERROR(query.Int("stride", &options.stride, 1));
  HR_RETURN_IF_ERROR(query.Int("pad", &options.pad));
  HR_RETURN_IF_ERROR(query.Text("vocabulary", &options.vocabulary));
  HR_RETURN_IF_ERROR(query.Int("unknown", &options.unknown, 0));
  options.kind = static_cast<Tokenizer::Kind>(kind);
  options.lines = unit == 1;
  constexpr int64_t kMost = int64_t{1} << 32;
  if (options.length > kMost || options.stride > kMost)
    return InvalidArgument("expected at most ", kMost, " as 'length' and 'stride'");
  if (options.stride == 0) options.stride = options.length;
  if ((options.kind == Tokenizer::Kind::kBytes) == options.vocabulary.empty()) return options;
  return InvalidArgument("tokens=pieces and tokens=words, and no others, need a 'vocabulary'");
}

// A file that is mapped, with its tokens.
class TextFile {
 public:
  TextFile(MappedFile file, std::string path, const Tokenizer& tokenizer)
      : file_(std::move(file)), path_(std::move(path)), tokenizer_(tokenizer) {}

  // Finds the examples.
  Status IndexWindows(const TextOptions& options);
  void IndexLines();
  int64_t examples() const { return examples_; }

  // Writes up to `count` tokens of an example; `*written` says how many there were.
  Status ReadWindow(int64_t window, int64_t stride, std::span<int64_t> tokens) const;
  Status ReadLine(int64_t line, std::span<int64_t> tokens, int64_t* written) const;

 private:
  const char* begin() const { return AsText(file_.bytes()).data(); }
  const char* end() const { return begin() + file_.bytes().size(); }
  // Takes the next token before `end`, or returns null at the end.
  Result<const char*> Take(const char* p, const char* end, int64_t* token) const;
  // Where the next line begins that is not empty.
  const char* SkipEmpty(const char* p) const {
    return std::find_if(p, end(), [](char c) { return c != '\n' && c != '\r'; });
  }
  const char* LineEnd(const char* p) const {
    const void* found = std::memchr(p, '\n', static_cast<size_t>(end() - p));
    return found == nullptr ? end() : static_cast<const char*>(found);
  }
  void Forget(const char* p, const char** window) const;

  const MappedFile file_;
  const std::string path_;
  const Tokenizer& tokenizer_;
  OffsetIndex index_;
  int64_t examples_ = 0;
  bool computed_ = false;  // where windows begin follows from their numbers
};

Result<const char*> TextFile::Take(const char* p, const char* end, int64_t* token) const {
  const char* at = p;
  const char* after = tokenizer_.Next(p, end, token, &at);
  if (after != nullptr || *token == Tokenizer::kNone) return after;
  const auto line = std::count(begin(), at, '\n') + 1;
  const char* start = at;
  while (start != begin() && start[-1] != '\n') --start;
  const std::string_view text(at, static_cast<size_t>(std::min<ptrdiff_t>(end - at, 20)));
  return DataLoss("'", path_, "', line ", line, ", column ", at - start + 1,
                  ": the vocabulary has nothing for '", text.substr(0, text.find('\n')),
                  "'; say unknown=TOKEN for such text");
}

void TextFile::Forget(const char* p, const char** window) const {
  if (static_cast<size_t>(p - *window) < kWindow) return;
  file_.Forget(static_cast<size_t>(*window - begin()), static_cast<size_t>(p - *window));
  *window = p;
}

Status TextFile::IndexWindows(const TextOptions& options) {
  int64_t tokens = 0;
  computed_ = options.kind == Tokenizer::Kind::kBytes;
  if (computed_) {
    tokens = end() - begin();
  } else {
    const char* window = begin();
    for (const char* p = begin();; ++tokens) {
      int64_t token;
      HR_ASSIGN_OR_RETURN(const char* after, Take(p, end(), &token));
      if (after == nullptr) break;
      if (tokens % options.stride == 0) index_.Add(static_cast<uint64_t>(p - begin()));
      p = after;
      Forget(p, &window);
    }
  }
  // The last window has a target behind its last token.
  const int64_t spare = tokens - options.length - 1;
  examples_ = spare < 0 ? 0 : spare / options.stride + 1;
  return {};
}

void TextFile::IndexLines() {
  const char* window = begin();
  for (const char* p = SkipEmpty(begin()); p != end(); p = SkipEmpty(LineEnd(p))) {
    index_.Add(static_cast<uint64_t>(p - begin()));
    Forget(p, &window);
  }
  examples_ = index_.count();
}

Status TextFile::ReadWindow(int64_t window, int64_t stride, std::span<int64_t> tokens) const {
  OffsetIndex::Place place = {window, static_cast<uint64_t>(window * stride)};
  if (!computed_) place = index_.Before(window);
  const char* p = begin() + place.offset;
  int64_t token = 0;
  for (int64_t skip = (window - place.item) * stride; skip > 0; --skip) {
    HR_ASSIGN_OR_RETURN(p, Take(p, end(), &token));
  }
  for (int64_t& to : tokens) {
    HR_ASSIGN_OR_RETURN(p, Take(p, end(), &to));
  }
  return {};
}

Status TextFile::ReadLine(int64_t line, std::span<int64_t> tokens, int64_t* written) const {
  const OffsetIndex::Place place = index_.Before(line);
  const char* p = begin() + place.offset;
  for (int64_t i = place.item; i < line; ++i) p = SkipEmpty(LineEnd(p));
  const char* last = LineEnd(p);
  if (last != p && last[-1] == '\r') --last;
  for (*written = 0; *written < static_cast<int64_t>(tokens.size()); ++*written) {
    int64_t token;
    HR_ASSIGN_OR_RETURN(p, Take(p, last, &token));
    if (p == nullptr) break;
    tokens[static_cast<size_t>(*written)] = token;
  }
  return {};
}

std::vector<Field> FieldsOf(const TextOptions& options) {
  std::vector<Field> fields = {{"tokens", DType::kInt64, {options.length}}};
  if (options.lines) {
    fields.push_back({"lengths", DType::kInt64, {}});
  } else {
    fields.push_back({"targets", DType::kInt64, {options.length}});
  }
  return fields;
}

class TextSource final : public RowSource {
 public:
  using Files = std::vector<std::unique_ptr<TextFile>>;

  TextSource(Files files, std::unique_ptr<Tokenizer> tokenizer, const TextOptions& options,
             std::string identity, ThreadBudget* threads)
      : RowSource(FieldsOf(options), ExamplesOf(files), threads, options.length * kNanosPerToken),
        tokenizer_(std::move(tokenizer)),
        files_(std::move(files)),
        options_(options),
        identity_(std::move(identity)) {}

  Status ReadRow(int64_t row, std::span<std::byte* const> to) const override {
    size_t i = 0;
    for (; row >= files_[i]->examples(); ++i) row -= files_[i]->examples();
    auto* tokens = reinterpret_cast<int64_t*>(to[0]);
    auto* second = reinterpret_cast<int64_t*>(to[1]);
    const size_t length = static_cast<size_t>(options_.length);
    if (options_.lines) {
      HR_RETURN_IF_ERROR(files_[i]->ReadLine(row, {tokens, length}, second));
      std::fill(tokens + *second, tokens + length, options_.pad);
      return {};
    }
    std::vector<int64_t> window(length + 1);
    HR_RETURN_IF_ERROR(files_[i]->ReadWindow(row, options_.stride, window));
    std::copy(window.begin(), window.end() - 1, tokens);
    std::copy(window.begin() + 1, window.end(), second);
    return {};
  }
  std::string Identity() const override { return identity_; }

 private:
  static int64_t ExamplesOf(const Files& files) {
    int64_t examples = 0;
    for (const auto& file : files) examples += file->examples();
    return examples;
  }

  const std::unique_ptr<Tokenizer> tokenizer_;  // the files refer to it
  const Files files_;
  const TextOptions options_;
  const std::string identity_;
};

constexpr size_t kMostVocabulary = size_t{256} << 20;

Result<std::unique_ptr<Tokenizer>> LoadTokenizer(const TextOptions& text,
                                                 const DatasetOptions& options,
                                                 std::vector<std::string>* files) {
  std::string vocabulary;
  if (!text.vocabulary.empty()) {
    HR_ASSIGN_OR_RETURN(files->emplace_back(), FindPlace(text.vocabulary, options));
    HR_ASSIGN_OR_RETURN(vocabulary, ReadFile(files->back(), kMostVocabulary));
  }
  auto tokenizer = Tokenizer::Create(text.kind, vocabulary, text.unknown);
  if (!tokenizer.ok())
    return std::move(tokenizer).status().WithContext(Cat("'", files->back(), "'"));
  return std::make_unique<Tokenizer>(*std::move(tokenizer));
}

Result<std::unique_ptr<TextFile>> OpenFile(const std::string& path, const TextOptions& options,
                                           const Tokenizer& tokenizer) {
  HR_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  auto file = std::make_unique<TextFile>(std::move(mapped), path, tokenizer);
  if (options.lines) {
    file->IndexLines();
  } else {
    HR_RETURN_IF_ERROR(file->IndexWindows(options));
  }
  return file;
}

}  // namespace

Result<SourceRef> OpenText(const std::string& path, Query& query, const DatasetOptions& options) {
  HR_ASSIGN_OR_RETURN(const TextOptions text, ReadTextOptions(query));
  HR_RETURN_IF_ERROR(query.CheckKnown());
  HR_ASSIGN_OR_RETURN(std::vector<std::string> paths, FindFiles(path, options));
  const size_t count = paths.size();
  HR_ASSIGN_OR_RETURN(auto tokenizer, LoadTokenizer(text, options, &paths));
  TextSource::Files files;
  for (size_t i = 0; i < count; ++i) {
    HR_ASSIGN_OR_RETURN(files.emplace_back(), OpenFile(paths[i], text, *tokenizer));
  }
  HR_ASSIGN_OR_RETURN(std::string identity, FilesIdentity(paths, query));
  auto source = std::make_shared<TextSource>(std::move(files), std::move(tokenizer), text,
                                             std::move(identity), options.threads());
  if (source->examples() > 0) return SourceRef(std::move(source));
  return InvalidArgument("'", path, "' has no ", text.lines ? "lines" : "window of ",
                         text.lines ? "" : Cat(text.length, " tokens and a target behind them"));
}

}  // namespace hr::data
