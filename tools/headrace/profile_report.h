// What profiles of runs (hr_call_profile) say: sums, tables, a trace.
#pragma once

#include <string>
#include <vector>

#include "tools/headrace/library.h"
#include "tools/headrace/roof.h"

namespace headrace::tool {

// A step, or what steps have in common.
struct Work {
  std::string node;  // empty for several
  std::string kernel;
  int steps = 1;
  double ms = 0;
  double operations = 0;
  double bytes = 0;

  // The least milliseconds that the roof allows.
  double Floor(const Roof& roof) const;
};

// What one profile or several of the same call say.
struct ProfileSum {
  double ms = 0;             // of a run: the median
  Json median;               // the profile of that run
  std::vector<Work> steps;   // in order; each time is the median of the runs
  double between = 0;        // milliseconds outside of steps
  std::vector<double> busy;  // by thread: its share of the run in tasks and steps
};

// `profiles`: at least one. Where their steps differ (control flow), those of the median run count.
ProfileSum SumUp(const std::vector<Json>& profiles);

// Steps with the same kernel together, the longest first.
std::vector<Work> ByKernel(const std::vector<Work>& steps);

// The tables for people; `most` rows of steps.
void PrintProfile(const ProfileSum& sum, const Roof& roof, size_t most);
Json ProfileJson(const ProfileSum& sum, const Roof& roof);
// The one thing whose floor is furthest below its time.
std::string FirstThing(const ProfileSum& sum, const Roof& roof);

// For Perfetto and chrome://tracing: a lane for each thread, and a counter of working memory.
Json TraceOf(const Json& profile);
// The events of such a trace, as those of `process`, `shift` microseconds later.
void AddTrace(const Json& profile, size_t process, double shift, Json* events);

}  // namespace headrace::tool
