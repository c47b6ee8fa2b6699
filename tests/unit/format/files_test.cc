// Files on disk: released versions, very large ones, and what FlatBuffers' own tool makes of them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "runtime/format/layout.h"
#include "runtime/format/reader.h"
#include "runtime/format/writer.h"
#include "tests/unit/format/sample.h"
#include "tests/unit/format/temporary_folder.h"

namespace hr::format {
namespace {

const std::string kSource = HEADRACE_SOURCE_DIR;

TEST(Files, EveryReleasedVersionLoads) {
  std::string folder = kSource + "/tests/files";
  int loaded = 0;
  for (const std::string& name : ListDirectory(folder).value()) {
    if (!name.ends_with(".hrg")) continue;
    Status status = VerifyChecksums(JoinPath(folder, name));
    EXPECT_TRUE(status.ok()) << status.ToString();
    ++loaded;
  }
  EXPECT_GE(loaded, 1);
}

// What version 1.0 wrote means the same for ever; so this test compares with constants, not with
// what the sources of today say.
TEST(Files, Version10MeansWhatItMeant) {
  auto read = ReadModule(kSource + "/tests/files/version_1_0.hrg");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const graph::Module& m = *read;
  EXPECT_EQ(m.producer, "sample 1");
  EXPECT_EQ(m.opsets.at("headrace.state"), 1);
  EXPECT_EQ(m.metadata.at("author"), "somebody");
  ASSERT_EQ(m.graphs.size(), 3u);
  EXPECT_EQ(graph::TypeText(m.main().values[0].type, m.symbols), "float32[batch, 3]");
  EXPECT_EQ(m.symbols[0].buckets, (std::vector<int64_t>{32, 128, 512}));
  EXPECT_EQ(m.symbols[1].max, graph::kUnknownDim);
  const graph::Node& gemm = m.main().nodes[1];
  EXPECT_EQ(graph::NodeText(m, m.main(), 1), "gemm");
  EXPECT_EQ(m.OperatorOf(gemm).name, "Gemm");
  EXPECT_EQ(m.OperatorOf(gemm).version, 13);
  EXPECT_EQ(gemm.Float("alpha", 0), 0.5);
  EXPECT_EQ(gemm.Int("least", 0), INT64_MIN);
  EXPECT_EQ(gemm.Ints("pads")[0], -1);
  EXPECT_EQ(gemm.device, "CPU:0");
  EXPECT_EQ(m.main().nodes[2].inputs, (std::vector<graph::ValueId>{graph::kNone, 3}));
  EXPECT_EQ(m.main().nodes[2].controls, (std::vector<graph::NodeId>{1, 0}));
  EXPECT_EQ(m.variables[0].name, "bias");
  EXPECT_TRUE(m.variables[0].trainable);
  EXPECT_FALSE(m.variables[1].trainable);
  EXPECT_EQ(m.variables[1].initial_graph, 1u);
  EXPECT_EQ(m.constants[1].as<float>()[1], 11.0f);
  EXPECT_EQ(m.constants[0].dims(), (Dims{3, 2}));
  EXPECT_EQ(m.FindSignature("infer")->outputs[0].value, 3u);
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// A module with 1 GiB of zeros, written so that they take no room on the disk.
void WriteSparse(const std::string& path) {
  constexpr size_t kBytes = size_t{1} << 30;
  void* zeros =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  graph::Module module = SampleModule();
  BufferRef buffer = AdoptBuffer(zeros, kBytes, {}, nullptr, nullptr);
  for (int64_t i = 0; i < 16; ++i) {
    module.constants.push_back(
        Tensor::View(buffer, i * (kBytes / 16), DType::kFloat32, {1 << 24}).value());
  }
  auto file = FileWriter::Create(path);
  ASSERT_TRUE(file.ok());
  int64_t offset = 0;
  auto sink = [&](Bytes bytes) -> Status {
    if (bytes.size() < kBytes / 16) HR_RETURN_IF_ERROR(file->WriteAt(offset, bytes));
    offset += static_cast<int64_t>(bytes.size());
    return {};
  };
  ASSERT_TRUE(WriteModule(module, sink, {.checksums = false}).ok());
  ASSERT_GT(offset, int64_t{1} << 30);
  munmap(zeros, kBytes);
}

TEST(Files, LoadingDoesNotGrowWithTheWeights) {
  TemporaryFolder folder;
  std::string path = folder.Path("large.hrg");
  WriteSparse(path);
  ASSERT_TRUE(ReadModule(path).ok());  // touches code and heap that are not the file's
  size_t before = ResidentBytes();
  auto start = std::chrono::steady_clock::now();
  auto module = ReadModule(path);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  size_t growth = ResidentBytes() - std::min(before, ResidentBytes());
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_EQ(module->constants.back().as<float>()[12345], 0.0f);
  EXPECT_LT(time.count(), 50.0);  // a fraction of a millisecond; machines are noisy
  EXPECT_LT(growth, size_t{2} << 20);
  RecordProperty("milliseconds", std::to_string(time.count()));
  RecordProperty("growth_bytes", std::to_string(growth));
}

TEST(Files, FlatcPrintsThem) {
  if (!FileExists(HEADRACE_FLATC)) GTEST_SKIP() << "there is no flatc";
  TemporaryFolder folder;
  ASSERT_TRUE(WriteModule(SampleModule(), folder.Path("sample.hrg")).ok());
  std::string command = std::string(HEADRACE_FLATC) + " --json --strict-json -o " + folder.path() +
                        " " + kSource + "/runtime/format/graph_def.fbs -- " +
                        folder.Path("sample.hrg");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::string json = ReadFile(folder.Path("sample.json")).value();
  for (const char* part : {"\"gemm\"", "\"batch\"", "\"infer\"", "\"name\": \"bias\"", "0.5"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in\n" << json;
  }
}

}  // namespace
}  // namespace hr::format
