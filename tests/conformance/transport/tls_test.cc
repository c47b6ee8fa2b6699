// TLS over a stream in memory: what a damaged, repeated or cut stream does, and that keys change.
#ifdef HEADRACE_TEST_TCP
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "transport/tcp/tls.h"

namespace hr::comm {
namespace {

// One direction. `room`: what it holds at most.
struct Pipe {
  std::string bytes;
  size_t room = SIZE_MAX;
};

class PipeStream final : public ByteStream {
 public:
  PipeStream(Pipe& in, Pipe& out) : in_(in), out_(out) {}
  Result<size_t> Write(std::span<const Bytes> pieces) override {
    size_t total = 0;
    for (Bytes piece : pieces) {
      const size_t count = std::min(piece.size(), out_.room - out_.bytes.size());
      out_.bytes += AsText(piece.first(count));
      total += count;
    }
    return total;
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    const size_t count = std::min(bytes, in_.bytes.size());
    std::memcpy(to, in_.bytes.data(), count);
    in_.bytes.erase(0, count);
    return count;
  }
  bool Arm(bool, bool) override { return true; }

 private:
  Pipe& in_;
  Pipe& out_;
};

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    context_ = std::move(tcp::TlsContext::Create("the secret of these tests", 4)).value();
    left_ =
        std::move(context_->Wrap(std::make_unique<PipeStream>(to_left_, to_right_), true)).value();
    right_ =
        std::move(context_->Wrap(std::make_unique<PipeStream>(to_right_, to_left_), false)).value();
    EXPECT_EQ(Exchange("hello"), "hello");
  }
  // Sends text to the right and returns what comes out there.
  std::string Exchange(std::string_view text) {
    std::string got(text.size(), '\0');
    size_t sent = 0, received = 0;
    for (int turn = 0; turn < 100'000 && received < text.size(); ++turn) {
      const Bytes rest = AsBytes(text.substr(sent));
      const Bytes pieces[] = {rest.first(rest.size() / 3), {}, rest.subspan(rest.size() / 3)};
      if (!rest.empty()) sent += left_->Write(pieces).value();
      std::byte none;
      left_->Read(&none, 0).status().IgnoreError();
      received += right_
                      ->Read(reinterpret_cast<std::byte*>(got.data()) + received,
                             std::min<size_t>(text.size() - received, 1 + turn % 40'000))
                      .value();
    }
    return got.substr(0, received);
  }
  Status ReadRight() {
    std::byte bytes[64];
    return right_->Read(bytes, sizeof bytes).status().Clone();
  }
  void WriteLeft(std::string_view text) {
    const Bytes bytes = AsBytes(text);
    EXPECT_EQ(left_->Write({&bytes, 1}).value(), text.size());
  }

  Pipe to_left_, to_right_;
  std::unique_ptr<tcp::TlsContext> context_;
  std::unique_ptr<ByteStream> left_, right_;
};

TEST_F(Tls, EverySizeThroughManyKeys) {
  for (size_t size : {1, 2, 40, 16383, 16384, 16385, 300'000}) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 250);
    EXPECT_TRUE(Exchange(text) == text) << size;
  }
}

TEST_F(Tls, ThroughAPipeThatTakesLittle) {
  std::string text(100'000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 13 + i / 250);
  to_right_.room = 1000;
  EXPECT_TRUE(Exchange(text) == text);
}

TEST_F(Tls, NothingReadableGoesOver) {
  WriteLeft("a secret that is long enough to be found");
  EXPECT_EQ(to_right_.bytes.find("secret"), std::string::npos);
}

TEST_F(Tls, ABitThatIsDifferent) {
  WriteLeft("some words");
  to_right_.bytes[12] ^= 1;
  EXPECT_EQ(ReadRight().code(), Code::kDataLoss);
  EXPECT_EQ(ReadRight().code(), Code::kDataLoss) << "the failure is final";
}

TEST_F(Tls, ARecordThatComesTwice) {
  WriteLeft("some words");
  to_right_.bytes += to_right_.bytes;
  EXPECT_TRUE(ReadRight().ok());
  EXPECT_EQ(ReadRight().code(), Code::kDataLoss);
}

TEST_F(Tls, LengthsThatLie) {
  for (std::string_view header :
       {std::string_view("\x17\x03\x03\xff\xff"), std::string_view("\x17\x03\x03\x00\x05", 5),
        std::string_view("\x99\x03\x03\x00\x40", 5)}) {
    SetUp();
    to_right_.bytes += std::string(header.data(), 5) + std::string(100, 'x');
    EXPECT_EQ(ReadRight().code(), Code::kDataLoss);
  }
}

}  // namespace
}  // namespace hr::comm
#endif
