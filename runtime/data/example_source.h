// Examples by number: what the files of a data set, and transformations of them, look like to the
// data set that draws batches from them (example_dataset.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/executor.h"
#include "runtime/data/dataset.h"

namespace hr::data {

// The data of a source is fixed: an example is the same whenever it is read. Thread-safe; a call
// may wait for another one.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  // Of one example, without the dimension of the batch; all dimensions are known.
  const std::vector<Field>& fields() const { return fields_; }
  int64_t examples() const { return examples_; }

  // Puts example rows[i] at place i of each field's tensor. `out` has a contiguous tensor of
  // [rows.size(), dims of the field] for each field. A failure names the file and the place in it.
  virtual Status Read(std::span<const int64_t> rows, std::span<const Tensor> out,
                      const CallLimits& limits) const = 0;

  // How many batches of so many examples are best read at once: more than one if each is quickly
  // read, but not by one thread alone.
  virtual int64_t BatchesAtOnce(int64_t) const { return 1; }
  // The same as Read for several batches: rows of `batch` examples each (the last may have fewer),
  // and the tensors of one batch after the other.
  virtual Status ReadBatches(std::span<const int64_t> rows, size_t batch,
                             std::span<const Tensor> out, const CallLimits& limits) const;

  // A text that is another one if the examples may be: of the files and options it comes from.
  // Empty if nothing can be said, as of memory.
  virtual std::string Identity() const { return ""; }

 protected:
  ExampleSource(std::vector<Field> fields, int64_t examples)
      : fields_(std::move(fields)), examples_(examples) {}

 private:
  const std::vector<Field> fields_;
  const int64_t examples_;
};

using SourceRef = std::shared_ptr<const ExampleSource>;

// The same examples, whose fields have these names.
SourceRef CreateRenamedSource(SourceRef source, std::span<const std::string> names);

// A source that reads its examples one by one, each for itself: in parallel if that pays.
class RowSource : public ExampleSource {
 public:
  Status Read(std::span<const int64_t> rows, std::span<const Tensor> out,
              const CallLimits& limits) const final;
  int64_t BatchesAtOnce(int64_t batch) const final;
  Status ReadBatches(std::span<const int64_t> rows, size_t batch, std::span<const Tensor> out,
                     const CallLimits& limits) const final;

  // Writes an example, its field i to to[i]. Called from several threads at once.
  virtual Status ReadRow(int64_t row, std::span<std::byte* const> to) const = 0;
  // Hints that the row will be read soon, or, sooner, that its place will be looked up.
  virtual void Expect(int64_t) const {}
  virtual void ExpectPlace(int64_t) const {}

 protected:
  // `threads` may be null: then all is read by the calling thread. `nanos_per_row` is a guess that
  // decides on how many threads it pays to read.
  RowSource(std::vector<Field> fields, int64_t examples, ThreadBudget* threads,
            int64_t nanos_per_row);

 private:
  // The rows from `begin` to `end` of those that ReadBatches takes.
  Status ReadRange(std::span<const int64_t> rows, size_t begin, size_t end, size_t batch,
                   std::span<const Tensor> out, const CallLimits& limits) const;

  std::vector<size_t> row_bytes_;  // of each field
  ThreadBudget* const threads_;
  const int64_t nanos_per_row_;
};

}  // namespace hr::data
