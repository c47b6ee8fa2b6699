#include "tests/conformance/random_graphs/shrink.h"

#include <algorithm>
#include <set>

#include "tests/conformance/random_graphs/assemble.h"

namespace hr::random_graphs {
namespace {

class Shrinker {
 public:
  Shrinker(Judge& judge, Program program, std::string failed, int most_trials)
      : judge_(judge),
        program_(std::move(program)),
        failed_(std::move(failed)),
        trials_(most_trials) {}

  Program Run() {
    judge_.SetMostRuns(10);
    bool smaller = true;
    while (smaller && trials_ > 0) {
      smaller = Fetches();
      smaller = Settings() || smaller;
      smaller = Drop() || smaller;
      smaller = Bypass() || smaller;
      smaller = Cut() || smaller;
      smaller = Sizes() || smaller;
    }
    judge_.SetMostRuns(60);
    return program_;
  }

 private:
  // Takes the candidate if it fails as the program does.
  bool Take(Program candidate) {
    candidate.Prune();
    if (trials_ <= 0 || candidate.fetches.empty() || candidate.text() == program_.text())
      return false;
    --trials_;
    if (judge_.Run(candidate).judge != failed_) return false;
    program_ = std::move(candidate);
    return true;
  }

  bool Fetches() {
    bool out = false;
    for (size_t i = 0; i < program_.fetches.size() && program_.fetches.size() > 1;) {
      Program candidate = program_;
      candidate.fetches.erase(candidate.fetches.begin() + static_cast<std::ptrdiff_t>(i));
      if (Take(std::move(candidate))) {
        out = true;
      } else {
        ++i;
      }
    }
    return out;
  }

  bool Settings() {
    bool out = false;
    if (program_.bound != 0) {
      Program candidate = program_;
      candidate.batch = candidate.bound = 0;
      out = Take(std::move(candidate));
    }
    if (program_.steps > 1) {
      Program candidate = program_;
      --candidate.steps;
      out = Take(std::move(candidate)) || out;
    }
    return out;
  }

  // Effects, which nothing refers to.
  bool Drop() {
    bool out = false;
    for (size_t i = program_.statements.size(); i-- > 0;) {
      if (i >= program_.statements.size() || !program_.statements[i].effect()) continue;
      Program candidate = program_;
      candidate.statements.erase(candidate.statements.begin() + static_cast<std::ptrdiff_t>(i));
      out = Take(std::move(candidate)) || out;
    }
    return out;
  }

  static void Rename(Program& program, size_t from, const std::string& name,
                     const std::string& to) {
    for (size_t i = from; i < program.statements.size(); ++i) {
      Statement& s = program.statements[i];
      std::replace(s.operands.begin(), s.operands.end(), name, to);
      if (s.of == name) s.of = to;
    }
    std::replace(program.fetches.begin(), program.fetches.end(), name, to);
  }

  // A node's operand in place of its result.
  bool Bypass() {
    bool out = false;
    for (size_t i = program_.statements.size(); i-- > 0;) {
      for (size_t o = 0;
           i < program_.statements.size() && o < program_.statements[i].operands.size(); ++o) {
        const Statement& s = program_.statements[i];
        if (s.kind != Statement::Kind::kNode || s.results.empty() || s.operands[o] == "_") continue;
        Program candidate = program_;
        Rename(candidate, i + 1, s.results[0], s.operands[o]);
        if (!Take(std::move(candidate))) continue;
        out = true;
        break;
      }
    }
    return out;
  }

  // The reference's values, by their names.
  std::map<std::string, reference::Array> ValuesOf(const Program& program) {
    std::map<std::string, reference::Array> out;
    auto module = Assemble(judge_.operators(), program);
    if (!module.ok() || program.random()) return out;
    auto expected = Expectation::Create(*module, FeedsOf(program), 1, Drawn(1));
    if (!expected.ok()) return out;
    for (graph::ValueId id = 0; id < module->main().values.size(); ++id) {
      if (const reference::Array* array = expected->ValueOf(id))
        out[module->main().values[id].name] = *array;
    }
    return out;
  }

  // An input with numbers of the same range in place of a node's first result.
  bool Cut() {
    bool out = false;
    const auto values = ValuesOf(program_);
    for (size_t i = program_.statements.size(); i-- > 0;) {
      if (i >= program_.statements.size()) continue;
      const Statement& s = program_.statements[i];
      if (s.kind != Statement::Kind::kNode || s.results.size() != 1) continue;
      auto value = values.find(s.results[0]);
      if (value == values.end() || value->second.size() == 0) continue;
      const auto [low, high] =
          std::minmax_element(value->second.data.begin(), value->second.data.end());
      const char* kind = IsFloating(value->second.dtype) ? "uniform" : "integers";
      Program candidate = program_;
      candidate.statements[i] = {.kind = Statement::Kind::kInput,
                                 .results = s.results,
                                 .data = {value->second.dtype,
                                          value->second.dims,
                                          kind,
                                          static_cast<double>(*low),
                                          static_cast<double>(*high),
                                          i,
                                          {}}};
      out = Take(std::move(candidate)) || out;
    }
    return out;
  }

  // One size for another, wherever it stands.
  bool Sizes() {
    bool out = false;
    std::set<int64_t> sizes;
    for (const Statement& s : program_.statements)
      sizes.insert(s.data.dims.begin(), s.data.dims.end());
    for (int64_t size : sizes) {
      for (int64_t less : {int64_t{1}, size / 2, size - 1}) {
        if (less < 1 || less >= size) continue;
        Program candidate = program_;
        for (Statement& s : candidate.statements) {
          if (s.data.kind != "values")
            std::replace(s.data.dims.begin(), s.data.dims.end(), size, less);
        }
        if (candidate.batch == size) candidate.batch = less;
        if (!Take(std::move(candidate))) continue;
        out = true;
        break;
      }
    }
    return out;
  }

  Judge& judge_;
  Program program_;
  std::string failed_;
  int trials_;
};

}  // namespace

Program Shrink(Judge& judge, const Program& program, const std::string& failed, int most_trials) {
  return Shrinker(judge, program, failed, most_trials).Run();
}

}  // namespace hr::random_graphs
