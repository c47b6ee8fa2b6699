#include "capi/src/train/elastic_group.h"

#ifdef HEADRACE_COMM
#include "capi/src/comm/handles.h"
#include "runtime/comm/elastic.h"
#endif

namespace hr::capi {
namespace {

#ifdef HEADRACE_COMM

class HandleGroup final : public train::ElasticGroup {
 public:
  HandleGroup(hr_group* handle, std::shared_ptr<session::Session> session, std::string name)
      : handle_(handle), session_(std::move(session)), name_(std::move(name)) {}

  int rank() const override { return group().rank(); }
  int size() const override { return group().size(); }
  Status status() const override { return group().status(); }
  Status Shrink(const CallLimits& limits) override {
    return Take(comm::Shrink(group(), Bounded(limits)));
  }
  Status Grow(int size, const CallLimits& limits) override {
    return Take(comm::Grow(group(), size, Bounded(limits)));
  }
  Result<int> Waiting() override { return comm::Waiting(group(), Bounded({})); }
  Status SetClosed(bool closed) override { return comm::SetClosed(group(), closed, Bounded({})); }
  Status Bind(const CallLimits& limits) override {
    return BindGroup(*session_, name_, group(), Bounded(limits));
  }
  Status Meet(const CallLimits& limits) override {
    return group().Run({.kind = comm::OpKind::kBarrier}, nullptr, nullptr, Bounded(limits));
  }
  train::CheckpointOwner owner() const override {
    return {.job = group().options().job, .epoch = group().options().epoch};
  }

 private:
  comm::Group& group() const { return *handle_->rep; }
  Status Take(Result<std::shared_ptr<comm::Group>> next) {
    HR_ASSIGN_OR_RETURN(handle_->rep, std::move(next));
    return {};
  }
  // Nobody waits for a peer for ever.
  CallLimits Bounded(CallLimits limits) const {
    const comm::MeshOptions& mesh = group().options();
    if (limits.clock != nullptr || mesh.timeout_nanos < 0) return limits;
    limits.clock = mesh.clock;
    limits.deadline_nanos = mesh.clock->NowNanos() + mesh.timeout_nanos;
    return limits;
  }

  hr_group* const handle_;
  const std::shared_ptr<session::Session> session_;
  const std::string name_;
};

#endif

}  // namespace

Result<std::shared_ptr<train::ElasticGroup>> ElasticGroupOf(
    hr_group* group, std::shared_ptr<session::Session> session, std::string name) {
#ifdef HEADRACE_COMM
  if (!group->rep->whole()) {
    return InvalidArgument("hr_train_options.elastic_group is a sub-group, which cannot shrink or ",
                           "grow; give the group that it was split from");
  }
  return std::shared_ptr<train::ElasticGroup>(
      std::make_shared<HandleGroup>(group, std::move(session), std::move(name)));
#else
  (void)group, (void)session, (void)name;
  return Unimplemented("this build has no communication");
#endif
}

}  // namespace hr::capi
