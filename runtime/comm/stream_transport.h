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

 protected:
  // `identity`, at most kMaxText bytes, is told to every peer.
  StreamTransport(const StreamTraits& traits, std::string identity);

  // Starts to connect; see Transport::Connect.
  virtual Result<std::unique_ptr<ByteStream>> Dial(std::string_view address) = 0;
  // A stream that a peer dialled, or null.
  virtual std::unique_ptr<ByteStream> Answer() = 0;
  // Called before the streams are armed (false: somebody dialled already) and when progress is made
  // again after a sleep.
  virtual bool ArmAnswer() = 0;
  virtual void Disarm() = 0;

 private:
  struct Stranger {
    std::unique_ptr<StreamEndpoint> endpoint;
    std::chrono::steady_clock::time_point give_up;
  };
  bool AnswerNew();

  const StreamTraits traits_;
  const std::string identity_;
  std::vector<StreamEndpoint*> endpoints_;  // those given away
  std::vector<Stranger> strangers_;         // answered, not yet greeted
  unsigned turn_ = 0;
  bool armed_ = false;
};

}  // namespace hr::comm
