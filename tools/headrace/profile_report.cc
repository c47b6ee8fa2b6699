#include "tools/headrace/profile_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "tools/headrace/measure.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

double Milliseconds(const Json& step) {
  return (step["end"].get<double>() - step["begin"].get<double>()) / 1e6;
}

bool SameSteps(const std::vector<Json>& profiles) {
  return std::all_of(profiles.begin(), profiles.end(), [&](const Json& one) {
    return one["steps"].size() == profiles[0]["steps"].size();
  });
}

Work WorkOf(const Json& step) {
  return {.node = step["node"],
          .kernel = step["kernel"],
          .ms = Milliseconds(step),
          .operations = step["operations"],
          .bytes = step["bytes"]};
}

// Thread 0 runs the steps; the others are busy in tasks.
std::vector<double> BusyShares(const Json& profile) {
  std::vector<double> busy(profile["threads"].get<size_t>(), 0.0);
  const double all = profile["nanoseconds"];
  for (const Json& step : profile["steps"]) {
    busy[0] += Milliseconds(step) * 1e6 / all;
    for (const Json& share : step["shares"]) {
      const size_t thread = share["thread"];
      if (thread == 0) continue;
      if (thread >= busy.size()) busy.resize(thread + 1);
      busy[thread] += share["busy"].get<double>() / all;
    }
  }
  return busy;
}

std::string Format(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Percent(double part) { return Format("%.1f %%", 100 * part); }

// Of a rate and of what the roof allows; "-" if there is nothing to count.
void AddRate(double done, double ms, double most, std::vector<std::string>& row) {
  const double rate = ms > 0 ? done / ms * 1e3 : 0;
  row.push_back(done == 0 ? "-" : Format("%.1f", rate / 1e9));
  row.push_back(done == 0 ? "-" : Format("%.0f %%", 100 * rate / most));
}

std::vector<std::string> Row(const Work& work, double all, const Roof& roof) {
  std::vector<std::string> row = {Format("%.3f", work.ms), Percent(work.ms / all)};
  AddRate(work.operations, work.ms, roof.operations, row);
  AddRate(work.bytes, work.ms, roof.bytes, row);
  row.push_back(work.kernel);
  return row;
}

std::vector<std::string> Headings(const char* last) {
  return {"ms", "share", "GFLOP/s", "roof", "GB/s", "roof", "kernel", last};
}

void PrintKernels(const ProfileSum& sum, const Roof& roof) {
  std::vector<std::vector<std::string>> rows = {Headings("steps")};
  for (const Work& work : ByKernel(sum.steps)) {
    rows.push_back(Row(work, sum.ms, roof));
    rows.back().push_back(std::to_string(work.steps));
  }
  rows.push_back({Format("%.3f", sum.between), Percent(sum.between / sum.ms), "-", "-", "-", "-",
                  "between steps", ""});
  PrintTable(rows, 2);
}

std::vector<Work> Longest(std::vector<Work> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Work& a, const Work& b) { return a.ms > b.ms; });
  return steps;
}

void PrintSteps(const ProfileSum& sum, const Roof& roof, size_t most) {
  std::vector<std::vector<std::string>> rows = {Headings("node")};
  for (const Work& work : Longest(sum.steps)) {
    if (rows.size() > most) break;
    rows.push_back(Row(work, sum.ms, roof));
    rows.back().push_back(work.node);
  }
  PrintTable(rows, 2);
}

Json JsonOf(const Work& work, const ProfileSum& sum, const Roof& roof) {
  Json out = {{"kernel", work.kernel}, {"steps", work.steps}, {"ms", work.ms}};
  if (!work.node.empty()) out["node"] = work.node;
  out["share"] = work.ms / sum.ms;
  out["operations"] = work.operations;
  out["bytes"] = work.bytes;
  out["floor_ms"] = work.Floor(roof);
  return out;
}

// Makes the events of one process, whose times are `shift` microseconds later than the profile's.
struct Events {
  size_t process = 1;
  double shift = 0;

  Json Event(const char* phase, const std::string& name, size_t thread) const {
    return {{"ph", phase}, {"name", name}, {"pid", process}, {"tid", thread}};
  }
  Json Slice(const Json& step, size_t thread, const Json& times) const {
    Json out = Event("X", step["node"], thread);
    out["cat"] = step["kernel"];
    out["ts"] = shift + times["begin"].get<double>() / 1e3;
    out["dur"] = (times["end"].get<double>() - times["begin"].get<double>()) / 1e3;
    out["args"] = {{"kernel", step["kernel"]}};
    return out;
  }
  Json Memory(const Json& at, const Json& bytes) const {
    Json counter = Event("C", "working memory", 0);
    counter["ts"] = shift + at.get<double>() / 1e3;
    counter["args"] = {{"bytes", bytes}};
    return counter;
  }
};

}  // namespace

double Work::Floor(const Roof& roof) const {
  return std::max(operations / roof.operations, bytes / roof.bytes) * 1e3;
}

ProfileSum SumUp(const std::vector<Json>& profiles) {
  std::vector<const Json*> ordered;
  for (const Json& one : profiles) ordered.push_back(&one);
  std::sort(ordered.begin(), ordered.end(), [](const Json* a, const Json* b) {
    return (*a)["nanoseconds"].get<int64_t>() < (*b)["nanoseconds"].get<int64_t>();
  });
  const Json& median = *ordered[(ordered.size() - 1) / 2];
  ProfileSum sum{.ms = median["nanoseconds"].get<double>() / 1e6, .median = median};
  const bool same = SameSteps(profiles);
  sum.between = sum.ms;
  for (size_t i = 0; i < median["steps"].size(); ++i) {
    Work work = WorkOf(median["steps"][i]);
    sum.between -= work.ms;
    std::vector<double> times;
    for (const Json& one : profiles) {
      if (same) times.push_back(Milliseconds(one["steps"][i]));
    }
    if (same) work.ms = MedianOf(std::move(times));
    sum.steps.push_back(std::move(work));
  }
  sum.busy = BusyShares(median);
  return sum;
}

std::vector<Work> ByKernel(const std::vector<Work>& steps) {
  std::map<std::string, Work> kernels;
  for (const Work& step : steps) {
    Work& sum =
        kernels.try_emplace(step.kernel, Work{.kernel = step.kernel, .steps = 0}).first->second;
    ++sum.steps;
    sum.ms += step.ms;
    sum.operations += step.operations;
    sum.bytes += step.bytes;
  }
  std::vector<Work> out;
  for (auto& [name, work] : kernels) out.push_back(std::move(work));
  return Longest(std::move(out));
}

std::string FirstThing(const ProfileSum& sum, const Roof& roof) {
  const Work* worst = nullptr;
  const auto loss = [&](const Work& work) { return work.ms - work.Floor(roof); };
  for (const Work& step : sum.steps) {
    if (worst == nullptr || loss(step) > loss(*worst)) worst = &step;
  }
  if (worst == nullptr || sum.between > loss(*worst)) {
    return "Look first at the time between steps: " + Percent(sum.between / sum.ms) +
           " of the run, in which no kernel works.";
  }
  const bool computes = worst->operations / roof.operations > worst->bytes / roof.bytes;
  return "Look first at " + worst->node + " (" + worst->kernel + "): it takes " +
         Percent(worst->ms / sum.ms) + " of the run, and " +
         Percent(worst->Floor(roof) / worst->ms) + " of that is what its " +
         (computes ? "arithmetic" : "memory traffic") + " needs at this machine's roof.";
}

void PrintProfile(const ProfileSum& sum, const Roof& roof, size_t most) {
  Print(
      "a run takes %.3f ms; the roof of this machine with its threads is %.1f GFLOP/s and %.1f "
      "GB/s\n\n",
      sum.ms, roof.operations / 1e9, roof.bytes / 1e9);
  PrintKernels(sum, roof);
  Print("\n");
  PrintSteps(sum, roof, most);
  Print("\n");
  for (size_t i = 0; i < sum.busy.size(); ++i) {
    Print("  thread %zu works %s of the run\n", i, Percent(sum.busy[i]).c_str());
  }
  Print("\n%s\n", FirstThing(sum, roof).c_str());
}

Json ProfileJson(const ProfileSum& sum, const Roof& roof) {
  Json out = {{"ms", sum.ms},
              {"between_steps_ms", sum.between},
              {"roof", {{"operations", roof.operations}, {"bytes", roof.bytes}}},
              {"busy", sum.busy}};
  for (const Work& work : ByKernel(sum.steps)) out["kernels"].push_back(JsonOf(work, sum, roof));
  for (const Work& work : sum.steps) out["steps"].push_back(JsonOf(work, sum, roof));
  out["first"] = FirstThing(sum, roof);
  return out;
}

void AddTrace(const Json& profile, size_t process, double shift, Json* events) {
  const Events make{process, shift};
  for (size_t i = 0; i < profile["threads"].get<size_t>(); ++i) {
    Json name = make.Event("M", "thread_name", i);
    name["args"] = {{"name", i == 0 ? "thread 0, runs the steps" : "thread " + std::to_string(i)}};
    events->push_back(std::move(name));
  }
  for (const Json& step : profile["steps"]) {
    events->push_back(make.Memory(step["begin"], step["live_bytes"]));
    events->push_back(make.Slice(step, 0, step));
    for (const char* fact : {"operations", "bytes"}) events->back()["args"][fact] = step[fact];
    for (const Json& share : step["shares"]) {
      if (share["thread"] != 0) events->push_back(make.Slice(step, share["thread"], share));
    }
  }
  events->push_back(make.Memory(profile["nanoseconds"], 0));
}

Json TraceOf(const Json& profile) {
  Json events = Json::array();
  AddTrace(profile, 1, 0, &events);
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace headrace::tool
