#include "runtime/comm/verdicts.h"

#include <algorithm>
#include <charconv>

#include "runtime/comm/poller.h"

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

Verdicts::Verdicts(const MeshOptions& options, Peers& peers, Reactor& reactor, Listener& listener)
    : options_(options),
      peers_(peers),
      reactor_(reactor),
      listener_(listener),
      arbiter_(CreateStoreArbiter(*options.store, EpochKey(options, kVerdictKey))),
      lost_arbiter_(options.size),
      heard_out_(options.size) {
  asker_->verdicts = this;
}

void Verdicts::StopAsking() {
  std::lock_guard lock(asker_->mutex);
  asker_->verdicts = nullptr;
}

void Verdicts::Accuse(Verdict accusation) {
  if (std::exchange(accused_, true) || closed_) return;
  accusation.cause.resize(Cut(accusation.cause, kMaxCause).size());
  accusation_ = std::move(accusation);
  reactor_.CallTimer();
}

void Verdicts::OnControl(int rank, std::string_view text) {
  const std::string_view body = text.substr(1);
  switch (text.front()) {
    case 'V':
      if (Result<Verdict> verdict = Verdict::Decode(body); verdict.ok()) Convict(*verdict);
      return;
    case 'L': return OnArbiterLost(rank, body);
    case 'U': return ConvictTogether(body);
    default: return;
  }
}

void Verdicts::OnHeardOut(int rank) {
  heard_out_[rank] = true;
  EndTogether(SystemClock().NowNanos());
}

int64_t Verdicts::OnTimer(int64_t now) {
  if (accusation_.has_value()) Ask(*std::exchange(accusation_, std::nullopt), now);
  EndQuestion(now);
  if (together_at_ != 0) EndTogether(now);
  if (!live()) return INT64_MAX;
  int64_t next = INT64_MAX;
  if (asked_.has_value()) next = answer_by_;
  return together_at_ != 0 ? std::min(next, together_at_) : next;
}

// The store may take its time, and heartbeats must not wait for it, so another thread asks.
void Verdicts::Ask(const Verdict& accusation, int64_t now) {
  asked_ = accusation;
  answer_by_ = now + kArbiterNanos + kGraceNanos;
  const CallLimits limits = {.deadline_nanos = now + kArbiterNanos, .clock = &SystemClock()};
  options_.poller->threads()->Add(
      [asker = asker_, arbiter = arbiter_, keeps = options_.keeps, accusation, limits]() mutable {
        const Result<Verdict> answer = arbiter->Decide(accusation, limits);
        arbiter.reset();
        keeps.reset();  // before anybody can take the group for gone
        std::lock_guard lock(asker->mutex);
        if (asker->verdicts != nullptr) asker->verdicts->OnAnswer(answer);
      });
}

void Verdicts::OnAnswer(const Result<Verdict>& answer) {
  Reactor::Guard guard(reactor_);
  const std::optional<Verdict> asked = std::exchange(asked_, std::nullopt);
  if (answer.ok()) {
    Convict(*answer);
  } else if (asked.has_value()) {
    TellArbiterLost(*asked, answer.status().message());
  }
  reactor_.CallTimer();  // there is a report to make, or others to wait for
}

// A store of the host may ignore its limits.
void Verdicts::EndQuestion(int64_t now) {
  if (!asked_.has_value() || now < answer_by_) return;
  const Verdict asked = *std::exchange(asked_, std::nullopt);
  TellArbiterLost(
      asked, Cat("the group's arbiter, the ", options_.store->Describe(), ", did not answer in ",
                 kArbiterNanos / 1'000'000, " ms, so start all ranks again"));
}

// Ends the group with the arbiter's verdict, or, with `lost`, why there is none, without it.
void Verdicts::Convict(const Verdict& verdict, std::string_view lost) {
  if (!status_.ok() || closed_) return;
  accused_ = true;
  accusation_.reset();
  verdict_ = verdict;
  status_ = EndedBy(options_, verdict);
  if (!lost.empty()) status_ = ArbiterLost(status_.message(), "; ", lost);
  peers_.SendToAll(lost.empty() ? Cat('V', verdict.Encode())
                                : Cat('U', Undecided::Encode(verdict, lost)));
  listener_.OnEnded(status_);
  reactor_.CallTimer();
}

void Verdicts::TellArbiterLost(const Verdict& accusation, std::string_view why) {
  if (!status_.ok() || closed_) return;
  const std::string text = Undecided::Encode(accusation, Cut(why, kMaxWhy));
  peers_.SendToAll(Cat('L', text));
  together_at_ = SystemClock().NowNanos() + kTogetherNanos;
  OnArbiterLost(options_.rank, text);
}

void Verdicts::OnArbiterLost(int rank, std::string_view text) {
  const auto told = Undecided::Decode(text);
  if (!told.has_value()) return;
  lost_arbiter_[rank] = true;
  if (undecided_.empty() || rank < undecided_of_) {
    undecided_ = text;
    undecided_of_ = rank;
  }
  if (!accused_) return Accuse(told->accusation);
  EndTogether(SystemClock().NowNanos());
}

// Once this rank has asked the arbiter in vain, and so have the others, as far as they live.
void Verdicts::EndTogether(int64_t now) {
  const auto told = Undecided::Decode(undecided_);
  if (!told.has_value() || !lost_arbiter_[options_.rank]) return;
  bool all = true;
  for (int rank = 0; rank < options_.size; ++rank) {
    all &= lost_arbiter_[rank] || heard_out_[rank] || rank == told->accusation.culprit;
  }
  if (all || now >= together_at_) Convict(told->accusation, told->why);
}

void Verdicts::ConvictTogether(std::string_view text) {
  const auto told = Undecided::Decode(text);
  if (told.has_value()) Convict(told->accusation, told->why);
}

}  // namespace hr::comm
