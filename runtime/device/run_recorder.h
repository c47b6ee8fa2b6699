// Who is told of the steps of a run that is profiled.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hr {

// What is known of a step before it runs.
struct StepFacts {
  std::string_view node;
  std::string kernel;
  // Multiplications and additions of products and convolutions as their sums say, whatever the
  // algorithm; 0 for steps that are a matter of bytes.
  double operations = 0;
  size_t bytes = 0;       // of the operands, each once; of a variable that is changed, twice
  size_t live_bytes = 0;  // of working memory that holds something while the step runs
};

// Called by the thread that runs the steps, one after the other.
class RunRecorder {
 public:
  virtual void BeginStep(StepFacts facts) = 0;
  virtual void EndStep() = 0;

 protected:
  ~RunRecorder() = default;  // nobody deletes one through this interface
};

}  // namespace hr
