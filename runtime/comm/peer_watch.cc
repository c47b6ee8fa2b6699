#include "runtime/comm/peer_watch.h"

#include <algorithm>
#include <charconv>

namespace hr::comm {
namespace {

// Operations that take longer are told to the peers.
constexpr int64_t kStuckNanos = 500'000'000;
// Of a peer's messages that nobody has asked for, how many are looked at.
constexpr size_t kMostUnclaimed = 64;

std::string TextOf(const FlightRecorder::Record* record) {
  return record != nullptr ? record->operation.Text() : "an operation long ago";
}

// What ranks tell each other about an operation: "<letter><channel> <number> <text>", where the
// number is a label (Q, A), a sequence (S) or a count (P).
struct Told {
  uint16_t channel = 0;
  uint64_t number = 0;
  std::string_view text;

  static std::string Encode(char kind, uint16_t channel, uint64_t number, std::string_view text) {
    return Cat(kind, channel, " ", number, " ", text);
  }
  static std::optional<Told> Decode(std::string_view body) {
    Told told;
    const char* end = body.data() + body.size();
    auto [at, error] = std::from_chars(body.data(), end, told.channel);
    if (error != std::errc() || at == end) return std::nullopt;
    auto [at2, error2] = std::from_chars(at + 1, end, told.number);
    if (error2 != std::errc() || at2 == end) return std::nullopt;
    told.text = std::string_view(at2 + 1, end - at2 - 1);
    return told;
  }
};

}  // namespace

PeerWatch::PeerWatch(const MeshOptions& options, Peers& peers, Operations& operations,
                     FlightRecorder& recorder, Verdicts& verdicts, int64_t beaten_at)
    : options_(options),
      connections_(peers),
      operations_(operations),
      recorder_(recorder),
      verdicts_(verdicts),
      peers_(options.size),
      beaten_at_(beaten_at) {}

void PeerWatch::OnControl(int rank, std::string_view text) {
  const std::string_view body = text.substr(1);
  switch (text.front()) {
    case 'S': return OnStuck(rank, body);
    case 'P': return OnProgress(rank, body);
    case 'Q': return AnswerMismatch(rank, body);
    case 'A': return BlameMismatch(rank, body);
    default: return;
  }
}

void PeerWatch::OnGivenUp(const Work& work, Code why) {
  if (why == Code::kDeadlineExceeded) return AccuseLate(work);
  verdicts_.Accuse({.culprit = options_.rank,
                    .code = why,
                    .cause = Cat("it cancelled ", work.operation_.Text())});
}

void PeerWatch::OnPeerFailed(int rank, const Status& status) {
  if (!verdicts_.live()) return;
  if (connections_.endpoint(rank)->peer_left()) {
    // It is free to go as long as nobody here needs it.
    const auto active = operations_.active();
    const bool needed = std::any_of(active.begin(), active.end(),
                                    [rank](const WorkRef& work) { return work->Needs(rank); });
    if (!needed) return;
  }
  verdicts_.Accuse(
      {.culprit = rank, .code = status.code(), .cause = std::string(status.message())});
}

// Asks the peer what it called; its label says which of its operations is meant.
void PeerWatch::OnMismatch(const Work& work, int rank, uint64_t label) {
  connections_.Send(rank, Told::Encode('Q', work.channel_, label, work.operation_.Text()));
}

void PeerWatch::AnswerMismatch(int rank, std::string_view question) {
  const auto asked = Told::Decode(question);
  if (!asked.has_value()) return;
  const std::string ours = TextOf(recorder_.Find(asked->channel, asked->number));
  connections_.Send(rank,
                    Told::Encode('A', asked->channel, asked->number, Cat(ours, "\n", asked->text)));
}

void PeerWatch::BlameMismatch(int rank, std::string_view answer) {
  const auto told = Told::Decode(answer);
  if (!told.has_value()) return;
  const size_t line = std::min(told->text.find('\n'), told->text.size());
  const std::string_view ours = told->text.substr(std::min(line + 1, told->text.size()));
  AccuseMismatch(rank, told->text.substr(0, line), ours);
}

void PeerWatch::AccuseMismatch(int rank, std::string_view theirs, std::string_view ours) {
  verdicts_.Accuse({.culprit = rank,
                    .code = Code::kFailedPrecondition,
                    .cause = Cat("the ranks called different operations: rank ", rank, " called ",
                                 theirs, ", rank ", options_.rank, " called ", ours,
                                 "; every rank must post the same operations in the same order")});
}

// A collective that takes long may wait for ranks that wait for us in another one.
void PeerWatch::TellOfStuck(int64_t now) {
  if (operations_.active().empty()) return;
  const TickCounter::Scale scale = recorder_.ticks().ScaleNow();
  for (const WorkRef& work : operations_.active()) {
    const int64_t waited = now - scale.Nanos(work->posted_);
    if (work->operation_.point_to_point() || waited < kStuckNanos || now < work->tell_nanos_)
      continue;
    const int64_t pause = std::min(waited, options_.silence_nanos);
    work->tell_nanos_ = now + std::max(pause, kStuckNanos);
    const std::string text = Cat(work->label_, "\n", work->operation_.Text());
    for (int rank : work->ranks()) {
      connections_.Send(rank, Told::Encode('S', work->channel_, work->sequence(), text));
    }
  }
}

void PeerWatch::OnStuck(int rank, std::string_view told) {
  const auto stuck = Told::Decode(told);
  if (!stuck.has_value()) return;
  connections_.Send(rank, Told::Encode('P', stuck->channel, recorder_.Called(stuck->channel), ""));
  const size_t line = std::min(stuck->text.find('\n'), stuck->text.size());
  const auto* ours = recorder_.FindCollective(stuck->channel, stuck->number);
  if (ours == nullptr || stuck->text.substr(0, line) == Cat(ours->label)) return;
  AccuseMismatch(rank, stuck->text.substr(std::min(line + 1, stuck->text.size())),
                 ours->operation.Text());
}

void PeerWatch::OnProgress(int rank, std::string_view told) {
  const auto progress = Told::Decode(told);
  if (!progress.has_value()) return;
  peers_[rank].channel = progress->channel;
  peers_[rank].called = progress->number;
}

// Blames the rank that has not come to the operation, as far as that is known.
void PeerWatch::AccuseLate(const Work& work) {
  const int64_t posted = recorder_.ticks().ScaleNow().Nanos(work.posted_);
  const int64_t waited = (SystemClock().NowNanos() - posted) / 1'000'000;
  const std::string what = Cat("rank ", options_.rank, " waited ", waited, " ms for it in ",
                               work.operation_.Text(), ", number ", work.sequence() + 1);
  for (int rank : work.ranks()) {
    const Peer& peer = peers_[rank];
    if (work.operation_.point_to_point() || !peer.called.has_value() ||
        peer.channel != work.channel_ || *peer.called > work.sequence()) {
      continue;
    }
    return verdicts_.Accuse({.culprit = rank,
                             .code = Code::kDeadlineExceeded,
                             .cause = Cat(what, "; it has called only ", *peer.called)});
  }
  int culprit = options_.rank;
  for (int rank : work.ranks()) {
    if (rank != options_.rank && work.Needs(rank)) culprit = rank;
  }
  verdicts_.Accuse({.culprit = culprit, .code = Code::kDeadlineExceeded, .cause = what});
}

// Of a collective that has ended here, and cannot have wanted it.
bool PeerWatch::IsStray(uint64_t tag) const {
  const auto channel = static_cast<uint16_t>(tag >> 48);
  if ((tag & Work::kPointToPoint) != 0 || Work::SequenceOf(tag) >= recorder_.Called(channel)) {
    return false;
  }
  const auto active = operations_.active();
  return std::none_of(active.begin(), active.end(),
                      [tag](const WorkRef& work) { return work->tag_ == tag; });
}

// If ranks call different operations, it may be that each only sends. What has come and belongs
// to nothing tells.
void PeerWatch::LookForStrays() {
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!connections_.IsUp(rank)) continue;
    const Endpoint& endpoint = *connections_.endpoint(rank);
    uint64_t tag = 0, label = 0;
    for (size_t i = 0; i < kMostUnclaimed && endpoint.Unclaimed(i, &tag, &label); ++i) {
      if (!IsStray(tag)) continue;
      const auto channel = static_cast<uint16_t>(tag >> 48);
      const std::string ours = TextOf(recorder_.FindCollective(channel, Work::SequenceOf(tag)));
      connections_.Send(rank, Told::Encode('Q', channel, label, ours));
      break;
    }
  }
}

int64_t PeerWatch::OnTimer(int64_t now) {
  const int64_t interval = options_.silence_nanos / 4;
  if (now - beaten_at_ >= interval) Beat(now);
  TellOfStuck(now);
  LookForStrays();
  recorder_.Stamp();
  return std::min(beaten_at_ + interval, now + kStuckNanos);
}

// Heartbeats, and a look at who has been silent.
void PeerWatch::Beat(int64_t now) {
  // If this process was frozen itself, its peers get a new chance.
  const bool overslept = now - std::exchange(beaten_at_, now) > options_.silence_nanos / 2;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!connections_.IsUp(rank)) continue;
    Peer& peer = peers_[rank];
    const uint64_t arrivals = connections_.endpoint(rank)->arrivals();
    if (std::exchange(peer.arrivals, arrivals) != arrivals || overslept) {
      peer.heard_at = now;
    } else if (now - peer.heard_at > options_.silence_nanos) {
      verdicts_.Accuse(
          {.culprit = rank,
           .code = Code::kUnavailable,
           .cause = Cat("nothing was heard from it for ", (now - peer.heard_at) / 1'000'000,
                        " ms; it is frozen, or its network is cut")});
    }
    connections_.Wake(rank);  // any message is a sign of life, and this one allocates nothing
  }
}

// Healthy peers are heard four times in the silence that counts as death. In a network that was
// split, the whole other side has been silent for as long as the one that is blamed.
void PeerWatch::NoteSuspects() {
  const int64_t now = SystemClock().NowNanos();
  for (int rank = 0; rank < options_.size; ++rank) {
    const Endpoint* endpoint = connections_.endpoint(rank);
    if (endpoint == nullptr) continue;
    const Peer& peer = peers_[rank];
    const bool fresh = endpoint->arrivals() != peer.arrivals ||
                       now - peer.heard_at <= options_.silence_nanos / 8 * 5;
    if (!fresh) suspects_.push_back(rank);
  }
}

std::vector<int> PeerWatch::Suspects() const {
  std::vector<int> suspects = suspects_;
  for (int rank = 0; rank < options_.size; ++rank) {
    const Endpoint* endpoint = connections_.endpoint(rank);
    if (endpoint == nullptr || endpoint->status().ok()) continue;
    if (std::find(suspects.begin(), suspects.end(), rank) == suspects.end()) {
      suspects.push_back(rank);
    }
  }
  return suspects;
}

}  // namespace hr::comm
