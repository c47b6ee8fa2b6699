// Any bytes as a data file: they open and are read, or fail cleanly. The first byte says which
// format, the rest is the file.
#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/dataset_uri.h"

namespace {

using namespace hr;

constexpr std::string_view kFormats[] = {
    "csv:FILE?batch=7",
    "csv:FILE?batch=7&header=0&split=1&missing=0&na=NA",
    "csv:FILE?escape=backslash&comment=hash&delimiter=;&decimal=,&type=int8&missing=1",
    "npy:FILE",
    "npz:FILE",
    "cifar10:FOLDER/test",
    "cifar100:FOLDER/test?raw=1",
    "text:FILE?length=3&stride=1",
    "text:FILE?unit=line&length=5&tokens=pieces&vocabulary=FILE&unknown=0",
    "idx:FOLDER/test",
};

void Check(bool condition) {
  if (!condition) std::abort();
}

std::string Replaced(std::string text, std::string_view word, const std::string& by) {
  for (size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), by);
  return text;
}

// A folder for the time of the process, with the file under each name that a format wants.
std::string MakeFolder() {
  std::string path = "/tmp/headrace-fuzz-XXXXXX";
  Check(mkdtemp(path.data()) != nullptr);
  return path;
}

Status ReadAll(const std::string& uri) {
  HR_ASSIGN_OR_RETURN(const auto data, data::OpenDataset(uri, {}));
  std::vector<Tensor> batch(data->field_count());
  while (true) {
    HR_ASSIGN_OR_RETURN(const bool more, data->Next(batch, {}));
    if (!more) return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::string folder = MakeFolder();
  if (size == 0) return 0;
  const std::string_view format = kFormats[bytes[0] % std::size(kFormats)];
  const std::string file = JoinPath(folder, "file");
  const char* names[] = {"file", "test_batch.bin", "test.bin", "test-images-idx3-ubyte",
                         "test-labels-idx1-ubyte"};
  for (const char* name : names) {
    auto writer = FileWriter::Create(JoinPath(folder, name));
    Check(writer.ok());
    Check(writer->Write({reinterpret_cast<const std::byte*>(bytes) + 1, size - 1}).ok());
  }
  const Status status =
      ReadAll(Replaced(Replaced(std::string(format), "FILE", file), "FOLDER", folder));
  Check(status.ok() || !status.message().empty());
  return 0;
}
