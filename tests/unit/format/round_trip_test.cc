#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/file.h"
#include "runtime/format/layout.h"
#include "runtime/format/reader.h"
#include "runtime/format/region.h"
#include "runtime/format/writer.h"
#include "tests/unit/format/sample.h"
#include "tests/unit/format/temporary_folder.h"

namespace hr::format {
namespace {

using graph::Module;

std::string Written(const Module& module, const WriteOptions& options = {}) {
  auto text = WriteModuleToString(module, options);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return text.ok() ? text.value() : "";
}

Module ReadBack(std::string_view text, const ReadOptions& options = {}) {
  auto module = ReadModule(BufferOf(text), options);
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return module.ok() ? std::move(module).value() : Module();
}

void ExpectSameTensor(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.TypeText(), b.TypeText());
  ASSERT_TRUE(a.defined() && b.defined());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
}

void ExpectSameGraph(const graph::Graph& a, const graph::Graph& b) {
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_EQ(a.values[i].type, b.values[i].type) << "value " << i;
    EXPECT_EQ(a.values[i].producer, b.values[i].producer) << "value " << i;
    EXPECT_EQ(a.values[i].constant, b.values[i].constant) << "value " << i;
    EXPECT_EQ(a.values[i].name, b.values[i].name) << "value " << i;
  }
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].op, b.nodes[i].op);
    EXPECT_EQ(a.nodes[i].inputs, b.nodes[i].inputs);
    EXPECT_EQ(a.nodes[i].outputs, b.nodes[i].outputs);
    EXPECT_EQ(a.nodes[i].controls, b.nodes[i].controls);
    EXPECT_EQ(a.nodes[i].attributes, b.nodes[i].attributes);
    EXPECT_EQ(a.nodes[i].device, b.nodes[i].device);
    EXPECT_EQ(a.nodes[i].name, b.nodes[i].name);
  }
}

void ExpectSamePorts(const std::vector<graph::Port>& a, const std::vector<graph::Port>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].value, b[i].value);
  }
}

void ExpectSameModule(const Module& a, const Module& b) {
  EXPECT_EQ(a.producer, b.producer);
  EXPECT_EQ(a.opsets, b.opsets);
  EXPECT_EQ(a.metadata, b.metadata);
  EXPECT_EQ(a.operators, b.operators);
  ASSERT_EQ(a.symbols.size(), b.symbols.size());
  for (size_t i = 0; i < a.symbols.size(); ++i) {
    EXPECT_EQ(a.symbols[i].name, b.symbols[i].name);
    EXPECT_EQ(a.symbols[i].min, b.symbols[i].min);
    EXPECT_EQ(a.symbols[i].max, b.symbols[i].max);
    EXPECT_EQ(a.symbols[i].buckets, b.symbols[i].buckets);
  }
  ASSERT_EQ(a.graphs.size(), b.graphs.size());
  for (size_t i = 0; i < a.graphs.size(); ++i) ExpectSameGraph(a.graphs[i], b.graphs[i]);
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (size_t i = 0; i < a.variables.size(); ++i) {
    EXPECT_EQ(a.variables[i].name, b.variables[i].name);
    EXPECT_EQ(a.variables[i].dtype, b.variables[i].dtype);
    EXPECT_EQ(a.variables[i].dims, b.variables[i].dims);
    EXPECT_EQ(a.variables[i].trainable, b.variables[i].trainable);
    EXPECT_EQ(a.variables[i].initial_constant, b.variables[i].initial_constant);
    EXPECT_EQ(a.variables[i].initial_graph, b.variables[i].initial_graph);
  }
  ASSERT_EQ(a.constants.size(), b.constants.size());
  for (size_t i = 0; i < a.constants.size(); ++i) ExpectSameTensor(a.constants[i], b.constants[i]);
  ASSERT_EQ(a.signatures.size(), b.signatures.size());
  for (size_t i = 0; i < a.signatures.size(); ++i) {
    EXPECT_EQ(a.signatures[i].name, b.signatures[i].name);
    ExpectSamePorts(a.signatures[i].inputs, b.signatures[i].inputs);
    ExpectSamePorts(a.signatures[i].outputs, b.signatures[i].outputs);
    EXPECT_EQ(a.signatures[i].targets, b.signatures[i].targets);
  }
}

TEST(RoundTrip, EverythingComesBack) {
  Module module = SampleModule();
  Module back = ReadBack(Written(module));
  ExpectSameModule(module, back);
  EXPECT_TRUE(std::signbit(back.main().nodes[1].Float("negative_zero", 1)));
}

TEST(RoundTrip, EmptyModule) {
  Module module;
  ExpectSameModule(module, ReadBack(Written(module)));
}

TEST(RoundTrip, ThroughEverySource) {
  TemporaryFolder folder;
  Module module = SampleModule();
  std::string path = folder.Path("sources.hrg");
  ASSERT_TRUE(WriteModule(module, path).ok());
  for (bool map : {true, false}) {
    auto read = ReadModule(path, {.map = map, .verify_checksums = true});
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ExpectSameModule(module, *read);
  }
  std::string text = ReadFile(path).value();
  HostReader host{&text, text.size(), [](void* context, uint64_t offset, size_t bytes, void* out) {
                    std::memcpy(out, static_cast<std::string*>(context)->data() + offset, bytes);
                    return Status();
                  }};
  ExpectSameModule(module, ReadModule(host).value());
}

TEST(RoundTrip, UnalignedMemoryIsCopied) {
  std::string shifted = "x" + Written(SampleModule());
  BufferRef buffer = AdoptBuffer(shifted.data() + 1, shifted.size() - 1, {}, nullptr, nullptr);
  auto read = ReadModule(buffer);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ExpectSameModule(SampleModule(), *read);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->constants[0].data()) % kTensorAlignment, 0u);
}

TEST(RoundTrip, AdoptedMemoryLivesAsLongAsTheModule) {
  std::string text = Written(SampleModule());
  static bool released;
  released = false;
  void* memory = std::aligned_alloc(64, AlignUp(text.size(), 64));
  std::memcpy(memory, text.data(), text.size());
  auto release = [](void* context) {
    std::free(context);
    released = true;
  };
  {
    Module module = ReadModule(AdoptBuffer(memory, text.size(), {}, release, memory)).value();
    EXPECT_FALSE(released);
    auto* begin = static_cast<std::byte*>(memory);
    EXPECT_TRUE(module.constants[0].data() > begin &&
                module.constants[0].data() < begin + text.size());
    EXPECT_EQ(module.constants[0].as<float>()[5], 6.0f);
  }
  EXPECT_TRUE(released);
}

TEST(RoundTrip, SideFile) {
  TemporaryFolder folder;
  Module module = SampleModule();
  std::string path = folder.Path("with_side.hrg");
  ASSERT_TRUE(WriteModule(module, path, {.side_file = "weights.bin"}).ok());
  ExpectSameModule(module, ReadModule(path, {.verify_checksums = true}).value());
  EXPECT_LT(FileSize(path).value(), 4096);
  EXPECT_EQ(FileSize(folder.Path("weights.bin")).value(), 16384 + 8);

  std::string text = ReadFile(path).value();
  EXPECT_EQ(ReadModule(BufferOf(text)).status().code(), Code::kFailedPrecondition);
  ExpectSameModule(module, ReadBack(text, {.side_file_folder = folder.path().c_str()}));

  ASSERT_TRUE(RemoveFile(folder.Path("weights.bin")).ok());
  Status missing = std::move(ReadModule(path)).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_NE(missing.message().find("the side file 'weights.bin'"), std::string::npos);
}

TEST(RoundTrip, StrippedNames) {
  Module module = SampleModule();
  std::string stripped = Written(module, {.names = false});
  EXPECT_EQ(stripped.find("gemm"), std::string::npos);
  Module back = ReadBack(stripped);
  EXPECT_EQ(graph::NodeText(back, back.main(), 1), "#1 (Gemm)");
  for (graph::Graph& graph : module.graphs) {
    for (auto& node : graph.nodes) node.name.clear();
    for (auto& value : graph.values) value.name.clear();
  }
  ExpectSameModule(module, back);
}

TEST(RoundTrip, SameBytesAlways) {
  Module module = SampleModule();
  std::string text = Written(module);
  EXPECT_EQ(text, Written(SampleModule()));
  EXPECT_EQ(text, Written(ReadBack(text)));
}

TEST(RoundTrip, RegionHasTypesAndNoData) {
  Module module = SampleModule();
  std::string region = WriteRegion(module).value();
  Module back = ReadRegion(AsBytes(region)).value();
  ASSERT_EQ(back.constants.size(), module.constants.size());
  for (size_t i = 0; i < back.constants.size(); ++i) {
    EXPECT_FALSE(back.constants[i].defined());
    EXPECT_EQ(back.constants[i].TypeText(), module.constants[i].TypeText());
    EXPECT_EQ(back.constants[i].device(), DeviceId{});
  }
  EXPECT_EQ(region, WriteRegion(back).value());
  EXPECT_EQ(ReadModule(BufferOf(region)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(WriteModuleToString(back).status().code(), Code::kInvalidArgument);
}

TEST(Writer, SharedMemoryIsWrittenOnce) {
  Module module;
  Tensor big = FloatTensor({1000}, 0);
  Tensor reshaped = Tensor::View(big.buffer(), 0, DType::kFloat32, {10, 100}).value();
  module.constants = {big, reshaped, big};
  size_t shared = Written(module).size();
  EXPECT_EQ(shared, kSegmentAlignment + 4000);
  Module back = ReadBack(Written(module));
  EXPECT_EQ(back.constants[0].data(), back.constants[1].data());
  EXPECT_EQ(back.constants[1].dims(), (Dims{10, 100}));
}

TEST(Writer, StridedViewsOfOneMemoryAreDistinct) {
  Module module;
  Tensor base = FloatTensor({16}, 0);
  Tensor wide = Tensor::Strided(base.buffer(), 0, DType::kFloat32, {1, 4, 1}, {1, 2, 8});
  Tensor deep = Tensor::Strided(base.buffer(), 0, DType::kFloat32, {2, 1, 2}, {1, 2, 8});
  module.constants = {wide, deep};
  Module back = ReadBack(Written(module));
  auto elements = [&](int i) {
    auto values = back.constants[i].span<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(elements(0), (std::vector<float>{0, 2, 4, 6}));
  EXPECT_EQ(elements(1), (std::vector<float>{0, 8, 1, 9}));
}

TEST(Writer, MemoryThatIsAlsoAConstantIsReadOnly) {
  Module module;
  module.constants = {FloatTensor({2}, 0), FloatTensor({2}, 5)};
  module.constants.push_back(module.constants[0]);
  module.variables = {{"v", DType::kFloat32, {2}, true, 0, graph::kNone}};
  // Constant 2 is no variable's, and shares the memory of 0: one segment holds all.
  EXPECT_EQ(Written(module).size(), kSegmentAlignment + 64 + 8);
}

TEST(Writer, StridedTensorsAreWrittenContiguous) {
  Module module;
  Tensor base = FloatTensor({2, 3}, 0);
  Tensor transposed = Tensor::Strided(base.buffer(), 0, DType::kFloat32, {3, 2}, {1, 3});
  module.constants = {transposed, base};
  Module back = ReadBack(Written(module));
  auto values = back.constants[0].span<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Writer, ReadOnlyAndMutableLieApart) {
  Module back = ReadBack(Written(SampleModule()));
  auto address = [&](int i) { return reinterpret_cast<uintptr_t>(back.constants[i].data()); };
  EXPECT_EQ(address(2) - address(0), 64u);     // both read-only
  EXPECT_EQ(address(1) - address(0), 16384u);  // only a variable's initial value
}

TEST(Writer, KeepsTheOldFileOnFailure) {
  TemporaryFolder folder;
  std::string path = folder.Path("kept.hrg");
  ASSERT_TRUE(WriteModule(SampleModule(), path).ok());
  Module bad = SampleModule();
  bad.main().nodes[0].op = 99;
  EXPECT_EQ(WriteModule(bad, path).code(), Code::kInvalidArgument);
  for (const char* name : {"/abs", "../up", "a/../b", "a//b", "c:\\x"}) {
    EXPECT_EQ(WriteModule(SampleModule(), path, {.side_file = name}).code(), Code::kInvalidArgument)
        << name;
  }
  EXPECT_EQ(WriteModule(SampleModule(), path, {.side_file = "kept.hrg"}).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(ReadModule(path).ok());
  EXPECT_FALSE(FileExists(path + ".tmp"));
}

TEST(Writer, SinkFailureIsPassedOn) {
  int calls = 0;
  Status status = WriteModule(SampleModule(), [&](Bytes) -> Status {
    if (++calls < 3) return {};
    return Status(Code::kResourceExhausted, "full");
  });
  EXPECT_EQ(status.message(), "full");
}

}  // namespace
}  // namespace hr::format
