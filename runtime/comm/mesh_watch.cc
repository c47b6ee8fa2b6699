// The watch over the peers: silence, loss, disagreement, and how all ranks come to one verdict.
//
// Whoever sees a fault accuses; the arbiter makes the first accusation the verdict; the accuser
// tells all ranks. Control messages are a letter and text: H heartbeat, V verdict, Q and A the
// question and the answer of ranks that called different operations.
#include <charconv>

#include "runtime/comm/mesh.h"

namespace hr::comm {
namespace {

constexpr int64_t kArbiterNanos = 3'000'000'000;

// "Q <channel> <label> <text>"
struct Disagreement {
  uint16_t channel = 0;
  uint64_t label = 0;
  std::string_view text;

  static std::string Encode(char kind, uint16_t channel, uint64_t label, std::string_view text) {
    return Cat(kind, channel, " ", label, " ", text);
  }
  static std::optional<Disagreement> Decode(std::string_view body) {
    Disagreement d;
    const char* end = body.data() + body.size();
    auto [at, error] = std::from_chars(body.data(), end, d.channel);
    if (error != std::errc() || at == end) return std::nullopt;
    auto [at2, error2] = std::from_chars(at + 1, end, d.label);
    if (error2 != std::errc() || at2 == end) return std::nullopt;
    d.text = std::string_view(at2 + 1, end - at2 - 1);
    return d;
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
      if (Result<Verdict> verdict = Verdict::Decode(body); verdict.ok()) Convict(*verdict, {});
      return;
    case 'Q': return AnswerMismatch(rank, body);
    case 'A': return BlameMismatch(rank, body);
    default: return;  // a heartbeat
  }
}

void Mesh::OnPeerFailed(int rank, const Status& status) {
  if (closed_ || !status_.ok()) return;
  Peer& peer = peers_[rank];
  if (peer.endpoint->peer_left()) {
    // It is free to go as long as nobody here needs it.
    bool needed = false;
    for (const WorkRef& work : active_) {
      for (uint32_t i = 0; i < work->started_; ++i) {
        needed |= work->parts_[i].peer == rank && !work->parts_[i].complete;
      }
    }
    if (!needed) return;
  }
  Accuse({.culprit = rank, .code = status.code(), .cause = std::string(status.message())});
}

void Mesh::OnTransferFailed(Work& work, Work::Part& part) {
  if (closed_ || work.done() || part.status.code() == Code::kCancelled) return;
  if (!part.sends && part.label != work.label_) return OnMismatch(work, part);
  switch (part.status.code()) {
    case Code::kInvalidArgument:  // the peer expected another size: it tells everybody
    case Code::kAborted:          // the peer has cancelled: so does it
      return;
    default: return OnPeerFailed(part.peer, part.status);
  }
}

// Asks the peer what it called; its label says which of its operations is meant.
void Mesh::OnMismatch(Work& work, const Work::Part& part) {
  SendControl(part.peer, Disagreement::Encode('Q', work.channel_, part.label,
                                              Cat(work.call_.Text(), "\n", work.label_)));
}

void Mesh::AnswerMismatch(int rank, std::string_view question) {
  const auto asked = Disagreement::Decode(question);
  if (!asked.has_value()) return;
  const FlightRecorder::Record* record = recorder_.Find(asked->channel, asked->label);
  const std::string ours = record != nullptr ? record->call.Text() : "an operation long ago";
  SendControl(
      rank, Disagreement::Encode('A', asked->channel, asked->label, Cat(ours, "\n", asked->text)));
}

void Mesh::BlameMismatch(int rank, std::string_view answer) {
  const auto told = Disagreement::Decode(answer);
  if (!told.has_value()) return;
  const size_t first = std::min(told->text.find('\n'), told->text.size() - 1);
  std::string_view ours = told->text.substr(first + 1);
  ours = ours.substr(0, ours.find('\n'));
  Accuse({.culprit = rank,
          .code = Code::kFailedPrecondition,
          .cause = Cat("the ranks called different operations: rank ", rank, " called ",
                       told->text.substr(0, first), ", rank ", options_.rank, " called ", ours,
                       "; every rank must post the same operations in the same order")});
}

void Mesh::Abort(Code code, std::string cause) {
  Reactor::Guard guard(*reactor_);
  Accuse({.culprit = options_.rank, .code = code, .cause = std::move(cause)});
}

// The store may take its time, so the poller's thread asks it.
void Mesh::Accuse(Verdict accusation) {
  if (std::exchange(accused_, true) || closed_) return;
  accusation_ = std::move(accusation);
  reactor_->CallTimer();
}

int64_t Mesh::OnTimer(int64_t now) {
  std::optional<Verdict> accusation;
  int64_t next;
  {
    Reactor::Guard guard(*reactor_);
    if (closed_) return INT64_MAX;
    next = Watch(now);
    accusation.swap(accusation_);
  }
  if (!accusation.has_value()) return next;
  const CallLimits limits = {.deadline_nanos = now + kArbiterNanos, .clock = &SystemClock()};
  Result<Verdict> verdict = arbiter_->Decide(*accusation, limits);
  {
    Reactor::Guard guard(*reactor_);
    if (verdict.ok()) {
      Convict(*verdict, {});
    } else {
      Convict(*accusation, std::move(verdict).status());
    }
  }
  Deliver();
  return next;
}

// Ends the group with the verdict, or with `lost` where there was no arbiter to make one.
void Mesh::Convict(const Verdict& verdict, Status lost) {
  if (!status_.ok() || closed_) return;
  accused_ = true;
  accusation_.reset();
  if (lost.ok()) {
    for (int rank = 0; rank < options_.size; ++rank) SendControl(rank, Cat('V', verdict.Encode()));
    status_ =
        Status(verdict.code, Cat("group '", options_.name, "', epoch ", options_.epoch,
                                 ", ended because of rank ", verdict.culprit, ": ", verdict.cause));
  } else {
    status_ = std::move(lost).WithContext(Cat("rank ", verdict.culprit, ": ", verdict.cause));
  }
  EndAll(status_);
}

void Mesh::EndAll(const Status& status) {
  while (!active_.empty()) {
    Work& work = *active_.back();
    EndTransfers(work);
    Finish(work, status.Clone());
  }
  ready_.clear();
}

// Heartbeats, and a look at who has been silent. Returns when to look again.
int64_t Mesh::Watch(int64_t now) {
  if (!status_.ok()) return INT64_MAX;
  const int64_t interval = options_.silence_nanos / 4;
  // If this process was frozen itself, its peers get a new chance.
  const bool overslept = now - std::exchange(watched_at_, now) > 2 * interval;
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
    SendControl(RankOf(peer), "H");
  }
  return now + interval;
}

}  // namespace hr::comm
