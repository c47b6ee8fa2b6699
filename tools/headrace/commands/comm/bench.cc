// headrace comm bench: how long the operations of a group take.
#include <algorithm>
#include <chrono>
#include <memory>

#include "tools/headrace/comm_data.h"
#include "tools/headrace/comm_options.h"
#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kCommBenchDescription[] =
    "Measures an operation of the group in which this process is started";
constexpr char kCommBenchFooter[] =
    R"(Every rank runs it; rank 0 prints. size is that of the larger buffer, time that of the slowest rank.
algbw is size / time. busbw is what that asks of each link at least, so that it can be compared with
the hardware and between numbers of ranks: algbw times 2(n-1)/n for all_reduce, (n-1)/n for gather,
all_gather, scatter, reduce_scatter and all_to_all, 1 for the others. Results are checked once for
each size; the exit status is 1 where elements are wrong. 'send' goes back and forth between ranks 0
and 1, and its time is that of one way.

Example:
  headrace launch -n 4 -- headrace comm bench --op all_reduce --max 1M)";

struct CommBenchOptions {
  CommOptions comm{.operations = {"all_reduce"}};
  std::string reduce = "sum", json;
  int32_t root = 0;
  double seconds = 0.2;
  bool in_place = false;
};

struct Row {
  hr_operation operation;
  std::string algorithm;
  uint64_t bytes = 0, errors = 0;
  int64_t iterations = 0;
  double seconds = 0, algbw = 0, busbw = 0;
};

double BusFactor(hr_operation_kind kind, double ranks) {
  const double others = (ranks - 1) / ranks;
  if (kind == HR_OPERATION_ALL_REDUCE) return 2 * others;
  return HasBlocks(kind) || TakesBlocks(kind) ? others : 1;
}

class Bench {
 public:
  Bench(const CommBenchOptions& options, hr::Group& group)
      : options_(options),
        group_(group),
        rank_(group.rank()),
        ranks_(group.size()),
        data_(ParseBytes(options.comm.sizes.max, "--max") + 8 * static_cast<uint64_t>(ranks_),
              options.in_place, rank_, ranks_) {}

  Row Measure(hr_operation_kind kind, uint64_t bytes) {
    Row row;
    row.operation = OperationOf(kind, DTypeNamed(options_.comm.dtype), bytes, ranks_);
    row.operation.op = ReduceOpNamed(options_.reduce);
    row.operation.peer = kind == HR_OPERATION_SEND ? (rank_ + 1) % ranks_ : options_.root;
    row.bytes = BytesOf(row.operation, ranks_);
    row.algorithm = Described(hr_group_explain, group_.get(), &row.operation)["algorithm"];
    data_.Prepare(row.operation);
    RunOnce(row.operation);
    row.errors = Summed(kind == HR_OPERATION_BARRIER ? 0 : Errors(row.operation));
    FillTime(row);
    if (kind == HR_OPERATION_SEND) row.seconds /= 2;
    row.algbw = static_cast<double>(row.bytes) / row.seconds * 1e-9;
    row.busbw = row.algbw * BusFactor(kind, ranks_);
    return row;
  }

 private:
  void RunOnce(const hr_operation& operation) {
    if (operation.kind == HR_OPERATION_SEND) return GoBackAndForth(operation);
    hr::check(hr_group_run(group_.get(), &operation, nullptr));
  }
  void GoBackAndForth(hr_operation operation) {
    if (rank_ > 1) return;
    const hr_operation_kind turns[] = {HR_OPERATION_SEND, HR_OPERATION_RECV};
    operation.peer = 1 - rank_;
    for (int turn = 0; turn < 2; ++turn) {
      operation.kind = turns[turn ^ rank_];
      hr::check(hr_group_run(group_.get(), &operation, nullptr));
    }
  }
  uint64_t Errors(const hr_operation& operation) const {
    if (operation.kind != HR_OPERATION_SEND) return data_.CountErrors(operation);
    if (rank_ > 1) return 0;
    hr_operation received = operation;
    received.peer = options_.in_place ? 0 : 1 - rank_;
    return data_.CountErrors(received);
  }

  // Seconds of the slowest rank.
  double Timed(const hr_operation& operation, int64_t iterations) {
    group_.barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < iterations; ++i) RunOnce(operation);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return Slowest(taken.count());
  }
  // Batches grow until one takes a part of the time worth mentioning, which warms up, too. Some of
  // that size are measured: what the first ones took says little about the rest.
  void FillTime(Row& row) {
    int64_t batch = 1;
    while (Timed(row.operation, batch) < options_.seconds / 20) batch *= 2;
    double seconds = 0;
    for (; seconds < options_.seconds; row.iterations += batch) {
      seconds += Timed(row.operation, batch);
    }
    row.seconds = seconds / static_cast<double>(row.iterations);
  }
  double Slowest(double seconds) {
    group_.all_reduce(&seconds, &seconds, 1, HR_MAX);
    return seconds;
  }
  uint64_t Summed(uint64_t number) {
    group_.all_reduce(&number, &number, 1, HR_SUM);
    return number;
  }

  const CommBenchOptions& options_;
  hr::Group& group_;
  const int32_t rank_, ranks_;
  CommData data_;
};

Json RowJson(const Row& row, int32_t ranks) {
  return {{"operation", OperationName(row.operation.kind)},
          {"ranks", ranks},
          {"bytes", row.bytes},
          {"count", row.operation.count},
          {"dtype", hr_dtype_name(row.operation.dtype)},
          {"algorithm", row.algorithm},
          {"iterations", row.iterations},
          {"seconds", row.seconds},
          {"algbw_gb_per_second", row.algbw},
          {"busbw_gb_per_second", row.busbw},
          {"errors", row.errors}};
}

// "shm", or "shm, tcp" if peers are reached differently.
std::string TransportsOf(const Json& group) {
  std::string names;
  for (const Json& member : group["members"]) {
    const std::string name = member["transport"];
    if (name == "self" || names.find(name) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

void PrintHeading(const CommBenchOptions& options, const hr::Group& group) {
  Print("# %s, transport %s, %s, %s\n",
        CountText(static_cast<size_t>(group.size()), "rank").c_str(),
        TransportsOf(Json::parse(group.describe())).c_str(), options.comm.dtype.c_str(),
        options.in_place ? "in place" : "out of place");
  Print("# %12s %12s  %-14s %-20s %12s %12s %12s %8s\n", "size (bytes)", "count", "operation",
        "algorithm", "time (us)", "algbw (GB/s)", "busbw (GB/s)", "errors");
}

void PrintRow(const Row& row) {
  Print("  %12llu %12llu  %-14s %-20s %12.2f %12.3f %12.3f %8llu\n",
        static_cast<unsigned long long>(row.bytes),
        static_cast<unsigned long long>(row.operation.count), OperationName(row.operation.kind),
        row.algorithm.c_str(), row.seconds * 1e6, row.algbw, row.busbw,
        static_cast<unsigned long long>(row.errors));
  FinishOutput();  // while the next one is measured
}

std::vector<hr_operation_kind> Kinds(const CommBenchOptions& options, int32_t ranks) {
  std::vector<hr_operation_kind> kinds;
  for (const std::string& name : options.comm.operations) {
    kinds.push_back(OperationNamed(name));
    if (kinds.back() == HR_OPERATION_RECV) throw UsageError("--op send measures both ends");
    if (kinds.back() == HR_OPERATION_SEND && ranks < 2)
      throw Failure("--op send needs two ranks: headrace launch -n 2 -- headrace comm bench");
  }
  return kinds;
}

int RunCommBench(const CommBenchOptions& options) {
  DTypeNamed(options.comm.dtype);
  ReduceOpNamed(options.reduce);
  const std::vector<uint64_t> sizes = options.comm.sizes.Sizes();
  Kinds(options, 2);  // what makes no sense is said before the ranks meet
  hr::Env env;
  hr::Group group(env, options.comm.Group());
  if (options.root < 0 || options.root >= group.size())
    throw UsageError("--root " + std::to_string(options.root) + " is not a rank of " +
                     std::to_string(group.size()));
  Bench bench(options, group);
  const bool prints = group.rank() == 0, table = options.json != "-";
  if (prints && table) PrintHeading(options, group);
  Json report = Json::array();
  uint64_t errors = 0;
  for (hr_operation_kind kind : Kinds(options, group.size())) {
    for (uint64_t size : sizes) {
      const Row row = bench.Measure(kind, size);
      if (prints && table) PrintRow(row);
      report.push_back(RowJson(row, group.size()));
      errors += row.errors;
      if (kind == HR_OPERATION_BARRIER) break;
    }
  }
  if (prints && !options.json.empty()) WriteJson(options.json, report);
  group.barrier();
  if (errors > 0) throw Failure(std::to_string(errors) + " elements of results are wrong");
  return kOk;
}

}  // namespace

Command AddCommBench(CLI::App& comm) {
  auto options = std::make_shared<CommBenchOptions>();
  CLI::App* app = AddCommand(comm, "bench", kCommBenchDescription, kCommBenchFooter);
  options->comm.AddOptions(app, "operations, e.g. all_reduce,send (all_reduce)");
  AddText(app, "--reduce", options->reduce, "NAME", "sum, product, min, max or average (sum)");
  AddNumber(app, "--root", options->root, 0, "of broadcast, reduce, gather, scatter (0)");
  AddFlag(app, "--in-place", options->in_place, "input and output share memory");
  AddSeconds(app, "--seconds", options->seconds, false, "to measure each size for (0.2)");
  AddText(app, "--json", options->json, "FILE",
          "write the rows there; - is standard output, alone");
  return {app, [options] { return RunCommBench(*options); }};
}

}  // namespace headrace::tool
