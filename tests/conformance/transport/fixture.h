// Two connected transports, driven by the test's own thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/transport.h"
#include "tests/conformance/transport/drivers.h"

namespace hr::comm {

// A transfer with its memory.
struct Message {
  explicit Message(size_t bytes, uint64_t tag = 1, unsigned seed = 0) : data(bytes) {
    for (size_t i = 0; i < bytes; ++i) data[i] = std::byte((i * 131 + i / 251 + seed * 7) & 0xff);
    transfer.data = data.data();
    transfer.bytes = bytes;
    transfer.tag = tag;
    transfer.owner = this;
    transfer.done = [](Transfer& t) { ++static_cast<Message*>(t.owner)->completions; };
  }
  // Room for a message, filled with something else.
  static std::unique_ptr<Message> Room(size_t bytes, uint64_t tag = 1) {
    auto room = std::make_unique<Message>(bytes, tag);
    std::fill(room->data.begin(), room->data.end(), std::byte{0xA5});
    return room;
  }
  bool done() const { return completions > 0; }

  std::vector<std::byte> data;
  Transfer transfer;
  int completions = 0;
};

class TransportTest : public ::testing::TestWithParam<TransportDriver> {
 protected:
  void SetUp() override {
    create_ = GetParam().open();
    left_ = Create("left");
    right_ = Create("right");
    Connect();
  }
  void TearDown() override {
    to_right_.reset();
    to_left_.reset();
    EXPECT_TRUE(left_ == nullptr || Quiet(*left_));
  }

  std::unique_ptr<Transport> Create(const std::string& identity) {
    auto transport = create_(identity);
    EXPECT_TRUE(transport.ok()) << transport.status().ToString();
    return transport.ok() ? std::move(transport).value() : nullptr;
  }
  void Connect() {
    auto connected = left_->Connect(right_->address());
    ASSERT_TRUE(connected.ok()) << connected.status().ToString();
    to_right_ = std::move(connected).value();
    ASSERT_TRUE(Until([&] {
      if (to_left_ == nullptr) to_left_ = right_->Accept();
      return to_left_ != nullptr && to_right_->established();
    }));
  }
  // Drives both sides until `done` or for 10 s.
  template <typename Done>
  bool Until(Done done) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
      left_->Progress();
      if (right_ != nullptr) right_->Progress();
      if (std::chrono::steady_clock::now() > give_up) return false;
    }
    return true;
  }
  // Drives both sides until both are at rest.
  void Settle() {
    int rest = 0;
    Until([&] {
      rest = left_->Progress() || right_->Progress() ? 0 : rest + 1;
      return rest > 500;
    });
  }
  // A transport without connections comes to rest.
  static bool Quiet(Transport& transport) {
    while (transport.Progress()) {
    }
    return transport.Arm();
  }

  std::function<Result<std::unique_ptr<Transport>>(std::string)> create_;
  std::unique_ptr<Transport> left_, right_;
  std::unique_ptr<Endpoint> to_right_, to_left_;
};

}  // namespace hr::comm
