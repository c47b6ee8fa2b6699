// Draws graphs at random and holds their runs against each other and the naive reference.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/conformance/random_graphs/assemble.h"
#include "tests/conformance/random_graphs/emitted.h"
#include "tests/conformance/random_graphs/generate.h"
#include "tests/conformance/random_graphs/new_process.h"
#include "tests/conformance/random_graphs/shrink.h"

namespace hr::random_graphs {
namespace {

constexpr const char* kHelp =
    R"(usage: random_graphs [--seed S] [--count N] [--shrink] [--keep FOLDER]
       random_graphs --case FILE [--shrink] | --cases FOLDER | --open FOLDER | --print S
       random_graphs --operators [--seed S] [--count N]
       random_graphs --emitted FILE [--write] [--seed S] [--count N]

Draws the graphs of seeds S, S+1, … (default 0; N of them, default 1000) and judges each: fused and
unfused plans against the naive reference, one and two threads, bounds, limits of memory, reruns, and a new process
that loads them from files. Exits 1 if one fails.

  --seed S        the first seed
  --count N       how many graphs
  --shrink        make each failing graph smaller before it is told
  --keep FOLDER   write failing graphs (made smaller) to FOLDER/seed_S.txt
  --case FILE     judge the graph of a case file instead
  --cases FOLDER  judge all case files (*.txt) of a folder
  --open FOLDER   with seeds: leave out those that its case files name ("# seeds 18 38");
                  alone: these cases are known to fail, and the run fails if one does not
  --print S       print the graph of seed S
  --operators     fail if an operator is not drawn by these seeds
  --emitted FILE  fail if FILE (runtime/ops/emitted.txt) is not what the rules of operators emit in
                  these graphs; --write: write it
  --trials N      how many graphs to try while making one smaller (default 400)
  --emulator PROGRAM  starts the new process, if this one was built for another processor
)";

// What is judged, for the message of a crash.
char judged_now[64];

void TellCrash(int signal) {
  constexpr char kText[] = "CRASHED at ";
  ssize_t written = write(STDOUT_FILENO, kText, sizeof kText - 1);
  written += write(STDOUT_FILENO, judged_now, std::strlen(judged_now));
  written += write(STDOUT_FILENO, "\n", 1);
  _exit(written > 0 ? 128 + signal : 1);
}

void NameForCrash(const std::string& name) {
  std::snprintf(judged_now, sizeof judged_now, "%s", name.c_str());
  std::fflush(stdout);
}

struct Options {
  uint64_t seed = 0;
  uint64_t count = 1000;
  bool shrink = false;
  bool operators = false;
  bool write = false;
  int trials = 400;
  bool seeds = false;  // were given
  std::string keep, file, folder, open, print, saved, emulator, emitted;
};

struct Totals {
  int graphs = 0, failed = 0, undefined = 0, bounded = 0;
  int64_t judged = 0, open = 0;
};

class Session {
 public:
  explicit Session(const Options& options) : options_(options) {}

  void Judge(const std::string& name, const Program& program) {
    NameForCrash(name);
    const Verdict verdict = judge_.Run(program);
    ++totals_.graphs;
    totals_.undefined += verdict.undefined;
    totals_.bounded += verdict.bounded;
    totals_.judged += verdict.judged;
    totals_.open += verdict.open;
    if (verdict.failed()) return Tell(name, program, verdict);
    if (verdict.undefined) return;
    const Status status = saved_.Save(judge_.operators(), name, program, verdict.hash);
    if (!status.ok()) Tell(name, program, {.judge = "save", .detail = status.ToString()});
  }

  void JudgeSeeds() {
    const std::set<uint64_t> open = OpenSeeds();
    for (uint64_t i = 0; i < options_.count; ++i) {
      if (open.contains(options_.seed + i)) continue;
      const std::string name = Cat("seed_", options_.seed + i);
      NameForCrash(name);
      Judge(name, Generate(judge_.operators(), options_.seed + i));
      if (isatty(STDERR_FILENO) != 0)
        std::fprintf(stderr, "\r%llu of %llu graphs", static_cast<unsigned long long>(i + 1),
                     static_cast<unsigned long long>(options_.count));
    }
    if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\n");
  }

  Status JudgeFolder() {
    for (const std::string& path : CasesOf(options_.folder)) HR_RETURN_IF_ERROR(JudgeFile(path));
    return {};
  }

  // The exit code: 1 if a case of the folder does not fail.
  int JudgeOpen() {
    int out = 0;
    for (const std::string& path : CasesOf(options_.open)) {
      auto program = ReadProgram(path);
      const bool fails = program.ok() && judge_.Run(*program).failed();
      std::printf("%s %s\n",
                  fails ? "open:" : "MENDED, move it to the cases that hold:", path.c_str());
      if (!fails) out = 1;
    }
    return out;
  }

  Status JudgeFile(const std::string& path) {
    HR_ASSIGN_OR_RETURN(Program program, ReadProgram(path));
    Judge(std::filesystem::path(path).stem().string(), program);
    return {};
  }

  // The exit code.
  int Finish() {
    std::vector<std::string> command;
    if (!options_.emulator.empty()) command.push_back(options_.emulator);
    command.push_back(std::filesystem::canonical("/proc/self/exe").string());
    auto differing = saved_.Differing(std::move(command));
    if (!differing.ok()) {
      std::printf("new process: %s\n", differing.status().ToString().c_str());
      ++totals_.failed;
    } else {
      for (const std::string& name : *differing) {
        std::printf("FAILED %s: other bits in a new process\n", name.c_str());
        ++totals_.failed;
      }
    }
    std::printf(
        "%d graphs: %d failed, %d without an answer, %d bounded; %lld elements, %lld left open\n",
        totals_.graphs, totals_.failed, totals_.undefined, totals_.bounded,
        static_cast<long long>(totals_.judged), static_cast<long long>(totals_.open));
    return totals_.failed == 0 ? 0 : 1;
  }

  // Fails if an operator of the registry is not drawn.
  int TellMissing() {
    std::set<std::string> missing;
    for (const ops::OpDef* def : judge_.operators().all()) {
      const std::string_view domain = def->domain;
      // Those of groups take several processes; a mark computes nothing.
      const bool mark = domain == ops::kTrain && std::string_view(def->name) == "Gradient";
      if (DependsOnData(*def) || domain == ops::kComm || mark) continue;
      missing.insert(Cat(domain, domain.empty() ? "" : ".", def->name));
    }
    for (uint64_t i = 0; i < options_.count && !missing.empty(); ++i) {
      auto module = Assemble(judge_.operators(), Generate(judge_.operators(), options_.seed + i));
      if (!module.ok()) continue;
      for (const graph::Node& node : module->main().nodes) {
        const graph::Operator& op = module->OperatorOf(node);
        missing.erase(Cat(op.domain, op.domain.empty() ? "" : ".", op.name));
      }
    }
    for (const std::string& name : missing) std::printf("never drawn: %s\n", name.c_str());
    return missing.empty() ? 0 : 1;
  }

  // Writes the file, or fails if another would be written.
  int CompareEmitted() {
    Emitted emitted(judge_.operators());
    Status status = emitted.Record(options_.seed, options_.count);
    auto text = status.ok() ? emitted.Text(options_.emitted) : Result<std::string>(status.Clone());
    if (text.ok() && options_.write) status = WriteText(options_.emitted, *text);
    if (!text.ok() || !status.ok()) {
      std::printf("%s\n", (text.ok() ? status : text.status()).ToString().c_str());
      return 1;
    }
    std::ifstream file(options_.emitted);
    std::istringstream expected(*text);
    int out = 0;
    for (std::string line, other; std::getline(expected, line);) {
      if (std::getline(file, other) && line == other) continue;
      std::printf("%s: expected '%s'\n   got '%s'\n", options_.emitted.c_str(), line.c_str(),
                  other.c_str());
      out = 1;
    }
    if (out != 0) std::printf("random_graphs --emitted FILE --write writes it\n");
    return out;
  }

  int Print() {
    const Program program =
        Generate(judge_.operators(), std::strtoull(options_.print.c_str(), nullptr, 10));
    std::printf("%s", program.text().c_str());
    return 0;
  }

 private:
  // Bodies, sequences, and sizes that follow from data: no graph here has them.
  // tests/unit/transform/control_gradients_test.cc, tests/capi/control*_test.c and ONNX's node
  // tests judge these.
  static bool DependsOnData(const ops::OpDef& def) {
    return def.control != ops::Control::kNone || def.domain == ops::kSized ||
           (def.containers && def.name != "Identity") ||
           IsOneOf(def.name, {"NonZero", "Compress", "Unique", "NonMaxSuppression"});
  }
  static std::set<std::string> CasesOf(const std::string& folder) {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".txt") out.insert(entry.path().string());
    }
    return out;
  }
  std::set<uint64_t> OpenSeeds() const {
    std::set<uint64_t> out;
    if (options_.open.empty()) return out;
    for (const std::string& path : CasesOf(options_.open)) {
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("# seeds ")) continue;
        std::istringstream seeds(line.substr(8));
        for (uint64_t seed = 0; seeds >> seed;) out.insert(seed);
      }
    }
    return out;
  }

  void Tell(const std::string& name, const Program& program, Verdict verdict) {
    ++totals_.failed;
    Program smaller = program;
    if (options_.shrink || !options_.keep.empty()) {
      smaller = Shrink(judge_, program, verdict.judge, options_.trials);
      // What reads memory that nobody wrote may be right at times.
      const Verdict again = judge_.Run(smaller);
      if (again.failed()) verdict = again;
    }
    std::printf("FAILED %s, %s: %s\n%s\n", name.c_str(), verdict.judge.c_str(),
                verdict.detail.c_str(), smaller.text().c_str());
    std::fflush(stdout);
    if (options_.keep.empty()) return;
    const Status status =
        WriteText(Cat(options_.keep, "/", name, ".txt"),
                  Cat("# ", verdict.judge, ": ", verdict.detail, "\n", smaller.text()));
    if (!status.ok()) std::printf("%s\n", status.ToString().c_str());
  }

  const Options& options_;
  random_graphs::Judge judge_;
  SavedPrograms saved_;
  Totals totals_;
};

bool Parse(int count, char** words, Options& out) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--shrink") {
      out.shrink = true;
      continue;
    }
    if (word == "--operators") {
      out.operators = true;
      continue;
    }
    if (word == "--write") {
      out.write = true;
      continue;
    }
    if (i + 1 >= count) return false;
    const std::string value = words[++i];
    if (word == "--seed") {
      out.seed = std::strtoull(value.c_str(), nullptr, 10);
      out.seeds = true;
    } else if (word == "--count") {
      out.count = std::strtoull(value.c_str(), nullptr, 10);
      out.seeds = true;
    } else if (word == "--trials") {
      out.trials = std::atoi(value.c_str());
    } else if (word == "--keep") {
      out.keep = value;
    } else if (word == "--case") {
      out.file = value;
    } else if (word == "--cases") {
      out.folder = value;
    } else if (word == "--open") {
      out.open = value;
    } else if (word == "--print") {
      out.print = value;
    } else if (word == "--emitted") {
      out.emitted = value;
    } else if (word == "--emulator") {
      out.emulator = value;
    } else if (word == "--run-saved") {
      out.saved = value;
    } else {
      return false;
    }
  }
  return true;
}

int Main(int count, char** words) {
  Options options;
  if (!Parse(count, words, options)) {
    std::printf("%s", kHelp);
    return count == 2 && std::strcmp(words[1], "--help") == 0 ? 0 : 2;
  }
  if (!options.saved.empty()) {
    const Status status = RunSaved(options.saved);
    if (!status.ok()) std::printf("%s\n", status.ToString().c_str());
    return status.ok() ? 0 : 1;
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(signal, TellCrash);
  Session session(options);
  if (!options.print.empty()) return session.Print();
  if (options.operators) return session.TellMissing();
  if (!options.emitted.empty()) return session.CompareEmitted();
  if (!options.open.empty() && !options.seeds) return session.JudgeOpen();
  Status status;
  if (!options.file.empty()) {
    status = session.JudgeFile(options.file);
  } else if (!options.folder.empty()) {
    status = session.JudgeFolder();
  } else {
    session.JudgeSeeds();
  }
  if (!status.ok()) {
    std::printf("%s\n", status.ToString().c_str());
    return 1;
  }
  return session.Finish();
}

}  // namespace
}  // namespace hr::random_graphs

int main(int count, char** words) { return hr::random_graphs::Main(count, words); }
