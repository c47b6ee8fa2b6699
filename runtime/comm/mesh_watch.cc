// The watch over the peers: silence, loss, disagreement. Whoever sees a fault accuses; see
// mesh_verdict.cc.
//
// Control messages are a letter and text: W welcome (mesh_form.cc), H heartbeat, N nothing but a
// nudge, V, L and U on the way to a verdict (mesh_verdict.cc), S "I am stuck in this operation" and
// P, its answer, how many operations the other rank has called; Q and A the question and the answer
// about a message that is of another operation.
#include <algorithm>
#include <charconv>

#include "runtime/comm/mesh.h"

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

void Mesh::ListenTo(Peer& peer) {
  peer.control.data = peer.control_text;
  peer.control.bytes = kControlBytes;
  peer.control.tag = kControlTag;
  peer.control.owner = this;
  peer.control.done = [](Transfer& transfer) {
    auto& mesh = *static_cast<Mesh*>(transfer.owner);
    for (Peer& p : mesh.peers_) {
      if (&p.control == &transfer) mesh.heard_.push_back(mesh.RankOf(p));
    }
  };
  peer.endpoint->Recv(peer.control);
}

void Mesh::SendControl(int rank, std::string text) {
  Peer& peer = peers_[rank];
  if (peer.endpoint == nullptr || !peer.endpoint->status().ok()) return;
  text.resize(std::min(text.size(), kControlBytes));
  ControlMessage& message = control_messages_.emplace_back();
  message.text = std::move(text);
  message.transfer.data = reinterpret_cast<std::byte*>(message.text.data());
  message.transfer.bytes = message.text.size();
  message.transfer.tag = kControlTag;
  message.transfer.owner = &message;
  message.transfer.done = [](Transfer& t) { static_cast<ControlMessage*>(t.owner)->sent = true; };
  peer.endpoint->Send(message.transfer);
}

void Mesh::OnControl(int rank, std::string_view text) {
  if (text.empty()) return;
  const std::string_view body = text.substr(1);
  switch (text.front()) {
    case 'V':
      if (Result<Verdict> verdict = Verdict::Decode(body); verdict.ok()) Convict(*verdict);
      return;
    case 'L': return OnArbiterLost(rank, body);
    case 'U': return ConvictTogether(body);
    case 'S': return OnStuck(rank, body);
    case 'P': return OnProgress(rank, body);
    case 'Q': return AnswerMismatch(rank, body);
    case 'A': return BlameMismatch(rank, body);
    default: return;  // a nudge
  }
}

void Mesh::OnPeerFailed(int rank, const Status& status) {
  if (closed_ || !status_.ok()) return;
  Peer& peer = peers_[rank];
  if (peer.endpoint->peer_left()) {
    // It is free to go as long as nobody here needs it.
    const bool needed = std::any_of(active_.begin(), active_.end(),
                                    [rank](const WorkRef& work) { return work->Needs(rank); });
    if (!needed) return;
  }
  Accuse({.culprit = rank, .code = status.code(), .cause = std::string(status.message())});
}

void Mesh::OnTransferFailed(Work& work, Work::Part& part) {
  if (closed_ || work.done() || part.status.code() == Code::kCancelled) return;
  if (!part.sends && part.label != work.label_) return OnMismatch(work, part.peer, part.label);
  switch (part.status.code()) {
    case Code::kInvalidArgument:  // the peer expected another size: it tells everybody
    case Code::kAborted:          // the peer has cancelled: so does it
      return;
    default: return OnPeerFailed(part.peer, part.status);
  }
}

// Asks the peer what it called; its label says which of its operations is meant.
void Mesh::OnMismatch(Work& work, int rank, uint64_t label) {
  SendControl(rank, Told::Encode('Q', work.channel_, label, work.operation_.Text()));
}

// Any message ends a rank's sleep. One that is still on its way does, too.
void Mesh::Wake(int rank) {
  Peer& peer = peers_[rank];
  if (peer.endpoint == nullptr || !peer.endpoint->status().ok() ||
      std::exchange(peer.nudging, true))
    return;
  static constexpr char kNudge = 'N';
  peer.nudge.data = reinterpret_cast<std::byte*>(const_cast<char*>(&kNudge));
  peer.nudge.bytes = sizeof kNudge;
  peer.nudge.tag = kControlTag;
  peer.nudge.owner = &peer;
  peer.nudge.done = [](Transfer& t) { static_cast<Peer*>(t.owner)->nudging = false; };
  peer.endpoint->Send(peer.nudge);
}

void Mesh::AnswerMismatch(int rank, std::string_view question) {
  const auto asked = Told::Decode(question);
  if (!asked.has_value()) return;
  const std::string ours = TextOf(recorder_.Find(asked->channel, asked->number));
  SendControl(rank, Told::Encode('A', asked->channel, asked->number, Cat(ours, "\n", asked->text)));
}

void Mesh::BlameMismatch(int rank, std::string_view answer) {
  const auto told = Told::Decode(answer);
  if (!told.has_value()) return;
  const size_t line = std::min(told->text.find('\n'), told->text.size());
  const std::string_view ours = told->text.substr(std::min(line + 1, told->text.size()));
  AccuseMismatch(rank, told->text.substr(0, line), ours);
}

void Mesh::AccuseMismatch(int rank, std::string_view theirs, std::string_view ours) {
  Accuse({.culprit = rank,
          .code = Code::kFailedPrecondition,
          .cause = Cat("the ranks called different operations: rank ", rank, " called ", theirs,
                       ", rank ", options_.rank, " called ", ours,
                       "; every rank must post the same operations in the same order")});
}

// A collective that takes long may wait for ranks that wait for us in another one.
void Mesh::TellOfStuck(int64_t now) {
  if (active_.empty()) return;
  const TickCounter::Scale scale = recorder_.ticks().ScaleNow();
  for (const WorkRef& work : active_) {
    const int64_t waited = now - scale.Nanos(work->posted_);
    if (work->operation_.point_to_point() || waited < kStuckNanos || now < work->tell_nanos_)
      continue;
    const int64_t pause = std::min(waited, options_.silence_nanos);
    work->tell_nanos_ = now + std::max(pause, kStuckNanos);
    const std::string text = Cat(work->label_, "\n", work->operation_.Text());
    for (int rank : work->pool_->ranks()) {
      SendControl(rank, Told::Encode('S', work->channel_, work->sequence(), text));
    }
  }
}

void Mesh::OnStuck(int rank, std::string_view told) {
  const auto stuck = Told::Decode(told);
  if (!stuck.has_value()) return;
  SendControl(rank, Told::Encode('P', stuck->channel, recorder_.Called(stuck->channel), ""));
  const size_t line = std::min(stuck->text.find('\n'), stuck->text.size());
  const auto* ours = recorder_.FindCollective(stuck->channel, stuck->number);
  if (ours == nullptr || stuck->text.substr(0, line) == Cat(ours->label)) return;
  AccuseMismatch(rank, stuck->text.substr(std::min(line + 1, stuck->text.size())),
                 ours->operation.Text());
}

void Mesh::OnProgress(int rank, std::string_view told) {
  const auto progress = Told::Decode(told);
  if (!progress.has_value()) return;
  peers_[rank].channel = progress->channel;
  peers_[rank].called = progress->number;
}

// Blames the rank that has not come to the operation, as far as that is known.
void Mesh::AccuseLate(const Work& work) {
  const int64_t posted = recorder_.ticks().ScaleNow().Nanos(work.posted_);
  const int64_t waited = (SystemClock().NowNanos() - posted) / 1'000'000;
  const std::string what = Cat("rank ", options_.rank, " waited ", waited, " ms for it in ",
                               work.operation_.Text(), ", number ", work.sequence() + 1);
  for (int rank : work.pool_->ranks()) {
    const Peer& peer = peers_[rank];
    if (work.operation_.point_to_point() || !peer.called.has_value() ||
        peer.channel != work.channel_ || *peer.called > work.sequence()) {
      continue;
    }
    return Accuse({.culprit = rank,
                   .code = Code::kDeadlineExceeded,
                   .cause = Cat(what, "; it has called only ", *peer.called)});
  }
  int culprit = options_.rank;
  for (int rank : work.pool_->ranks()) {
    if (rank != options_.rank && work.Needs(rank)) culprit = rank;
  }
  Accuse({.culprit = culprit, .code = Code::kDeadlineExceeded, .cause = what});
}

// Of a collective that has ended here, and cannot have wanted it.
bool Mesh::IsStray(uint64_t tag) const {
  const auto channel = static_cast<uint16_t>(tag >> 48);
  if ((tag & Work::kPointToPoint) != 0 || Work::SequenceOf(tag) >= recorder_.Called(channel)) {
    return false;
  }
  return std::none_of(active_.begin(), active_.end(),
                      [tag](const WorkRef& work) { return work->tag_ == tag; });
}

// If ranks call different operations, it may be that each only sends. What has come and belongs
// to nothing tells.
void Mesh::LookForStrays() {
  for (Peer& peer : peers_) {
    if (peer.endpoint == nullptr || !peer.endpoint->status().ok()) continue;
    uint64_t tag = 0, label = 0;
    for (size_t i = 0; i < kMostUnclaimed && peer.endpoint->Unclaimed(i, &tag, &label); ++i) {
      if (!IsStray(tag)) continue;
      const auto channel = static_cast<uint16_t>(tag >> 48);
      const std::string ours = TextOf(recorder_.FindCollective(channel, Work::SequenceOf(tag)));
      SendControl(RankOf(peer), Told::Encode('Q', channel, label, ours));
      break;
    }
  }
}

// Returns when to look again.
int64_t Mesh::Watch(int64_t now) {
  EndQuestion(now);
  if (together_at_ != 0) EndTogether(now);
  if (!status_.ok()) return INT64_MAX;
  const int64_t interval = options_.silence_nanos / 4;
  if (now - beaten_at_ >= interval) Beat(now);
  TellOfStuck(now);
  LookForStrays();
  recorder_.Stamp();
  int64_t next = std::min(beaten_at_ + interval, now + kStuckNanos);
  if (asked_.has_value()) next = std::min(next, answer_by_);
  return together_at_ != 0 ? std::min(next, together_at_) : next;
}

// Heartbeats, and a look at who has been silent.
void Mesh::Beat(int64_t now) {
  // If this process was frozen itself, its peers get a new chance.
  const bool overslept = now - std::exchange(beaten_at_, now) > options_.silence_nanos / 2;
  for (Peer& peer : peers_) {
    if (peer.endpoint == nullptr || !peer.endpoint->status().ok()) continue;
    const uint64_t arrivals = peer.endpoint->arrivals();
    if (std::exchange(peer.arrivals, arrivals) != arrivals || overslept) {
      peer.heard_at = now;
    } else if (now - peer.heard_at > options_.silence_nanos) {
      Accuse({.culprit = RankOf(peer),
              .code = Code::kUnavailable,
              .cause = Cat("nothing was heard from it for ", (now - peer.heard_at) / 1'000'000,
                           " ms; it is frozen, or its network is cut")});
    }
    Wake(RankOf(peer));  // any message is a sign of life, and this one allocates nothing
  }
}

}  // namespace hr::comm
