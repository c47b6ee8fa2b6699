// Compiling a region at all its sizes.
#include <mutex>
#include <optional>

#include "runtime/lowering/make_program.h"
#include "runtime/lowering/schedule.h"
#include "runtime/lowering/target.h"
#include "runtime/lowering/widen.h"

namespace hr::lowering {
namespace {

using graph::NodeId;

// A region after all passes, with the order of its steps: kernels are made from it.
struct Lowered {
  Region region;
  std::vector<NodeId> order;
};

// A region at all its sizes. Passes may decide by sizes. They run, and steps are ordered, once for
// each outcome of these decisions (as a rule there is one); kernels are made and the arena is laid
// out for every size.
// Thread-safe.
class Lowering : public std::enable_shared_from_this<Lowering> {
 public:
  Lowering(const Target& target, const CompileOptions& options)
      : target_(target), options_(options) {}

  Result<std::unique_ptr<Executable>> At(const graph::Module& given) {
    const std::optional<graph::Module> widened = Widened(target_, given);
    const graph::Module& module = widened ? *widened : given;
    if (auto sized = Find(module)) return Make(*sized);
    auto lowered = std::make_unique<Lowered>(Lowered{Region(module, options_.resizable), {}});
    if (options_.fuse) HR_RETURN_IF_ERROR(target_.Fuse(lowered->region, options_));
    HR_RETURN_IF_ERROR(AssignLayouts(lowered->region, target_, *options_.operators));
    HR_ASSIGN_OR_RETURN(lowered->order, Schedule(*options_.operators, lowered->region.module));
    HR_ASSIGN_OR_RETURN(auto&& executable, Make(*lowered));
    if (options_.resizable) Keep(std::move(lowered));
    return executable;
  }

 private:
  // Few outcomes of the decisions occur. Those beyond this number are lowered anew each time.
  static constexpr size_t kMaxKept = 8;

  // Returns what an earlier size with the same decisions was lowered to, at this size.
  std::optional<Lowered> Find(const graph::Module& module) {
    std::lock_guard lock(mutex_);
    for (const auto& known : kept_) {
      Region sized = known->region.At(module);
      if (known->region.FitsAt(sized)) return Lowered{std::move(sized), known->order};
    }
    return std::nullopt;
  }

  void Keep(std::unique_ptr<const Lowered> lowered) {
    std::lock_guard lock(mutex_);
    if (kept_.size() < kMaxKept) kept_.push_back(std::move(lowered));
  }

  Result<std::unique_ptr<Executable>> Make(const Lowered& lowered) {
    HR_ASSIGN_OR_RETURN(auto&& program,
                        MakeProgram(target_, lowered.region, lowered.order, options_, pool_));
    if (options_.resizable) {
      program->set_resizer(
          [self = shared_from_this()](const graph::Module& sized) { return self->At(sized); });
    }
    return std::unique_ptr<Executable>(std::move(program));
  }

  const Target& target_;
  const CompileOptions options_;
  const std::shared_ptr<engine::PreparedPool> pool_ = std::make_shared<engine::PreparedPool>();
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Lowered>> kept_;
};

}  // namespace

Result<std::unique_ptr<Executable>> Lower(const Target& target, const graph::Module& region,
                                          const CompileOptions& options) {
  return std::make_shared<Lowering>(target, options)->At(region);
}

}  // namespace hr::lowering
