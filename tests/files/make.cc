// make_files FOLDER: writes FOLDER/files/version_X_Y.hrg (everything that the format has) and
// version_X_Y_training.hrg (a model to run), where they are missing, and the first inputs of the
// fuzz target, FOLDER/fuzz/corpus/graph_file.
#include <cstdio>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/format/layout.h"
#include "runtime/format/version.h"
#include "runtime/format/writer.h"
#include "runtime/transform/minimize.h"
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

// "infer": y = x · {{1, 2}, {3, 4}, {5, 6}} + bias, which is the variable {10, 11}. "train": the
// loss is the sum of y, and SGD moves the bias by learning_rate times the number of rows of x.
// So, for x = {{1, 2, 3}, {-1, 0, 1}}, y is {{32, 39}, {14, 15}} and the loss 100; a step with the
// rate 0.5 makes the bias {9, 10}, and the loss 96.
Result<graph::Module> TrainingModule() {
  const ops::OpRegistry operators;
  transform::GraphBuilder builder(SystemAllocator(), operators);
  graph::ValueType rows{.dtype = DType::kFloat32, .ranked = true, .dims = {{}, {.size = 3}}};
  rows.dims[0].symbol = builder.AddSymbol("batch");
  HR_ASSIGN_OR_RETURN(auto x, builder.AddInput("x", rows));
  HR_ASSIGN_OR_RETURN(
      auto rate, builder.AddInput("learning_rate", graph::ValueType::Tensor(DType::kFloat32, {})));
  HR_ASSIGN_OR_RETURN(auto scale, builder.AddConstant("scale", FloatTensor({3, 2}, 1)));
  HR_ASSIGN_OR_RETURN(auto variable, builder.AddVariable("bias", FloatTensor({2}, 10), true));
  HR_ASSIGN_OR_RETURN(auto bias, builder.Read(variable));
  HR_ASSIGN_OR_RETURN(auto scaled, builder.EmitOne(ops::kOnnx, "MatMul", {x, scale}));
  HR_ASSIGN_OR_RETURN(auto y, builder.EmitOne(ops::kOnnx, "Add", {scaled, bias}));
  HR_ASSIGN_OR_RETURN(auto loss,
                      builder.EmitOne(ops::kOnnx, "ReduceSum", {y}, {{"keepdims", int64_t{0}}}));
  HR_RETURN_IF_ERROR(transform::Minimize(builder, "train", loss, "sgd", rate));
  graph::Signature& train = builder.SignatureNamed("train");
  train.inputs = {{"x", x}, {"learning_rate", rate}};
  train.outputs = {{"loss", loss}};
  HR_RETURN_IF_ERROR(builder.AddSignature({"infer", {{"x", x}}, {{"y", y}}, {}}));
  return builder.Finish();
}

Status WriteReleased(const std::string& folder) {
  std::string name = Cat(folder, "/files/version_", kMajorVersion, "_", kMinorVersion);
  if (!FileExists(name + ".hrg")) HR_RETURN_IF_ERROR(WriteModule(SampleModule(), name + ".hrg"));
  if (FileExists(name + "_training.hrg")) return {};
  HR_ASSIGN_OR_RETURN(auto training, TrainingModule());
  return WriteModule(training, name + "_training.hrg");
}

Status WriteAll(const std::string& folder) {
  HR_RETURN_IF_ERROR(WriteReleased(folder));
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
