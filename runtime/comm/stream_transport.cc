#include "runtime/comm/stream_transport.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace hr::comm {
namespace {

constexpr auto kGreetingTime = std::chrono::seconds(5);
// A greeting takes some milliseconds. Who stays silent for longer makes room for others.
constexpr size_t kMaxStrangers = 256;
constexpr auto kPatience = std::chrono::seconds(1);
// Looking for new connections is a system call, and they are rare.
constexpr unsigned kTurnsPerAnswer = 512;

}  // namespace

StreamTransport::StreamTransport(const StreamTraits& traits, std::string identity)
    : traits_(traits), identity_(std::move(identity)) {}

Result<std::unique_ptr<Endpoint>> StreamTransport::Connect(std::string_view address) {
  HR_ASSIGN_OR_RETURN(auto stream, Dial(address));
  auto endpoint = std::make_unique<StreamEndpoint>(std::move(stream), traits_, identity_);
  endpoint->SignInto(endpoints_);
  return endpoint;
}

std::unique_ptr<Endpoint> StreamTransport::Accept() {
  for (auto it = strangers_.begin(); it != strangers_.end(); ++it) {
    if (!it->endpoint->established()) continue;
    std::unique_ptr<StreamEndpoint> accepted = std::move(it->endpoint);
    strangers_.erase(it);
    accepted->SignInto(endpoints_);
    return accepted;
  }
  return nullptr;
}

bool StreamTransport::AnswerNew() {
  bool any = false;
  const auto now = std::chrono::steady_clock::now();
  if (strangers_.size() == kMaxStrangers) DropIdle("there were too many");
  while (strangers_.size() < kMaxStrangers) {
    std::unique_ptr<ByteStream> stream = Answer();
    if (stream == nullptr) break;
    std::string from = stream->Describe();
    strangers_.push_back({std::make_unique<StreamEndpoint>(std::move(stream), traits_, identity_),
                          now, std::move(from)});
    any = true;
  }
  for (Stranger& stranger : strangers_) any |= stranger.endpoint->Progress();
  std::erase_if(strangers_, [&](const Stranger& stranger) { return IsLost(stranger, now); });
  return any;
}

// The one that has been silent for too long. False if there is none.
bool StreamTransport::DropIdle(std::string_view why) {
  const auto now = std::chrono::steady_clock::now();
  if (strangers_.empty() || now <= strangers_.front().since + kPatience) return false;
  last_stranger_ = Cat("a connection from ", strangers_.front().from, " was dropped: ", why);
  strangers_.erase(strangers_.begin());
  return true;
}

void StreamTransport::NoteFailure(Status status) {
  // What strangers hold is there to be had.
  const bool exhausted = status.code() == Code::kResourceExhausted;
  if (exhausted && DropIdle(status.message())) return;
  status_ = std::move(status);
}

bool StreamTransport::IsLost(const Stranger& stranger, std::chrono::steady_clock::time_point now) {
  const StreamEndpoint& endpoint = *stranger.endpoint;
  if (endpoint.established()) return false;
  std::string_view why = endpoint.status().message();
  if (endpoint.status().ok() || !endpoint.flushed()) {
    if (now <= stranger.since + kGreetingTime) return false;
    if (endpoint.status().ok()) why = "it did not identify itself in 5 seconds";
  }
  last_stranger_ = Cat("a connection from ", stranger.from, " was dropped: ", why);
  return true;
}

bool StreamTransport::Progress() {
  bool moved = false;
  if (armed_) {
    armed_ = false;
    moved = AnswerNew();
  } else if (++turn_ % kTurnsPerAnswer == 0) {
    moved = AnswerNew();
  }
  for (StreamEndpoint* endpoint : endpoints_) moved |= endpoint->Progress();
  return moved;
}

bool StreamTransport::Arm() {
  armed_ = true;
  BeginArm();
  for (StreamEndpoint* endpoint : endpoints_) {
    if (!endpoint->Arm()) return false;
  }
  for (Stranger& stranger : strangers_) {
    if (!stranger.endpoint->Arm()) return false;
  }
  return EndArm();
}

}  // namespace hr::comm
