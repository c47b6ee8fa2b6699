// Test vectors in ONNX's layout: folders test_data_set_N with input_I.pb and output_I.pb.
#pragma once

#include <string>
#include <vector>

#include "tools/headrace/library.h"

namespace headrace::tool {

// How far an output lies from what the vectors say.
struct OutputCheck {
  std::string set;  // the folder
  std::string output;
  std::string type;     // "float32[1, 10]"
  double error = 0;     // the largest of an element
  double scale = 0;     // the largest magnitude that was expected
  std::string problem;  // empty: as expected
};

// Runs a signature of the model on all sets in `folder`, which is one itself or holds them.
// `tolerance`: the largest error that a floating-point output may have, as a part of its scale;
// numbers of 16 bits may have 100 times as much; integers are equal. Throws Failure if the folder
// has no vectors, or if they do not fit the signature.
std::vector<OutputCheck> CheckVectors(const hr::Env& env, const std::string& model,
                                      const std::string& signature, const std::string& folder,
                                      double tolerance);

// Returns whether all are as expected; `print`: with one line for each output.
bool ReportChecks(const std::vector<OutputCheck>& checks, bool print);
Json ChecksJson(const std::vector<OutputCheck>& checks);

}  // namespace headrace::tool
