#include "runtime/data/example_source.h"

#include <algorithm>
#include <array>

namespace hr::data {
namespace {

// Waking a thread costs some microseconds.
constexpr int64_t kNanosPerTask = 25'000;
// How long it pays to read before threads wait for each other, and the most batches of one time.
constexpr int64_t kNanosAtOnce = 1'000'000;
constexpr int64_t kMostBatches = 16;
// Rows between two looks at the limits, and how far ahead rows are expected.
constexpr size_t kRowsPerCheck = 256;
constexpr size_t kAhead = 8;
constexpr size_t kFewFields = 16;  // for which nothing is allocated

std::vector<Field> Renamed(std::vector<Field> fields, std::span<const std::string> names) {
  for (size_t i = 0; i < fields.size(); ++i) fields[i].name = names[i];
  return fields;
}

class RenamedSource final : public ExampleSource {
 public:
  RenamedSource(SourceRef source, std::span<const std::string> names)
      : ExampleSource(Renamed(source->fields(), names), source->examples()),
        source_(std::move(source)) {}
  Status Read(std::span<const int64_t> rows, std::span<const Tensor> out,
              const CallLimits& limits) const override {
    return source_->Read(rows, out, limits);
  }
  int64_t BatchesAtOnce(int64_t batch) const override { return source_->BatchesAtOnce(batch); }
  Status ReadBatches(std::span<const int64_t> rows, size_t batch, std::span<const Tensor> out,
                     const CallLimits& limits) const override {
    return source_->ReadBatches(rows, batch, out, limits);
  }
  std::string Identity() const override { return source_->Identity(); }

 private:
  const SourceRef source_;
};

}  // namespace

Status ExampleSource::ReadBatches(std::span<const int64_t> rows, size_t batch,
                                  std::span<const Tensor> out, const CallLimits& limits) const {
  for (; !rows.empty(); out = out.subspan(fields_.size())) {
    const auto one = rows.first(std::min(batch, rows.size()));
    HR_RETURN_IF_ERROR(Read(one, out.first(fields_.size()), limits));
    rows = rows.subspan(one.size());
  }
  return {};
}

SourceRef CreateRenamedSource(SourceRef source, std::span<const std::string> names) {
  return std::make_shared<RenamedSource>(std::move(source), names);
}

RowSource::RowSource(std::vector<Field> fields, int64_t examples, ThreadBudget* threads,
                     int64_t nanos_per_row)
    : ExampleSource(std::move(fields), examples), threads_(threads), nanos_per_row_(nanos_per_row) {
  for (const Field& field : this->fields()) {
    row_bytes_.push_back(static_cast<size_t>(ElementCount(field.dims)) * DTypeSize(field.dtype));
  }
}

Status RowSource::ReadRange(std::span<const int64_t> rows, size_t begin, size_t end, size_t batch,
                            std::span<const Tensor> out, const CallLimits& limits) const {
  const size_t fields = row_bytes_.size();
  std::array<std::byte*, kFewFields> few;
  std::vector<std::byte*> many(fields > kFewFields ? fields : 0);
  const std::span<std::byte*> to(many.empty() ? few.data() : many.data(), fields);
  for (size_t i = begin; i < end; ++i) {
    if ((i - begin) % kRowsPerCheck == 0) HR_RETURN_IF_ERROR(limits.Check());
    if (i + 2 * kAhead < end) ExpectPlace(rows[i + 2 * kAhead]);
    if (i + kAhead < end) Expect(rows[i + kAhead]);
    const Tensor* const tensors = &out[i / batch * fields];
    for (size_t f = 0; f < fields; ++f) to[f] = tensors[f].data() + i % batch * row_bytes_[f];
    HR_RETURN_IF_ERROR(ReadRow(rows[i], to));
  }
  return {};
}

Status RowSource::Read(std::span<const int64_t> rows, std::span<const Tensor> out,
                       const CallLimits& limits) const {
  return ReadBatches(rows, rows.size(), out, limits);
}

int64_t RowSource::BatchesAtOnce(int64_t batch) const {
  if (threads_ == nullptr || threads_->total() < 2) return 1;
  const int64_t each = std::max<int64_t>(nanos_per_row_, 1);
  return std::clamp<int64_t>(kNanosAtOnce / each / batch, 1, kMostBatches);
}

Status RowSource::ReadBatches(std::span<const int64_t> rows, size_t batch,
                              std::span<const Tensor> out, const CallLimits& limits) const {
  const int64_t count = static_cast<int64_t>(rows.size());
  const int64_t nanos = count * nanos_per_row_;
  const int64_t paying = std::min(count, nanos / kNanosPerTask);
  if (threads_ == nullptr || paying < 2 || threads_->total() < 2)
    return ReadRange(rows, 0, rows.size(), batch, out, limits);
  const int tasks = static_cast<int>(std::min<int64_t>(paying, threads_->total()));
  HR_ASSIGN_OR_RETURN(const Lease lease, threads_->Acquire(tasks, limits));
  std::vector<Status> outcomes(static_cast<size_t>(tasks));
  lease.ParallelFor(tasks, [&](int task) {
    const size_t begin = rows.size() * static_cast<size_t>(task) / outcomes.size();
    const size_t end = rows.size() * (static_cast<size_t>(task) + 1) / outcomes.size();
    outcomes[static_cast<size_t>(task)] = ReadRange(rows, begin, end, batch, out, limits);
  });
  for (Status& outcome : outcomes) HR_RETURN_IF_ERROR(std::move(outcome));
  return {};
}

}  // namespace hr::data
