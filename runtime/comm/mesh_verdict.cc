// How all ranks come to one verdict: whoever sees a fault accuses, the arbiter makes the first
// accusation the verdict, and the accuser tells all ranks (V).
//
// A rank that cannot reach the arbiter tells the others so, with its accusation (L), and waits a
// moment. One that can asks it then, and that verdict holds. If nobody can, the group ends with
// ARBITER_LOST and the sentence of the lowest rank that has told, which all take over (U).
#include <algorithm>
#include <charconv>

#include "runtime/base/file.h"
#include "runtime/comm/mesh.h"

namespace hr::comm {
namespace {

// For the verdict, once a fault was seen, by the arbiter or without it: all ranks know it within a
// second.
constexpr int64_t kArbiterNanos = 600'000'000;
constexpr int64_t kTogetherNanos = 300'000'000;
// A store that keeps to its limits says itself that it could not answer.
constexpr int64_t kGraceNanos = 50'000'000;
// A cause and why there was no arbiter fit into one control message.
constexpr size_t kMaxCause = 1200, kMaxWhy = 700;

// `text` or its beginning, of whole characters of UTF-8.
std::string_view Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (text[most] & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

// What ranks that cannot reach the arbiter tell: an accusation, and why it cannot be decided.
struct Undecided {
  Verdict accusation;
  std::string_view why;

  static std::string Encode(const Verdict& accusation, std::string_view why) {
    return Cat(why.size(), " ", why, accusation.Encode());
  }
  static std::optional<Undecided> Decode(std::string_view text) {
    size_t size = 0;
    const char* end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, size);
    if (error != std::errc() || at == end || size > static_cast<size_t>(end - at - 1)) {
      return std::nullopt;
    }
    const std::string_view why(at + 1, size);
    Result<Verdict> accusation = Verdict::Decode({why.end(), end});
    if (!accusation.ok()) return std::nullopt;
    return Undecided{*std::move(accusation), why};
  }
};

}  // namespace

void Mesh::Abort(Code code, std::string cause, int culprit) {
  Reactor::Guard guard(*reactor_);
  Accuse({.culprit = culprit, .code = code, .cause = std::move(cause)});
}

void Mesh::Accuse(Verdict accusation) {
  if (std::exchange(accused_, true) || closed_) return;
  accusation.cause.resize(Cut(accusation.cause, kMaxCause).size());
  accusation_ = std::move(accusation);
  reactor_->CallTimer();
}

int64_t Mesh::OnTimer(int64_t now) {
  int64_t next;
  {
    Reactor::Guard guard(*reactor_);
    if (closed_) return INT64_MAX;
    if (accusation_.has_value()) AskArbiter(*std::exchange(accusation_, std::nullopt), now);
    next = Watch(now);
  }
  Report();
  Deliver();
  return next;
}

// The store may take its time, and heartbeats must not wait for it, so another thread asks.
void Mesh::AskArbiter(const Verdict& accusation, int64_t now) {
  asked_ = accusation;
  answer_by_ = now + kArbiterNanos + kGraceNanos;
  const CallLimits limits = {.deadline_nanos = now + kArbiterNanos, .clock = &SystemClock()};
  options_.poller->threads()->Add(
      [asker = asker_, arbiter = arbiter_, keeps = options_.keeps, accusation, limits]() mutable {
        const Result<Verdict> answer = arbiter->Decide(accusation, limits);
        arbiter.reset();
        keeps.reset();  // before anybody can take the group for gone
        std::lock_guard lock(asker->mutex);
        if (asker->mesh != nullptr) asker->mesh->OnAnswer(answer);
      });
}

void Mesh::OnAnswer(const Result<Verdict>& answer) {
  Reactor::Guard guard(*reactor_);
  const std::optional<Verdict> asked = std::exchange(asked_, std::nullopt);
  if (answer.ok()) {
    Convict(*answer);
  } else if (asked.has_value()) {
    TellArbiterLost(*asked, answer.status().message());
  }
  reactor_->CallTimer();  // there is a report to make, or others to wait for
}

// A store of the host may ignore its limits.
void Mesh::EndQuestion(int64_t now) {
  if (!asked_.has_value() || now < answer_by_) return;
  const Verdict asked = *std::exchange(asked_, std::nullopt);
  TellArbiterLost(
      asked, Cat("the group's arbiter, the ", options_.store->Describe(), ", did not answer in ",
                 kArbiterNanos / 1'000'000, " ms, so start all ranks again"));
}

// Ends the group with the arbiter's verdict, or, with `lost`, why there is none, without it.
void Mesh::Convict(const Verdict& verdict, std::string_view lost) {
  if (!status_.ok() || closed_) return;
  accused_ = true;
  accusation_.reset();
  verdict_ = verdict;
  NoteSuspects();
  status_ = EndedBy(verdict);
  if (!lost.empty()) status_ = ArbiterLost(status_.message(), "; ", lost);
  TellAll(lost.empty() ? Cat('V', verdict.Encode()) : Cat('U', Undecided::Encode(verdict, lost)));
  EndAll(status_);
  report_due_ = true;
  reactor_->CallTimer();
}

void Mesh::TellAll(const std::string& text) {
  for (int rank = 0; rank < options_.size; ++rank) SendControl(rank, text);
}

void Mesh::TellArbiterLost(const Verdict& accusation, std::string_view why) {
  if (!status_.ok() || closed_) return;
  const std::string text = Undecided::Encode(accusation, Cut(why, kMaxWhy));
  TellAll(Cat('L', text));
  together_at_ = SystemClock().NowNanos() + kTogetherNanos;
  OnArbiterLost(options_.rank, text);
}

void Mesh::OnArbiterLost(int rank, std::string_view text) {
  const auto told = Undecided::Decode(text);
  if (!told.has_value()) return;
  peers_[rank].lost_arbiter = true;
  if (undecided_.empty() || rank < undecided_of_) {
    undecided_ = text;
    undecided_of_ = rank;
  }
  if (!accused_) return Accuse(told->accusation);
  EndTogether(SystemClock().NowNanos());
}

// Once this rank has asked the arbiter in vain, and so have the others, as far as they live.
void Mesh::EndTogether(int64_t now) {
  const auto told = Undecided::Decode(undecided_);
  if (!told.has_value() || !peers_[options_.rank].lost_arbiter) return;
  const bool all = std::all_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return peer.lost_arbiter || peer.heard_out || RankOf(peer) == told->accusation.culprit;
  });
  if (all || now >= together_at_) Convict(told->accusation, told->why);
}

void Mesh::ConvictTogether(std::string_view text) {
  const auto told = Undecided::Decode(text);
  if (told.has_value()) Convict(told->accusation, told->why);
}

// Says why the group ended, and keeps its last operations if there is a folder for them.
void Mesh::Report() {
  std::string why, operations;
  {
    Reactor::Guard guard(*reactor_);
    if (!std::exchange(report_due_, false)) return;
    why = status_.message();
    if (!options_.dump_folder.empty()) operations = recorder_.Json();
  }
  if (!operations.empty()) {
    Status kept = MakeDirectories(options_.dump_folder);
    if (kept.ok()) kept = WriteFileAtomically(DumpPath(".json"), AsBytes(operations));
    if (kept.ok()) DropRecorderFile();
    why += kept.ok() ? Cat("; its last operations are in ", DumpPath(".json"))
                     : Cat("; its last operations could not be kept: ", kept.message());
  }
  if (options_.log != nullptr) options_.log->Write(LogLevel::kError, why);
}

// Empty if there is no folder for it.
std::string Mesh::DumpPath(std::string_view extension) const {
  if (options_.dump_folder.empty()) return "";
  std::string name = options_.name;
  std::replace(name.begin(), name.end(), '/', '-');
  return JoinPath(options_.dump_folder,
                  Cat(name, "-", options_.epoch, "-", options_.rank, extension));
}

// Nobody needs it any more.
void Mesh::DropRecorderFile() {
  if (!recorder_.path().empty()) RemoveFile(recorder_.path()).IgnoreError();
}

Status Mesh::EndedBy(const Verdict& verdict) const {
  return Status(verdict.code,
                Cat("group '", options_.name, "', epoch ", options_.epoch,
                    ", ended because of rank ", verdict.culprit, ": ", verdict.cause));
}

// Healthy peers are heard four times in the silence that counts as death. In a network that was
// split, the whole other side has been silent for as long as the one that is blamed.
void Mesh::NoteSuspects() {
  const int64_t now = SystemClock().NowNanos();
  for (const Peer& peer : peers_) {
    if (peer.endpoint == nullptr) continue;
    const bool fresh = peer.endpoint->arrivals() != peer.arrivals ||
                       now - peer.heard_at <= options_.silence_nanos / 8 * 5;
    if (!fresh) suspects_.push_back(RankOf(peer));
  }
}

void Mesh::EndAll(const Status& status) {
  while (!active_.empty()) {
    Work& work = *active_.back();
    EndTransfers(work);
    Finish(work, status.Clone());
  }
  ready_.clear();
}

}  // namespace hr::comm
