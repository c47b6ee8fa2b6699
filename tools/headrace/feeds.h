// Tensors for the inputs of a signature, from what the command line says: NAME=FILE.npy,
// NAME=random, NAME=zeros or NAME=NUMBER, and NAME=1x3x224x224 for shapes that the model leaves
// open.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/headrace/library.h"

namespace headrace::tool {

// "NAME=VALUE" items as a map. Throws UsageError naming `option` for one without '=' and for a name
// that comes twice.
std::map<std::string, std::string> NamedValues(const std::vector<std::string>& items,
                                               const std::string& option);

struct FeedOptions {
  std::vector<std::string> inputs;  // NAME=SOURCE
  std::vector<std::string> shapes;  // NAME=1x28x28
  // Of open first dimensions, and of dimensions that have the name of one; 0 says nothing.
  int64_t batch = 0;
  uint64_t seed = 0;  // of random elements
};

struct Feed {
  std::string name;
  std::string source;
  hr::Tensor tensor;
};

// ": a, b", or " none": the end of a sentence that says which items of a description there are.
std::string NamesOf(const Json& items);

// The entry of hr_model_describe's "signatures". Throws Failure that lists the known ones.
const Json& FindSignature(const Json& model, const std::string& name);

// One tensor for each input of the signature. Inputs that `options` does not mention come from
// `fallback` ("zeros", "random", or "" for a UsageError); dimensions that nobody says are 1.
std::vector<Feed> MakeFeeds(const hr::Env& env, const Json& signature, const FeedOptions& options,
                            const std::string& fallback);

}  // namespace headrace::tool
