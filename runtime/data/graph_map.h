// Transformations by a graph: a signature of a model runs over batches of a data set.
//
// The signature's inputs are fields of the data set with the same names. It sees one batch at a
// time, of any size, and treats every example for itself: dimension 0 of its inputs and outputs
// counts the examples. It neither writes variables nor draws random numbers, so that an example is
// the same whenever it is read.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/data/example_source.h"
#include "runtime/session/call.h"

namespace hr::data {

// What a signature makes of batches with given fields. Used by one thread at a time.
class GraphMap {
 public:
  // `examples` has one example (dimension 0 is 1) of every field of `fields`, with which the
  // signature runs to see what it makes. INVALID_ARGUMENT if it is no map as described above.
  static Result<GraphMap> Create(const std::shared_ptr<session::Session>& session,
                                 std::string_view signature, const std::vector<Field>& fields,
                                 std::span<const Tensor> example, const CallLimits& limits);

  // Of one example: the fields that are no inputs of the signature, and its outputs.
  const std::vector<Field>& fields() const { return fields_; }
  size_t kept() const { return kept_.size(); }
  // The number of the field that becomes field i < kept().
  size_t kept(size_t i) const { return kept_[i]; }

  // Puts the outputs for the batch `in`, a tensor for each field, into `out`: contiguous tensors of
  // the batch's size for the fields from kept() on.
  Status Run(std::span<const Tensor> in, std::span<const Tensor> out, const CallLimits& limits);

 private:
  Status Match(const graph::Signature& signature, const std::vector<Field>& fields);
  Status AddOutput(const std::string& name, const Tensor& value);

  std::unique_ptr<session::Call> call_;
  std::string name_;
  std::vector<std::pair<std::string, size_t>> inputs_;  // and the field for each
  std::vector<std::string> outputs_;
  std::vector<size_t> kept_;
  std::vector<Field> fields_;
};

// A model's signature, and a text for its identity; "" if nothing can be said.
struct GraphStep {
  std::shared_ptr<session::Session> session;
  std::string signature;
  std::string identity;
};

// The examples of `source`, with the fields that GraphMap says.
Result<SourceRef> CreateMapSource(SourceRef source, const GraphStep& step, Allocator& allocator,
                                  const CallLimits& limits);

// The examples for which the signature's only output, bool [examples], is true. Reads all examples
// once.
Result<SourceRef> CreateFilterSource(SourceRef source, const GraphStep& step, Allocator& allocator,
                                     const CallLimits& limits);

// Maps the batches of a data set whose examples cannot be read by their numbers. Positions are
// those of `dataset`, which nobody else may use any more.
Result<std::unique_ptr<Dataset>> CreateMapDataset(std::shared_ptr<Dataset> dataset,
                                                  const GraphStep& step, Allocator& allocator,
                                                  const CallLimits& limits);

}  // namespace hr::data
