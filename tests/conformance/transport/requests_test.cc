// Requests and answers without a group: sizes, failures, limits, clients and servers that die, and
// peers that send anything.
#include <cstring>
#include <random>
#include <thread>

#include "runtime/comm/request_client.h"
#include "tests/conformance/transport/fixture.h"

namespace hr::comm {
namespace {

Block BlockOf(Bytes bytes) {
  Block block = std::move(Block::Create(SystemAllocator(), bytes.size())).value();
  if (!bytes.empty()) std::memcpy(block.data(), bytes.data(), bytes.size());
  return block;
}

std::vector<std::byte> Pattern(size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = std::byte((i * 131 + i / 251 + seed * 7) & 0xff);
  return out;
}

// Whether `done` comes about while others work.
template <typename Done>
bool Comes(Done done) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return done();
}

enum Method : int32_t { kEcho = 0, kRefuse = 1, kBlock = 2 };

class RequestsTest : public ::testing::TestWithParam<TransportDriver> {
 protected:
  void SetUp() override {
    factory_ = GetParam().open();
    Serve({});
  }
  void Serve(RequestServerOptions options) {
    auto server = RequestServer::Create(
        {factory_}, *poller_, [this](const auto& request) { return Handle(request); }, options);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(server).value();
  }
  // kBlock ends when the request's limits do, or when the test lets it.
  Result<Block> Handle(const RequestServer::Request& request) {
    switch (request.method) {
      case kEcho: return BlockOf(request.body);
      case kBlock: {
        ++blocked_;
        while (!let_go_) {
          Status status = request.limits.Check();
          if (!status.ok()) {
            ++useless_;
            return status;
          }
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        return BlockOf(request.body);
      }
      default: return NotFound("method ", request.method, " is none of '", request.client, "'");
    }
  }
  std::unique_ptr<RequestClient> Connect(RequestClientOptions options = {}) {
    auto client = RequestClient::Connect(factory_, server_->addresses()[0], *poller_, options,
                                         Within(std::chrono::seconds(10)));
    EXPECT_TRUE(client.ok()) << client.status().ToString();
    return client.ok() ? std::move(client).value() : nullptr;
  }
  static void ExpectEcho(RequestClient& client, size_t bytes, unsigned seed = 0) {
    const auto sent = Pattern(bytes, seed);
    auto answer = client.Call(kEcho, BlockOf(sent), Within(std::chrono::seconds(20)));
    ASSERT_TRUE(answer.ok()) << answer.status().ToString();
    const Bytes got = (*answer)->answer();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin(), sent.end())) << bytes;
  }

  // A peer that the test drives itself.
  struct Raw {
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Endpoint> endpoint;
    template <typename Done>
    bool Until(Done done) {
      return Comes([&] {
        transport->Progress();
        return done();
      });
    }
    void Send(Message& message) {
      endpoint->Send(message.transfer);
      EXPECT_TRUE(Until([&] { return message.done(); }));
    }
  };
  Raw Dial(const std::string& identity) {
    Raw raw;
    raw.transport = std::move(factory_(identity)).value();
    raw.endpoint = std::move(raw.transport->Connect(server_->addresses()[0])).value();
    EXPECT_TRUE(raw.Until([&] { return raw.endpoint->established(); }));
    return raw;
  }
  static std::unique_ptr<Message> HeadOf(const RequestHead& head) {
    auto message = std::make_unique<Message>(sizeof head, 1);
    std::memcpy(message->data.data(), &head, sizeof head);
    return message;
  }

  TransportFactory factory_;
  std::unique_ptr<Poller> poller_ = std::move(Poller::Create()).value();
  std::unique_ptr<RequestServer> server_;
  std::atomic<int> blocked_{0}, useless_{0};
  std::atomic<bool> let_go_{false};
};

TEST_P(RequestsTest, AnswersOfAnySizeForSeveralClients) {
  std::vector<std::thread> threads;
  for (unsigned one = 0; one < 3; ++one) {
    threads.emplace_back([this, one] {
      auto client = Connect();
      ASSERT_NE(client, nullptr);
      for (size_t bytes : {0, 1, 2047, 2048, 2049, 100'000, 3 << 20}) {
        ExpectEcho(*client, bytes, one);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Comes([&] { return server_->clients() == 0; }));
}

TEST_P(RequestsTest, ManyAtOnceInAnyOrder) {
  auto client = Connect();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::shared_ptr<PendingAnswer>> answers;
    for (unsigned i = 0; i < 64; ++i) {
      answers.push_back(client->Start(kEcho, BlockOf(Pattern(i * 100, i)), 20'000'000'000).value());
    }
    for (unsigned i = 64; i-- > 0;) {
      ASSERT_TRUE(client->Wait(*answers[i], {}).ok()) << answers[i]->status().ToString();
      const Bytes got = answers[i]->answer();
      EXPECT_EQ(std::vector<std::byte>(got.begin(), got.end()), Pattern(i * 100, i));
    }
  }
  EXPECT_EQ(server_->in_flight(), 0u);
}

TEST_P(RequestsTest, AFailureOfTheHandlerIsTheClients) {
  auto client = Connect({.name = "somebody"});
  const Status status =
      client->Call(kRefuse, {}, Within(std::chrono::seconds(10))).status().Clone();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("method 1 is none of"), std::string_view::npos);
  EXPECT_NE(status.message().find("somebody"), std::string_view::npos);
  ExpectEcho(*client, 10);
}

TEST_P(RequestsTest, ADeadlineEndsBothSides) {
  auto client = Connect();
  EXPECT_EQ(client->Call(kBlock, {}, Within(std::chrono::milliseconds(50))).status().code(),
            Code::kDeadlineExceeded);
  EXPECT_TRUE(Comes([&] { return useless_ == 1 && server_->in_flight() == 0; }));
  // Also if nobody waits.
  auto answer = client->Start(kBlock, {}, 50'000'000).value();
  EXPECT_TRUE(Comes([&] { return answer->done(); }));
  EXPECT_EQ(answer->status().code(), Code::kDeadlineExceeded);
  ExpectEcho(*client, 5000);
}

TEST_P(RequestsTest, CancelIsHeardByTheHandler) {
  auto client = Connect();
  auto answer = client->Start(kBlock, {}, 0).value();
  EXPECT_TRUE(Comes([&] { return blocked_ == 1; }));
  client->Cancel(*answer);
  EXPECT_EQ(client->Wait(*answer, {}).code(), Code::kCancelled);
  EXPECT_TRUE(Comes([&] { return useless_ == 1 && server_->in_flight() == 0; }));
  client->Cancel(*answer);  // it has ended
  ExpectEcho(*client, 1);
}

TEST_P(RequestsTest, NoMoreInFlightThanAgreed) {
  auto client = Connect({.max_in_flight = 2});
  auto first = client->Start(kBlock, {}, 0).value(), second = client->Start(kBlock, {}, 0).value();
  EXPECT_EQ(client->Start(kEcho, {}, 0).status().code(), Code::kResourceExhausted);
  // A cancelled one counts until the server has let go of it.
  EXPECT_TRUE(Comes([&] { return blocked_ == 2; }));
  client->Cancel(*first);
  bool free = false;
  EXPECT_TRUE(Comes([&] { return free = free || client->Start(kEcho, {}, 0).ok(); }));
  let_go_ = true;
  EXPECT_TRUE(client->Wait(*second, Within(std::chrono::seconds(10))).ok());
}

TEST_P(RequestsTest, AClientThatSendsMoreThanAgreedIsTurnedAway) {
  server_.reset();
  Serve({.max_in_flight = 2});
  auto greedy = Connect(), modest = Connect();
  std::vector<std::shared_ptr<PendingAnswer>> answers;
  for (int i = 0; i < 3; ++i) {
    if (auto answer = greedy->Start(kBlock, {}, 0); answer.ok()) answers.push_back(*answer);
  }
  for (const auto& answer : answers) {
    EXPECT_EQ(greedy->Wait(*answer, Within(std::chrono::seconds(10))).code(), Code::kUnavailable);
  }
  EXPECT_NE(greedy->status().message().find("at most 2 requests"), std::string_view::npos)
      << greedy->status().ToString();
  EXPECT_TRUE(Comes([&] { return server_->in_flight() == 0; }));
  ExpectEcho(*modest, 5000);
}

TEST_P(RequestsTest, AClientThatDiesCostsTheOthersNothing) {
  auto witness = Connect();
  const std::string identity = Cat(kRequestClient, " mortal");
  for (int round = 0; round < 3; ++round) {
    {
      Raw waits = Dial(identity), sends = Dial(identity);
      auto request = HeadOf({.code = kBlock, .id = 7});
      waits.Send(*request);
      // Its body never comes.
      auto begun = HeadOf({.code = kEcho, .id = 7, .bytes = 1 << 20});
      sends.Send(*begun);
      EXPECT_TRUE(Comes([&] { return blocked_ == round + 1 && server_->in_flight() == 2; }));
    }
    EXPECT_TRUE(Comes([&] { return server_->clients() == 1 && server_->in_flight() == 0; }))
        << server_->clients() << " " << server_->in_flight();
    EXPECT_EQ(useless_, round + 1);
    ExpectEcho(*witness, 100'000);
  }
}

TEST_P(RequestsTest, AServerThatDiesEndsWhatIsInFlight) {
  auto dying = std::move(factory_(std::string(kRequestServer))).value();
  std::unique_ptr<Endpoint> accepted;
  std::atomic<bool> dies{false};
  std::thread life([&] {
    while (!dies) {
      dying->Arm();  // so that it looks for new connections
      dying->Progress();
      if (accepted == nullptr) accepted = dying->Accept();
      std::this_thread::yield();
    }
    accepted.reset();
    dying.reset();
  });
  auto client = RequestClient::Connect(factory_, dying->address(), *poller_, {},
                                       Within(std::chrono::seconds(10)));
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  auto small = (*client)->Start(kEcho, {}, 0).value();
  auto large = (*client)->Start(kEcho, BlockOf(Pattern(1 << 20, 1)), 0).value();
  dies = true;
  life.join();
  EXPECT_EQ((*client)->Wait(*small, Within(std::chrono::seconds(10))).code(), Code::kUnavailable);
  EXPECT_EQ((*client)->Wait(*large, Within(std::chrono::seconds(10))).code(), Code::kUnavailable);
  EXPECT_EQ((*client)->Start(kEcho, {}, 0).status().code(), Code::kUnavailable);
}

TEST_P(RequestsTest, AServerThatStopsSaysSo) {
  auto client = Connect();
  auto answer = client->Start(kBlock, {}, 0).value();
  EXPECT_TRUE(Comes([&] { return blocked_ == 1; }));
  server_.reset();
  const Code code = client->Wait(*answer, Within(std::chrono::seconds(10))).code();
  EXPECT_TRUE(code == Code::kCancelled || code == Code::kUnavailable);
  EXPECT_TRUE(Comes([&] { return !client->status().ok(); }));
  EXPECT_NE(client->status().message().find("the server has stopped"), std::string_view::npos)
      << client->status().ToString();
}

TEST_P(RequestsTest, GarbageAndStrangersAreTurnedAway) {
  std::mt19937 random(21);
  auto witness = Connect();
  for (int round = 0; round < 40; ++round) {
    Raw raw = Dial(Cat(kRequestClient, " liar"));
    RequestHead head = {
        .kind = static_cast<RequestHead::Kind>(random() % 5),
        .code = static_cast<int32_t>(random() % 3),
        .id = random() % 3 == 0 ? ~uint64_t{0} : random(),
        .bytes = random() % 2 == 0 ? ~uint64_t{0} - random() % 40 : random() % 4096};
    Message noise(random() % 3000, 1, round);
    if (noise.data.size() >= sizeof head && round % 2 == 0) {
      std::memcpy(noise.data.data(), &head, sizeof head);
    }
    raw.endpoint->Send(noise.transfer);
    raw.Until([&] { return noise.done() && (!raw.endpoint->status().ok() || round % 4 != 1); });
  }
  Raw stranger = Dial("3 4 0 world");
  EXPECT_TRUE(stranger.Until([&] { return !stranger.endpoint->status().ok(); }));
  EXPECT_NE(stranger.endpoint->status().message().find("got '3 4 0 world'"), std::string_view::npos)
      << stranger.endpoint->status().ToString();
  let_go_ = true;
  ExpectEcho(*witness, 100'000);
}

INSTANTIATE_TEST_SUITE_P(All, RequestsTest, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
