// A log for threads that must not wait: the host's sink is called on another thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/worker_threads.h"

namespace hr::comm {

// Messages are written one after the other, in their order. If the sink is slow and many are
// waiting, new ones are dropped, and a message says how many.
class BackgroundLog final : public LogSink {
 public:
  // `sink` outlives the log.
  BackgroundLog(LogSink& sink, std::shared_ptr<WorkerThreads> threads)
      : sink_(sink), threads_(std::move(threads)) {}
  // Waits until everything is written.
  ~BackgroundLog() override;

  void Write(LogLevel level, std::string_view message) override;

 private:
  struct Message {
    LogLevel level;
    std::string text;
  };
  void WriteAll();

  LogSink& sink_;
  const std::shared_ptr<WorkerThreads> threads_;
  std::mutex mutex_;  // what follows
  std::condition_variable written_;
  std::deque<Message> waiting_;
  size_t dropped_ = 0;
  bool writing_ = false;
};

}  // namespace hr::comm
