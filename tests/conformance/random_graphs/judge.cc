#include "tests/conformance/random_graphs/judge.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/errors.h"
#include "runtime/transform/compose.h"
#include "tests/conformance/random_graphs/assemble.h"

namespace hr::random_graphs {

using graph::ValueId;

// One program under judgement.
class Trial {
 public:
  Trial(Judge& judge, const Program& program) : judge_(judge), program_(program) {}

  Verdict Run() {
    if (program_.refused) return RunRefused();
    for (const auto& [name, check] : kChecks) {
      const Status status = (this->*check)();
      if (!status.ok()) {
        verdict_.judge = name;
        verdict_.detail = status.ToString();
      }
      if (verdict_.failed() || verdict_.undefined) break;
    }
    return verdict_;
  }

 private:
  Verdict RunRefused() {
    verdict_.undefined = true;
    feeds_ = FeedsOf(program_);
    if (RunWith(judge_.one_, true).ok())
      verdict_.judge = "refused", verdict_.detail = "the program was taken and run";
    return verdict_;
  }

  // What a failure of the comparison is told by.
  static Status Differ(const std::string& difference) {
    return difference.empty() ? Status() : DataLoss(difference);
  }

  Result<Results> RunWith(const std::shared_ptr<session::Env>& env, bool fuse) {
    HR_ASSIGN_OR_RETURN(graph::Module module, Assemble(judge_.operators(), program_));
    HR_ASSIGN_OR_RETURN(Runner runner, Runner::Create(env, std::move(module), fuse));
    return runner.Run(feeds_, program_.steps);
  }
  Status AgainstReference(const Results& results) {
    HR_ASSIGN_OR_RETURN(std::string difference,
                        expectation_->Difference(results, judge_.most_runs_));
    verdict_.judged = expectation_->judged();
    verdict_.open = expectation_->open();
    return Differ(difference);
  }

  // What the reference runs; values keep their numbers.
  Result<graph::Module> ComposedOf(const graph::Module& module) {
    return transform::Composed(SystemAllocator(), judge_.operators(), module, true);
  }

  Status AssembleAll() {
    feeds_ = FeedsOf(program_);
    HR_ASSIGN_OR_RETURN(module_, Assemble(judge_.operators(), program_));
    return {};
  }

  // What random nodes draw, from an unfused run that fetches it.
  Result<Drawn> DrawnNumbers() {
    Drawn out(static_cast<size_t>(program_.steps));
    std::vector<ValueId> values;
    std::vector<std::string> names;
    for (const graph::Node& node : module_.main().nodes) {
      const graph::Operator& op = module_.OperatorOf(node);
      if (!judge_.operators().Find(op.domain, op.name, op.version)->random) continue;
      const size_t drawn = op.name == "Dropout" ? 1 : 0;
      if (drawn >= node.outputs.size()) return InvalidArgument("a Dropout without its mask");
      values.push_back(node.outputs[drawn]);
      names.push_back(module_.main().values[values.back()].name);
    }
    if (names.empty()) return out;
    HR_ASSIGN_OR_RETURN(graph::Module module, Assemble(judge_.operators(), program_));
    HR_ASSIGN_OR_RETURN(Runner runner, Runner::Create(judge_.one_, std::move(module), false));
    HR_ASSIGN_OR_RETURN(auto steps, runner.Fetch(feeds_, program_.steps, names));
    for (size_t step = 0; step < steps.size(); ++step) {
      for (size_t i = 0; i < values.size(); ++i)
        out[step][values[i]] = reference::FromTensor(steps[step][i]);
    }
    return out;
  }

  Status Expect() {
    HR_ASSIGN_OR_RETURN(Drawn drawn, DrawnNumbers());
    HR_ASSIGN_OR_RETURN(composed_, ComposedOf(module_));
    auto expectation = Expectation::Create(composed_, feeds_, program_.steps, std::move(drawn));
    if (!expectation.ok()) return std::move(expectation).status();
    expectation_.emplace(std::move(expectation).value());
    verdict_.undefined = !expectation_->undefined().empty();
    verdict_.detail = expectation_->undefined();
    return {};
  }

  Status Unfused() {
    HR_ASSIGN_OR_RETURN(Results results, RunWith(judge_.one_, false));
    return AgainstReference(results);
  }

  Status Fused() {
    HR_ASSIGN_OR_RETURN(fused_, RunWith(judge_.one_, true));
    verdict_.hash = fused_.Hash();
    return AgainstReference(fused_);
  }

  // A session of its own gives the same bits.
  Status Again() {
    HR_ASSIGN_OR_RETURN(Results results, RunWith(judge_.one_, true));
    return Differ(BitDifference(fused_, results));
  }

  Status TwoThreads() {
    HR_ASSIGN_OR_RETURN(Results results, RunWith(judge_.two_, true));
    HR_RETURN_IF_ERROR(AgainstReference(results));
    HR_ASSIGN_OR_RETURN(Results again, RunWith(judge_.two_, true));
    return Differ(BitDifference(results, again));
  }

  // With as little working memory as the plan can do with, which the refusal of less tells.
  Status Limited() {
    auto results = RunLimited(1);
    if (results.status().code() == Code::kResourceExhausted) {
      const std::string_view message = results.status().message();
      const size_t at = message.find("needs ") + 6;
      size_t least = 0;
      std::from_chars(message.data() + at, message.data() + message.size(), least);
      results = RunLimited(least);
    }
    if (!results.ok()) return std::move(results).status();
    return Differ(BitDifference(fused_, *results));
  }
  Result<Results> RunLimited(size_t limit) {
    HR_ASSIGN_OR_RETURN(graph::Module module, Assemble(judge_.operators(), program_));
    HR_ASSIGN_OR_RETURN(Runner runner, Runner::Create(judge_.one_, std::move(module), true, limit));
    return runner.Run(feeds_, program_.steps);
  }

  static bool HasUnranked(const graph::Module& module) {
    const auto& values = module.main().values;
    return std::any_of(values.begin(), values.end(),
                       [](const graph::Value& value) { return !value.type.ranked; });
  }

  // A plan with bounds at the size of the program, where it can be had: after another size, if
  // that leaves nothing behind.
  Status Bounded() {
    if (program_.bound == 0) return {};
    auto module = Assemble(judge_.operators(), program_, true);
    if (!module.ok()) return {};  // some shape of the program is that of its batch alone
    // A composition needs a rank that only the sizes of a plan would tell.
    if (HasUnranked(*module) && !ComposedOf(*module).ok()) return {};
    auto runner = Runner::Create(judge_.one_, std::move(module).value(), true);
    if (!runner.ok()) return std::move(runner).status();
    if (!program_.stateful()) HR_RETURN_IF_ERROR(OtherSize(*runner));
    auto results = runner->Run(feeds_, program_.steps);
    // At the bound itself the shapes may not fit each other.
    if (!results.ok()) return {};
    verdict_.bounded = true;
    return AgainstReference(*results);
  }

  // A smaller batch in the bounded plan, and with everything fixed.
  Status OtherSize(Runner& bounded) {
    const int64_t batch = program_.batch / 2 + 1;
    const auto feeds = FeedsOf(program_, batch);
    Program fixed = program_;
    for (Statement& statement : fixed.statements) {
      Dims& dims = statement.data.dims;
      const bool named = statement.kind == Statement::Kind::kInput && !dims.empty();
      if (named && dims[0] == program_.batch) dims[0] = batch;
    }
    auto results = bounded.Run(feeds, 1);
    auto module = Assemble(judge_.operators(), fixed);
    if (!module.ok() || !results.ok()) return {};
    HR_ASSIGN_OR_RETURN(const graph::Module copy, ComposedOf(*module));
    auto runner = Runner::Create(judge_.one_, std::move(module).value(), true);
    if (!runner.ok()) return std::move(runner).status();
    HR_ASSIGN_OR_RETURN(Results exact, runner->Run(feeds, 1));
    if (BitDifference(exact, *results).empty()) return {};
    HR_ASSIGN_OR_RETURN(auto expected, Expectation::Create(copy, feeds, 1, Drawn(1)));
    if (!expected.undefined().empty()) return {};
    HR_ASSIGN_OR_RETURN(std::string difference, expected.Difference(*results, judge_.most_runs_));
    return Differ(difference.empty() ? "" : Cat("batch ", batch, ": ", difference));
  }

  using Check = Status (Trial::*)();
  static constexpr std::pair<const char*, Check> kChecks[] = {
      {"assemble", &Trial::AssembleAll}, {"reference", &Trial::Expect},
      {"unfused", &Trial::Unfused},      {"fused", &Trial::Fused},
      {"again", &Trial::Again},          {"threads", &Trial::TwoThreads},
      {"limited", &Trial::Limited},      {"bounded", &Trial::Bounded}};

  Judge& judge_;
  const Program& program_;
  Verdict verdict_;
  std::vector<Feed> feeds_;
  graph::Module module_, composed_;
  std::optional<Expectation> expectation_;
  Results fused_;
};

Verdict Judge::Run(const Program& program) { return Trial(*this, program).Run(); }

Result<uint64_t> Judge::HashOf(const Program& program, graph::Module module) {
  HR_ASSIGN_OR_RETURN(Runner runner, Runner::Create(one_, std::move(module), true));
  HR_ASSIGN_OR_RETURN(Results results, runner.Run(FeedsOf(program), program.steps));
  return results.Hash();
}

}  // namespace hr::random_graphs
