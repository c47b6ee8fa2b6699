// make_files FOLDER: writes FOLDER/files/version_X_Y.hrg, where it is missing, and the first inputs
// of the fuzz target, FOLDER/fuzz/corpus/graph_file.
#include <cstdio>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/format/layout.h"
#include "runtime/format/version.h"
#include "runtime/format/writer.h"
#include "tests/unit/format/sample.h"

namespace hr::format {
namespace {

// Without the checksum, so that a changed byte meets the checks behind it.
Status WriteSeed(const std::string& path, const graph::Module& module,
                 const WriteOptions& options) {
  HR_ASSIGN_OR_RETURN(std::string text, WriteModuleToString(module, options));
  std::memset(text.data() + kChecksumOffset, 0, kHeaderEnd - kChecksumOffset);
  return WriteFileAtomically(path, AsBytes(text));
}

Status WriteAll(const std::string& folder) {
  std::string released = Cat(folder, "/files/version_", kMajorVersion, "_", kMinorVersion, ".hrg");
  if (!FileExists(released)) HR_RETURN_IF_ERROR(WriteModule(SampleModule(), released));
  std::string corpus = folder + "/fuzz/corpus/graph_file/";
  HR_RETURN_IF_ERROR(MakeDirectories(corpus));
  HR_RETURN_IF_ERROR(WriteSeed(corpus + "empty", {}, {}));
  HR_RETURN_IF_ERROR(WriteSeed(corpus + "region", SampleModule(), {.external_constants = true}));
  HR_RETURN_IF_ERROR(WriteSeed(corpus + "segments", SampleModule(), {.names = false}));
  graph::Module one_constant;
  one_constant.constants = {FloatTensor({2, 2}, 1)};
  return WriteSeed(corpus + "one_constant", one_constant, {.checksums = false});
}

}  // namespace
}  // namespace hr::format

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_files FOLDER\n");
    return 2;
  }
  hr::Status status = hr::format::WriteAll(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
