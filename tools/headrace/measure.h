// A signature that is ready to run again and again: what the commands share that measure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/headrace/feeds.h"
#include "tools/headrace/session_flags.h"

namespace headrace::tool {

struct MeasureOptions {
  std::string file;
  std::string signature;
  FeedOptions feeds;
  int threads = 0;
  int64_t warm_up = 3;
  SessionFlags session;
};

// Adds the word FILE and the options that say what is run.
void AddMeasureOptions(CLI::App* app, MeasureOptions& options);

// "infer" if `name` is empty, or the only one there is.
std::string SignatureFor(const std::string& name, const Json& model);

// Inputs that the options do not mention are random; single numbers (a learning rate) are zero, so
// that training leaves the weights as they are.
class Measured {
 public:
  explicit Measured(const MeasureOptions& options);

  // Milliseconds of one run.
  double Run() { return MillisecondsOf(call_); }
  hr::Call& call() { return call_; }
  const hr::Env& env() const { return env_; }
  const hr::Model& model() const { return model_; }
  hr::Session& session() { return session_; }
  // The number of threads that compute.
  int threads() const;
  // Signature, inputs and threads, for a report.
  Json Report() const;
  // The size of the first dimension that inputs share and the model leaves open; 0: there is none.
  int64_t examples() const { return examples_; }
  // Prints what runs, for people.
  void Print() const;

  static double MillisecondsOf(hr::Call& call);

 private:
  hr::Env env_;
  hr::Model model_;
  Json signature_;
  std::vector<Feed> feeds_;
  hr::Session session_;
  hr::Call call_;
  int64_t examples_ = 0;
};

// Runs, least, percentiles, largest and runs a second of times in milliseconds.
Json Latency(std::vector<double> times);
void PrintLatency(const Json& latency);
double MedianOf(std::vector<double> values);

}  // namespace headrace::tool
