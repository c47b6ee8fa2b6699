#include "runtime/train/checkpoint_term.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/base/json_writer.h"
#include "runtime/base/temporary_path.h"
#include "runtime/data/json.h"

namespace hr::train {
namespace {

constexpr char kOwnerName[] = "owner.json";
constexpr std::string_view kDoomedName = "removed";
constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTermPrefix = "term-";
// Older ones only tell a job from long ago that it has been followed by others.
constexpr uint64_t kTermsKept = 1000;
constexpr int kMostRenewals = 100;
constexpr size_t kMostOwnerBytes = 4096;

// A number after `prefix`, with at least six digits; it is taken off `text`.
template <typename T>
std::optional<T> TakeNumbered(std::string_view prefix, std::string_view* text) {
  if (!text->starts_with(prefix)) return std::nullopt;
  T number{};
  const char* begin = text->data() + prefix.size();
  auto [end, error] = std::from_chars(begin, text->data() + text->size(), number);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

std::string Numbered(std::string_view prefix, uint64_t number) {
  return Cat(prefix, ZeroPadded(number, 6));
}

// 0 if `name` is no term's.
uint64_t TermOf(std::string_view name) {
  const std::string_view whole = name;
  const auto term = TakeNumbered<uint64_t>(kTermPrefix, &name);
  return term.has_value() && whole == Numbered(kTermPrefix, *term) ? *term : 0;
}

// The terms that were taken, oldest first, and those that checkpoints carry (which somebody may
// have copied without the others).
Result<std::vector<uint64_t>> TermsOf(const std::string& directory) {
  std::vector<uint64_t> terms;
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const auto step = CheckpointName::Parse(name);
    const uint64_t term = step.has_value() ? step->term : TermOf(name);
    if (term != 0) terms.push_back(term);
  }
  std::ranges::sort(terms);
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return terms;
}

// Of "step-000123-term-000007.1f….tmp" and "term-000007.1f….tmp".
std::optional<uint64_t> TermOfUnfinished(std::string_view name) {
  if (!name.ends_with(kTemporaryEnding)) return std::nullopt;
  name = name.substr(0, name.find('.'));
  if (const auto step = CheckpointName::Parse(name)) return step->term;
  const uint64_t term = TermOf(name);
  return term == 0 ? std::nullopt : std::optional(term);
}

std::string TermPath(const std::string& directory, uint64_t term) {
  return JoinPath(directory, Numbered(kTermPrefix, term));
}

// Null if only checkpoints tell of the term.
Result<std::optional<CheckpointOwner>> OwnerOf(const std::string& directory, uint64_t term) {
  const std::string path = JoinPath(TermPath(directory, term), kOwnerName);
  Result<std::string> text = ReadFile(path, kMostOwnerBytes);
  if (text.status().code() == Code::kNotFound) return std::optional<CheckpointOwner>();
  if (!text.ok()) return std::move(text).status();
  const std::string what = Cat("'", path, "'");
  HR_ASSIGN_OR_RETURN(const data::Json json, data::ParseJsonObject(*text, what));
  CheckpointOwner owner;
  HR_ASSIGN_OR_RETURN(owner.job, data::JsonStringAt(json, "job", what));
  HR_ASSIGN_OR_RETURN(owner.epoch, data::JsonUint64At(json, "epoch", what));
  return std::optional(std::move(owner));
}

// A folder that is not empty cannot be renamed over, so only one taker succeeds, and whoever sees
// the term sees its owner. ALREADY_EXISTS if another was first.
Status Create(const std::string& directory, uint64_t term, const CheckpointOwner& owner) {
  const std::string path = TermPath(directory, term);
  JsonWriter json;
  json.BeginObject().Field("job", owner.job).Field("epoch", owner.epoch).EndObject();
  HR_ASSIGN_OR_RETURN(TemporaryPath temporary, TemporaryPath::Folder(path));
  HR_RETURN_IF_ERROR(
      WriteFileAtomically(JoinPath(temporary.path(), kOwnerName), AsBytes(json.text())));
  HR_RETURN_IF_ERROR(temporary.RenameTo(path));
  return SyncDirectory(directory);
}

Status GoneOn(const std::string& directory, uint64_t term, const CheckpointOwner& now,
              const std::optional<CheckpointOwner>& asks) {
  const std::string where = Cat("the checkpoints in '", directory, "' belong to epoch ", now.epoch,
                                " of job ", now.job, " since term ", term);
  if (!asks.has_value()) {
    return FailedPrecondition(where, ", which was taken while this checkpoint was written");
  }
  if (asks->job == now.job) {
    return FailedPrecondition(where, "; epoch ", asks->epoch, " is over: the other ranks have ",
                              "gone on without this one, which may join them (hr_group_join)");
  }
  return FailedPrecondition(where, ", which came after job ", asks->job, " had them; end one of ",
                            "the two, or give each its own folder");
}

// The term that `owner` has, or 0 if it may take one.
Result<uint64_t> HeldTerm(const std::string& directory, const std::vector<uint64_t>& terms,
                          const CheckpointOwner& owner) {
  if (terms.empty()) return 0;
  HR_ASSIGN_OR_RETURN(const auto now, OwnerOf(directory, terms.back()));
  if (!now.has_value()) return 0;
  if (*now == owner) return terms.back();
  if (now->job == owner.job) {
    if (now->epoch < owner.epoch) return 0;
    return GoneOn(directory, terms.back(), *now, owner);
  }
  for (const uint64_t term : terms) {
    HR_ASSIGN_OR_RETURN(const auto before, OwnerOf(directory, term));
    if (before.has_value() && before->job == owner.job && before->epoch >= owner.epoch) {
      return GoneOn(directory, terms.back(), *now, owner);
    }
  }
  return 0;
}

}  // namespace

std::string CheckpointName::Text() const {
  std::string text = Numbered(kStepPrefix, static_cast<uint64_t>(step));
  return term == 0 ? text : Cat(text, "-", Numbered(kTermPrefix, term));
}

std::optional<CheckpointName> CheckpointName::Parse(std::string_view text) {
  const std::string_view whole = text;
  CheckpointName name;
  const auto step = TakeNumbered<int64_t>(kStepPrefix, &text);
  if (!step.has_value() || *step < 0) return std::nullopt;
  name.step = *step;
  if (text.starts_with('-')) name.term = TermOf(text.substr(1));
  if (name.Text() != whole) return std::nullopt;
  return name;
}

Result<uint64_t> TakeTerm(const std::string& directory,
                          const std::optional<CheckpointOwner>& owner) {
  HR_RETURN_IF_ERROR(MakeDirectories(directory));
  for (int i = 0; i < kMostRenewals; ++i) {
    HR_ASSIGN_OR_RETURN(const std::vector<uint64_t> terms, TermsOf(directory));
    const uint64_t newest = terms.empty() ? 0 : terms.back();
    if (!owner.has_value()) return newest;
    HR_ASSIGN_OR_RETURN(const uint64_t held, HeldTerm(directory, terms, *owner));
    if (held != 0) return held;
    const Status created = Create(directory, newest + 1, *owner);
    if (created.ok()) {
      RemoveUnfinished(directory, newest + 1);
      if (newest > kTermsKept) RemoveTree(TermPath(directory, newest - kTermsKept)).IgnoreError();
      return newest + 1;
    }
    // Whoever was first may have tidied up already.
    const bool too_late =
        created.code() == Code::kAlreadyExists || created.code() == Code::kNotFound;
    if (!too_late) return created.Clone();
  }
  return Unavailable("'", directory, "' is taken by others again and again; ",
                     "give each job its own folder");
}

Status CheckTerm(const std::string& directory, uint64_t term,
                 const std::optional<CheckpointOwner>& owner) {
  HR_ASSIGN_OR_RETURN(const std::vector<uint64_t> terms, TermsOf(directory));
  if (terms.empty() || terms.back() <= term) return {};
  HR_ASSIGN_OR_RETURN(const auto now, OwnerOf(directory, terms.back()));
  return GoneOn(directory, terms.back(), now.value_or(CheckpointOwner{.job = "unknown"}), owner);
}

Status RemoveAside(const std::string& path) {
  const Result<FileLock> lock = FileLock::TryExisting(path);  // so that nobody helps
  const std::string doomed = NameBeside(JoinPath(DirectoryOf(path), kDoomedName), "");
  Status status = RenamePath(path, doomed);
  if (status.ok()) status = RemoveTree(doomed);
  return status.code() == Code::kNotFound ? Status() : std::move(status);  // others were first
}

void RemoveUnfinished(const std::string& directory, uint64_t term) {
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    const std::optional<uint64_t> of = TermOfUnfinished(name);
    if (of.has_value() && *of < term) RemoveAside(path).IgnoreError();
    if (of.has_value() && *of == term) RemoveIfAbandoned(path);
    if (name.starts_with(Cat(kDoomedName, "."))) RemoveIfAbandoned(path);
  }
}

}  // namespace hr::train
