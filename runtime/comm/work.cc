#include "runtime/comm/work.h"

#include <cstring>

#include "runtime/comm/mesh.h"
#include "runtime/comm/reduce.h"

namespace hr::comm {

namespace {

// What takes so long, some 10 us, that heartbeats and other operations should not wait for it.
constexpr size_t kLongBytes = 64 << 10;
// For the rest of a message that is on its way when a receive's limits end.
constexpr int64_t kRestNanos = 500'000'000;

}  // namespace

Mesh& Work::mesh() const { return pool_->mesh(); }

Operations& Work::operations() const { return mesh().operations(); }

const std::vector<int>& Work::ranks() const { return pool_->ranks(); }

const MeshOptions& Work::options() const { return mesh().options(); }

bool Work::Test() {
  // The turn may have taken what somebody who sleeps was waiting for.
  if (done()) return true;
  Reactor& reactor = mesh().reactor();
  reactor.Visit();
  if (reactor.Turn() && !done()) reactor.Rouse();
  return done();
}

void Work::Poll() {
  mesh().reactor().Poll([this] { return done(); });
}

Status Work::Wait(const CallLimits& limits) {
  if (!done()) HR_RETURN_IF_ERROR(mesh().reactor().Wait(done_, limits));
  return status_.Clone();
}

Status Work::Complete(const CallLimits& limits) {
  Status status = Wait(limits);
  if (done()) return status_.Clone();
  End(status.Clone(), false);
  if (operation_.kind == OpKind::kRecv) {
    const int64_t until = SystemClock().NowNanos() + kRestNanos;
    Wait({.deadline_nanos = until, .clock = &SystemClock()}).IgnoreError();
    End(std::move(status), true);
  }
  return Wait({});  // for the verdict, which comes in any case
}

void Work::OnDone(std::function<void(const Status&)> callback) {
  {
    Reactor::Guard guard(mesh().reactor());
    if (!done()) return callbacks_.push_back(std::move(callback));
  }
  callback(status_);
}

void Work::Cancel() { End(Cancelled(operation_.Text(), " was cancelled"), false); }

void Work::End(Status status, bool insist) {
  Mesh& mesh = this->mesh();
  {
    Reactor::Guard guard(mesh.reactor());
    if (done()) return;
    if (operation_.kind != OpKind::kRecv) {
      mesh.watch().OnGivenUp(*this, status.code());
    } else if (!operations().IsComing(*this)) {
      operations().End(*this, status);
    } else if (insist) {
      mesh.watch().OnGivenUp(*this, status.code());
    }
  }
  mesh.Deliver();
}

// Takes the memory that the schedule needs.
Status Work::Prepare(Allocator& allocator, const void* input, void* output) {
  input_ = static_cast<const std::byte*>(input);
  output_ = static_cast<std::byte*>(output);
  if (parts_.size() < schedule_->transfers) parts_ = std::vector<Part>(schedule_->transfers);
  if (scratch_.bytes() < schedule_->scratch_bytes) {
    HR_ASSIGN_OR_RETURN(scratch_, Block::Create(allocator, schedule_->scratch_bytes));
  }
  if (operation_.kind == OpKind::kAllToAll && input == output && input != nullptr) {
    const size_t bytes = operation_.bytes() * ranks().size();
    HR_ASSIGN_OR_RETURN(staged_, Block::Create(allocator, bytes));
    std::memcpy(staged_.data(), input, bytes);
    input_ = staged_.begin();
  }
  return {};
}

std::byte* Work::At(const Slice& slice) const {
  switch (slice.place) {
    case Place::kInput: return const_cast<std::byte*>(input_) + slice.begin;
    case Place::kOutput: return output_ + slice.begin;
    case Place::kScratch: return scratch_.begin() + slice.begin;
    case Place::kSlot: return pool_->shared()->InSlot(slice.begin);
    case Place::kRing: return pool_->shared()->InRing(slice.begin, schedule_->ring_stage);
  }
  return nullptr;
}

bool Work::Awaits(const Step& step) const {
  if (step.kind == Step::kAwaitAll) return pending_ > 0;
  return step.kind == Step::kAwait && !parts_[step.transfer].complete;
}

bool Work::Run() {
  if (!IsMyTurn()) return false;
  while (next_step_ < schedule_->steps.size()) {
    const Step& step = schedule_->steps[next_step_];
    if (Awaits(step)) return false;
    if (step.kind == Step::kAwaitRaised && !HasRaised(step)) return false;
    ++next_step_;
    switch (step.kind) {
      case Step::kSend:
      case Step::kRecv: StartTransfer(step); break;
      case Step::kRaise: Raise(); break;
      default:
        if (!TakesLong(step)) {
          Compute(step);
        } else if (!operations().ComputeUnlocked(*this, [&] { Compute(step); })) {
          return false;
        }
    }
  }
  if (schedule_->raises > 0) pool_->shared()->EndTurn(*schedule_);
  return true;
}

bool Work::Needs(int rank) const {
  for (uint32_t i = 0; i < started_; ++i) {
    if (parts_[i].peer == rank && !parts_[i].complete) return true;
  }
  if (schedule_->raises == 0) return false;
  const std::vector<int>& ranks = this->ranks();
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != rank) continue;
    return !IsMyTurn() || !pool_->shared()->Raised(static_cast<int>(i), schedule_->raises);
  }
  return false;
}

bool Work::IsMyTurn() const { return schedule_->raises == 0 || pool_->shared()->turn() == turn_; }

bool Work::CanGoOn() const {
  if (computing_) return false;
  const Step& step = schedule_->steps[next_step_];
  return IsMyTurn() && !differs_ &&
         (step.kind != Step::kAwaitRaised || pool_->shared()->Raised(step.peer, step.transfer));
}

// Also false if the other rank has raised in another operation: that ends by a verdict.
bool Work::HasRaised(const Step& step) {
  const SharedArea& shared = *pool_->shared();
  if (!shared.Raised(step.peer, step.transfer)) return false;
  const uint64_t theirs = shared.LabelOf(step.peer);
  if (theirs == label_) return true;
  if (!std::exchange(differs_, true)) {
    operations().faults().OnMismatch(*this, ranks()[step.peer], theirs);
  }
  return false;
}

void Work::Raise() {
  SharedArea& shared = *pool_->shared();
  shared.Raise(label_);
  const std::vector<int>& ranks = this->ranks();
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (shared.TakeSleeper(static_cast<int>(i))) operations().Wake(ranks[i]);
  }
}

void Work::StartTransfer(const Step& step) {
  Part& part = parts_[started_++];
  const bool sends = step.kind == Step::kSend;
  const Slice& slice = sends ? step.a : step.out;
  part.data = At(slice);
  part.bytes = slice.bytes;
  part.tag = tag_;
  part.label = label_;
  part.owner = this;
  part.done = OnTransferDone;
  part.peer = ranks()[step.peer];
  part.complete = false;
  part.sends = sends;
  ++pending_;
  Endpoint& endpoint = operations().endpoint(part.peer);
  sends ? endpoint.Send(part) : endpoint.Recv(part);
}

bool Work::TakesLong(const Step& step) const {
  switch (step.kind) {
    case Step::kCombine:
    case Step::kMultiply:
    case Step::kDivide: return step.out.bytes >= kLongBytes;
    case Step::kCopy: return step.out.bytes >= kLongBytes && At(step.a) != At(step.out);
    default: return false;
  }
}

FusedCombine Work::FusedOf(const Step& step) const {
  return {.multiply = step.fused.multiply,
          .factor = operation_.factor,
          .divisor = step.fused.divide ? static_cast<int>(ranks().size()) : 0,
          .copy = step.fused.copy.bytes > 0 ? At(step.fused.copy) : nullptr};
}

void Work::Compute(const Step& step) {
  const size_t width = DTypeSize(operation_.dtype);
  const size_t count = step.out.bytes / width;
  switch (step.kind) {
    case Step::kCombine:
      return Combine(operation_.dtype, operation_.reduce_op, At(step.a), At(step.b), At(step.out),
                     count, FusedOf(step));
    case Step::kMultiply:
      return Multiply(operation_.dtype, At(step.a), operation_.factor, At(step.out), count);
    case Step::kDivide:
      return Divide(operation_.dtype, At(step.a), static_cast<int>(ranks().size()), At(step.out),
                    count);
    case Step::kCopy:
      if (count > 0 && At(step.a) != At(step.out)) {
        std::memmove(At(step.out), At(step.a), step.out.bytes);
      }
      return;
    default: return;
  }
}

void Work::OnTransferDone(Transfer& transfer) {
  auto& part = static_cast<Part&>(transfer);
  Work& work = *static_cast<Work*>(transfer.owner);
  // A part that failed is never complete: its work ends by a verdict.
  if (!part.status.ok() || (!part.sends && part.label != work.label_)) {
    return work.operations().OnTransferFailed(work, part);
  }
  part.complete = true;
  --work.pending_;
  work.operations().Ready(work);
}

}  // namespace hr::comm
