// A Transport made of ByteStreams. What differs between inproc, shared memory and TCP is how a
// stream is dialled and answered and what a sleeper waits on; the rest is here.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/stream_endpoint.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

class StreamTransport : public Transport {
 public:
  Result<std::unique_ptr<Endpoint>> Connect(std::string_view address) final;
  std::unique_ptr<Endpoint> Accept() final;
  bool Progress() final;
  bool Arm() final;
  const Status& status() const final { return status_; }
  std::string_view last_stranger() const final { return last_stranger_; }

 protected:
  // `identity`, at most kMaxText bytes, is told to every peer.
  StreamTransport(const StreamTraits& traits, std::string identity);
  // For destructors whose members the streams use.
  void DropStrangers() { strangers_.clear(); }
  void NoteFailure(Status status);

  // Starts to connect; see Transport::Connect.
  virtual Result<std::unique_ptr<ByteStream>> Dial(std::string_view address) = 0;
  // A stream that a peer dialled, or null. If one had to be turned away, see NoteFailure.
  virtual std::unique_ptr<ByteStream> Answer() = 0;
  // Called around the arming of the streams: before, to forget old wake-ups; and after, to arm what
  // is answered. False: there is something to do already.
  virtual void BeginArm() = 0;
  virtual bool EndArm() = 0;

 private:
  struct Stranger {
    std::unique_ptr<StreamEndpoint> endpoint;
    std::chrono::steady_clock::time_point since;
    std::string from;
  };
  bool AnswerNew();
  bool DropIdle(std::string_view why);
  bool IsLost(const Stranger& stranger, std::chrono::steady_clock::time_point now);

  const StreamTraits traits_;
  const std::string identity_;
  std::vector<StreamEndpoint*> endpoints_;  // those given away
  std::vector<Stranger> strangers_;         // answered, not yet greeted
  Status status_;
  std::string last_stranger_;
  unsigned turn_ = 0;
  bool armed_ = false;
};

}  // namespace hr::comm
