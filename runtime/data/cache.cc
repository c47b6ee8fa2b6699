#include "runtime/data/cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/column_source.h"

namespace hr::data {
namespace {

// A file: kMagic, the number of examples, the length of the description, the description, zeros up
// to a multiple of kAlignment, then a record for each example, with its fields one after the other.
constexpr std::string_view kMagic = "HRDATA01";
constexpr size_t kCountAt = 8, kDescriptionAt = 24;
constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

struct Layout {
  std::vector<Field> fields;   // of one example
  std::vector<size_t> offset;  // of each in a record
  size_t record = 0;           // bytes
};

Result<Layout> LayoutOf(const Dataset& dataset) {
  Layout layout = {.fields = dataset.fields(), .offset = {}};
  for (Field& field : layout.fields) {
    field.dims.erase(field.dims.begin());
    const auto bytes = CheckedTensorBytes(field.dtype, field.dims);
    if (!bytes.ok()) {
      return InvalidArgument("field '", field.name, "' has examples of shape ",
                             ShapeText(field.dims), "; a data set can be cached if all its shapes ",
                             "are known, dimension 0 aside");
    }
    layout.offset.push_back(layout.record);
    layout.record = RoundUp(layout.record + *bytes, 8);
  }
  return layout;
}

// Calls `take` with every batch of the epoch.
Status ReadEpoch(Dataset& dataset, const CallLimits& limits,
                 FunctionRef<Status(std::span<const Tensor>)> take) {
  HR_ASSIGN_OR_RETURN(const DataPosition begin, dataset.position());
  if (begin.example != 0) {
    return FailedPrecondition("only a data set at the beginning of an epoch can be cached; this ",
                              "one has given ", begin.example, " examples; rewind it");
  }
  std::vector<Tensor> batch(dataset.field_count());
  while (true) {
    HR_ASSIGN_OR_RETURN(const bool done, dataset.Done(limits));
    HR_ASSIGN_OR_RETURN(const DataPosition now, dataset.position());
    if (done || now.epoch != begin.epoch) return {};
    HR_ASSIGN_OR_RETURN(const bool more, dataset.Next(batch, limits));
    if (!more) return {};
    HR_RETURN_IF_ERROR(take(batch));
  }
}

std::string Number(uint64_t value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

// Everything before the records.
std::string HeaderOf(const Layout& layout, std::string_view identity, uint64_t examples) {
  std::string description(identity);
  for (const Field& field : layout.fields)
    description += Cat(field.name, ": ", DTypeName(field.dtype), ShapeText(field.dims), "\n");
  std::string header = Cat(kMagic, Number(examples), Number(description.size()), description);
  header.resize(RoundUp(header.size(), kAlignment));
  return header;
}

// Examples as records, batch by batch.
class RecordWriter {
 public:
  RecordWriter(const Layout& layout, FileWriter& file) : layout_(layout), file_(file) {}

  Status Add(std::span<const Tensor> batch) {
    const size_t count = static_cast<size_t>(batch[0].dims()[0]);
    records_.assign(count * layout_.record, std::byte{0});
    for (size_t f = 0; f < batch.size(); ++f) {
      const size_t bytes = count == 0 ? 0 : batch[f].bytes() / count;
      for (size_t i = 0; bytes != 0 && i < count; ++i) {
        std::memcpy(records_.data() + i * layout_.record + layout_.offset[f],
                    batch[f].data() + i * bytes, bytes);
      }
    }
    examples_ += count;
    return file_.Write(records_);
  }
  uint64_t examples() const { return examples_; }

 private:
  const Layout& layout_;
  FileWriter& file_;
  std::vector<std::byte> records_;
  uint64_t examples_ = 0;
};

Status WriteCache(const std::string& path, const Layout& layout, std::string_view identity,
                  Dataset& dataset, const CallLimits& limits) {
  return WriteFileAtomically(path, [&](FileWriter& file) -> Status {
    HR_RETURN_IF_ERROR(file.Write(AsBytes(HeaderOf(layout, identity, 0))));
    RecordWriter records(layout, file);
    HR_RETURN_IF_ERROR(ReadEpoch(
        dataset, limits, [&](std::span<const Tensor> batch) { return records.Add(batch); }));
    return file.WriteAt(0, AsBytes(HeaderOf(layout, identity, records.examples())));
  });
}

// Null if the file has to be made anew.
Result<SourceRef> OpenCache(const std::string& path, const Layout& layout,
                            std::string_view identity) {
  if (!FileExists(path)) return SourceRef();
  HR_ASSIGN_OR_RETURN(const BufferRef file, MapFile(path));
  const std::string_view text = AsText(Bytes(file->data(), file->bytes()));
  if (!text.starts_with(kMagic)) {
    return AlreadyExists("'", path, "' is there and is no cache of a data set; give another path ",
                         "or remove it");
  }
  uint64_t examples = 0;
  if (text.size() >= kDescriptionAt)
    std::memcpy(&examples, text.data() + kCountAt, sizeof examples);
  const std::string header = HeaderOf(layout, identity, examples);
  if (!text.starts_with(header)) return SourceRef();
  const size_t bytes = text.size() - header.size();
  if (layout.record == 0 || bytes % layout.record != 0 || bytes / layout.record != examples)
    return SourceRef();
  std::vector<Column> columns;
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const Field& field = layout.fields[i];
    Dims dims = field.dims, strides = ContiguousStrides(field.dims);
    dims.insert(dims.begin(), static_cast<int64_t>(examples));
    strides.insert(strides.begin(), static_cast<int64_t>(layout.record / DTypeSize(field.dtype)));
    columns.push_back(ColumnOf(field.name, Tensor::Strided(file, header.size() + layout.offset[i],
                                                           field.dtype, dims, strides)));
  }
  return CreateColumnSource(std::move(columns), std::string(identity));
}

// Waits until nobody else makes the file.
Result<FileLock> Lock(const std::string& path, const CallLimits& limits) {
  while (true) {
    Result<FileLock> lock = FileLock::Try(path);
    if (lock.ok() || lock.status().code() != Code::kUnavailable) return lock;
    HR_RETURN_IF_ERROR(limits.Check());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

Result<SourceRef> CacheInMemory(Dataset& dataset, Allocator& allocator, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dataset));
  std::vector<Column> columns;
  for (const Field& field : layout.fields)
    columns.push_back({.name = field.name, .parts = {}, .example_dims = field.dims, .map = {}});
  HR_RETURN_IF_ERROR(ReadEpoch(dataset, limits, [&](std::span<const Tensor> batch) -> Status {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (batch[i].dims()[0] == 0) continue;
      HR_ASSIGN_OR_RETURN(Tensor copy, batch[i].Clone(allocator));
      columns[i].parts.push_back(std::move(copy));
    }
    return {};
  }));
  if (columns.empty() || columns[0].parts.empty())
    return InvalidArgument("the data set has no examples, expected at least one");
  return CreateColumnSource(std::move(columns));
}

Result<SourceRef> CacheInFile(const std::string& path, std::string_view identity, Dataset& dataset,
                              const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dataset));
  HR_ASSIGN_OR_RETURN(SourceRef there, OpenCache(path, layout, identity));
  if (there != nullptr) return there;
  HR_ASSIGN_OR_RETURN(const FileLock lock, Lock(Cat(path, ".lock"), limits));
  HR_ASSIGN_OR_RETURN(there, OpenCache(path, layout, identity));
  if (there != nullptr) return there;
  HR_RETURN_IF_ERROR(WriteCache(path, layout, identity, dataset, limits));
  HR_ASSIGN_OR_RETURN(there, OpenCache(path, layout, identity));
  if (there != nullptr) return there;
  return DataLoss("'", path, "' is not what was just written; did somebody change it?");
}

}  // namespace hr::data
