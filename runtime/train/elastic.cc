#include "runtime/train/elastic.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::train {
namespace {

constexpr int64_t kLookNanos = 250'000'000;
// For processes that wait to answer: they look for an invitation every few milliseconds.
constexpr int64_t kAnswerNanos = 2'000'000'000;

CallLimits Within(const CallLimits& limits, int64_t nanos) {
  CallLimits out = limits;
  if (out.clock == nullptr) out.clock = &SystemClock();
  out.deadline_nanos = std::min(out.deadline_nanos, out.clock->NowNanos() + nanos);
  return out;
}

}  // namespace

Elastic::Elastic(ElasticOptions options, std::function<void(std::string_view)> say,
                 std::function<Status(int)> fit)
    : options_(std::move(options)), say_(std::move(say)), fit_(std::move(fit)) {
  if (options_.max_ranks == 0) options_.max_ranks = size();
}

bool Elastic::IsEnd(const Status& failure) const {
  const Status ended = options_.group->status();
  return !failure.ok() && !ended.ok() && failure.code() == ended.code() &&
         failure.message().find(ended.message()) != failure.message().npos;
}

Status Elastic::Begin(const CallLimits& limits) {
  Status bound = Bind(limits);
  return bound.ok() || !IsEnd(bound) ? std::move(bound) : GoOn(std::move(bound), limits);
}

Status Elastic::GoOn(Status why, const CallLimits& limits) {
  while (true) {
    ElasticGroup& group = *options_.group;
    Status next = group.Shrink(limits);
    if (!next.ok()) {
      return Status(why.code(), Cat(why.message(), "; this rank cannot go on: ", next.message()));
    }
    const bool enough = size() >= options_.min_ranks;
    const std::string left = Cat(size(), size() == 1 ? " rank " : " ranks ");
    say_(enough ? Cat(why.message(), "; ", left, size() == 1 ? "goes on" : "go on")
                : Cat(why.message(), "; ", left, size() == 1 ? "is left" : "are left",
                      ", and the training needs ", options_.min_ranks,
                      ": it goes on when new ones have joined"));
    if (!enough) next = group.Grow(options_.min_ranks, limits);
    if (next.ok()) next = Bind(limits);
    if (next.ok() || !IsEnd(next)) return next;
    why = std::move(next);
  }
}

// A new rank whose graph differs is told so, like all others, and leaves; that ends the group.
Status Elastic::Bind(const CallLimits& limits) {
  HR_RETURN_IF_ERROR(fit_(size()));
  Status bound = options_.group->Bind(limits);
  if (bound.code() != Code::kFailedPrecondition) return bound;
  HR_RETURN_IF_ERROR(options_.group->status());
  HR_RETURN_IF_ERROR(options_.group->Meet(limits));
  return bound;
}

int Elastic::Coming() {
  const int64_t now = SystemClock().NowNanos();
  if (size() >= options_.max_ranks || now < next_look_) return 0;
  next_look_ = now + kLookNanos;
  // A store that cannot be reached now may be later; the group does not need it meanwhile.
  const Result<int> waiting = options_.group->Waiting();
  return waiting.ok() ? std::min(*waiting, options_.max_ranks - size()) : 0;
}

Result<bool> Elastic::TakeIn(int count, const CallLimits& limits) {
  Status grown = options_.group->Grow(size() + count, Within(limits, kAnswerNanos));
  if (grown.code() == Code::kDeadlineExceeded && limits.Check().ok()) return false;
  HR_RETURN_IF_ERROR(std::move(grown));
  say_(Cat("new ranks have come; ", size(), " go on"));
  HR_RETURN_IF_ERROR(Bind(limits));
  return true;
}

}  // namespace hr::train
