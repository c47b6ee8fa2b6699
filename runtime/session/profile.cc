#include "runtime/session/profile.h"

#include <algorithm>

#include "runtime/base/json_writer.h"

namespace hr::session {

Lease Profile::Begin(Lease threads) {
  threads_ = std::move(threads);
  numbers_ = {std::this_thread::get_id()};
  start_ = std::chrono::steady_clock::now();
  return threads_.Through(*this);
}

Profile::Time Profile::Now() const {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count();
}

void Profile::BeginStep(StepFacts facts) {
  steps_.push_back({.node = std::string(facts.node),
                    .kernel = std::move(facts.kernel),
                    .operations = facts.operations,
                    .bytes = facts.bytes,
                    .live_bytes = facts.live_bytes});
  steps_.back().begin = Now();
}

void Profile::EndStep() { steps_.back().end = Now(); }

size_t Profile::NumberOf(std::thread::id thread) {
  const auto known = std::find(numbers_.begin(), numbers_.end(), thread);
  const auto number = static_cast<size_t>(known - numbers_.begin());
  if (known == numbers_.end()) numbers_.push_back(thread);
  return number;
}

void Profile::AddTask(std::thread::id thread, Time begin, Time end) {
  std::lock_guard lock(mutex_);
  if (steps_.empty()) return;  // preparations come before the first step
  const size_t number = NumberOf(thread);
  auto& shares = steps_.back().shares;
  const auto known = std::find_if(shares.begin(), shares.end(),
                                  [&](const Share& share) { return share.thread == number; });
  if (known == shares.end()) {
    shares.push_back({number, begin, end, end - begin});
    return;
  }
  known->end = end;
  known->busy += end - begin;
}

void Profile::ParallelFor(int tasks, int, TaskFunction fn, void* context) {
  threads_.ParallelFor(tasks, [&](int task) {
    const Time begin = Now();
    fn(context, task);
    AddTask(std::this_thread::get_id(), begin, Now());
  });
}

std::string Profile::Json() const {
  JsonWriter json;
  json.BeginObject()
      .Field("begin", std::chrono::nanoseconds(start_.time_since_epoch()).count())
      .Field("nanoseconds", end_)
      .Field("threads", threads_.threads());
  json.Key("steps").BeginArray();
  for (const Step& step : steps_) {
    json.BeginObject()
        .Field("node", step.node)
        .Field("kernel", step.kernel)
        .Field("begin", step.begin)
        .Field("end", step.end)
        .Field("operations", step.operations)
        .Field("bytes", step.bytes)
        .Field("live_bytes", step.live_bytes)
        .Key("shares")
        .BeginArray();
    for (const Share& share : step.shares) {
      json.BeginObject()
          .Field("thread", share.thread)
          .Field("begin", share.begin)
          .Field("end", share.end)
          .Field("busy", share.busy)
          .EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace hr::session
