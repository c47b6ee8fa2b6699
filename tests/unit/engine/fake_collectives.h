// A group of which the test decides when an operation ends, and how. It moves no data.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/collectives.h"

namespace hr::comm {

// Thread-safe, so that a thread may run what posts while the test's own decides.
class FakeCollectives final : public Collectives {
 public:
  explicit FakeCollectives(int size = 2, int rank = 0) : rank_(rank), size_(size) {}

  struct Posting {
    Operation operation;
    Memory input, output;
    bool ended = false;
    bool waited_for = false;  // a thread is in Complete, or has been
    bool completed = false;   // its memory has been given back
    Status status;
  };

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  using Collectives::Post;
  Result<Ticket> Post(const Operation& operation, Memory input, Memory output, Stream*,
                      Driver) override {
    std::lock_guard lock(mutex_);
    HR_RETURN_IF_ERROR(status_.Clone());
    Posting& posting = postings_.emplace_back();
    posting.operation = operation;
    posting.input = input;
    posting.output = output;
    changed_.notify_all();
    return Ticket{.work = &posting};
  }
  bool Test(Ticket& ticket) override {
    std::lock_guard lock(mutex_);
    ++tests_;
    return PostingOf(ticket).ended;
  }
  Status Complete(Ticket ticket, const CallLimits& limits) override {
    std::unique_lock lock(mutex_);
    Posting& posting = PostingOf(ticket);
    posting.waited_for = true;
    changed_.notify_all();
    while (!posting.ended) {
      Status status = limits.Check();
      if (!status.ok()) AbortLocked(std::string(status.message()));
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    posting.completed = true;
    changed_.notify_all();
    return posting.status.Clone();
  }
  void Abort(std::string cause) override {
    std::lock_guard lock(mutex_);
    AbortLocked(std::move(cause));
  }
  Status status() const override {
    std::lock_guard lock(mutex_);
    return status_.Clone();
  }

  // ---- The test's side ----

  // Ends operation number `index`.
  void End(size_t index, Status status = {}) {
    std::lock_guard lock(mutex_);
    EndLocked(postings_[index], std::move(status));
  }
  // Waits until `count` operations have been posted, or for 10 s. Returns whether they have.
  bool AwaitPosted(size_t count) {
    return Await([&] { return postings_.size() >= count; });
  }
  // Waits until somebody waits for operation number `index`.
  bool AwaitWaitedFor(size_t index) {
    return Await([&] { return postings_.size() > index && postings_[index].waited_for; });
  }
  size_t posted() const {
    std::lock_guard lock(mutex_);
    return postings_.size();
  }
  Posting posting(size_t index) const {
    std::lock_guard lock(mutex_);
    const Posting& p = postings_[index];
    return {p.operation, p.input, p.output, p.ended, p.waited_for, p.completed, p.status.Clone()};
  }
  size_t tests() const {
    std::lock_guard lock(mutex_);
    return tests_;
  }

 private:
  static Posting& PostingOf(const Ticket& ticket) { return *static_cast<Posting*>(ticket.work); }
  void EndLocked(Posting& posting, Status status) {
    if (posting.ended) return;
    posting.ended = true;
    posting.status = std::move(status);
    changed_.notify_all();
  }
  void AbortLocked(std::string cause) {
    if (status_.ok()) status_ = Status(Code::kAborted, std::move(cause));
    for (Posting& posting : postings_) EndLocked(posting, status_.Clone());
  }
  template <typename Done>
  bool Await(Done done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), done);
  }

  const int rank_, size_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Posting> postings_;
  Status status_;
  size_t tests_ = 0;
};

}  // namespace hr::comm
