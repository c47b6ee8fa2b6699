// The binary versions of CIFAR-10 and CIFAR-100 (A. Krizhevsky, "The CIFAR-10 dataset", section
// "Binary version"): records of one or two bytes of labels and 3 × 32 × 32 bytes of an image.
#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/formats.h"
#include "runtime/data/pixels.h"
#include "runtime/data/places.h"

namespace hr::data {
namespace {

constexpr int64_t kImageBytes = 3 * 32 * 32;

Dims ImageDims() { return {3, 32, 32}; }

struct Kind {
  std::string_view scheme;
  std::vector<std::string> labels;  // the field of each byte before the image
  std::vector<std::string> train, test;
};

Kind Cifar10() {
  Kind kind = {"cifar10", {"labels"}, {}, {"test_batch.bin"}};
  for (const char* number : {"1", "2", "3", "4", "5"})
    kind.train.push_back(Cat("data_batch_", number, ".bin"));
  return kind;
}

Kind Cifar100() { return {"cifar100", {"coarse_labels", "labels"}, {"train.bin"}, {"test.bin"}}; }

Result<std::vector<std::string>> FindCifar(const std::string& path, const Kind& kind,
                                           const DatasetOptions& options) {
  const std::string_view split = BaseName(path);
  if ((split != "train" && split != "test") || path.find('/') == std::string::npos) {
    return InvalidArgument("expected ", kind.scheme, ":FOLDER/train or ", kind.scheme,
                           ":FOLDER/test, got ", kind.scheme, ":", path);
  }
  HR_ASSIGN_OR_RETURN(const std::string folder, FindPlace(std::string(DirectoryOf(path)), options));
  std::vector<std::string> files;
  for (const std::string& name : split == "train" ? kind.train : kind.test)
    files.push_back(JoinPath(folder, name));
  return files;
}

// A part of each column from one file's records.
Status AddFile(const std::string& path, int64_t label_bytes, std::vector<Column>* columns) {
  HR_ASSIGN_OR_RETURN(const BufferRef file, MapFile(path));
  const int64_t record = label_bytes + kImageBytes;
  const int64_t bytes = static_cast<int64_t>(file->bytes()), records = bytes / record;
  if (records == 0 || bytes % record != 0) {
    return DataLoss("'", path, "' is cut short or damaged: expected records of ", record,
                    " bytes, found ", bytes, " bytes");
  }
  const auto field = [&](int64_t offset, Dims dims, Dims strides) {
    dims.insert(dims.begin(), records);
    strides.insert(strides.begin(), record);
    return Tensor::Strided(file, static_cast<size_t>(offset), DType::kUint8, std::move(dims),
                           std::move(strides));
  };
  columns->front().parts.push_back(field(label_bytes, ImageDims(), ContiguousStrides(ImageDims())));
  for (int64_t i = 0; i < label_bytes; ++i)
    (*columns)[static_cast<size_t>(i) + 1].parts.push_back(field(i, {}, {}));
  return {};
}

Result<SourceRef> Open(const std::string& path, const Kind& kind, Query& query,
                       const DatasetOptions& options) {
  HR_ASSIGN_OR_RETURN(const PixelOptions pixels, ReadPixelOptions(query));
  HR_RETURN_IF_ERROR(query.CheckKnown());
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> files, FindCifar(path, kind, options));
  std::vector<Column> columns(1);
  columns[0].name = "images";
  columns[0].example_dims = ImageDims();
  HR_ASSIGN_OR_RETURN(columns[0].map, pixels.Map(columns[0].example_dims[0]));
  for (const std::string& label : kind.labels) {
    columns.emplace_back().name = label;
    columns.back().widen = true;
  }
  for (const std::string& file : files) {
    HR_RETURN_IF_ERROR(AddFile(file, static_cast<int64_t>(kind.labels.size()), &columns));
  }
  HR_ASSIGN_OR_RETURN(std::string identity, FilesIdentity(files, query));
  return CreateColumnSource(std::move(columns), std::move(identity));
}

}  // namespace

Result<SourceRef> OpenCifar10(const std::string& path, Query& query,
                              const DatasetOptions& options) {
  return Open(path, Cifar10(), query, options);
}

Result<SourceRef> OpenCifar100(const std::string& path, Query& query,
                               const DatasetOptions& options) {
  return Open(path, Cifar100(), query, options);
}

}  // namespace hr::data
