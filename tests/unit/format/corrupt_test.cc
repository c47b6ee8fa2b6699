// Files that are damaged or made to do harm: each fails with a clear sentence, or loads.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>

#include "runtime/format/graph_def_generated.h"
#include "runtime/format/layout.h"
#include "runtime/format/reader.h"
#include "runtime/format/writer.h"
#include "tests/unit/format/sample.h"
#include "tests/unit/format/temporary_folder.h"

namespace hr::format {
namespace {

Status Load(std::string_view text, const ReadOptions& options = {}) {
  return std::move(ReadModule(BufferOf(text), options)).status();
}

void ExpectFailure(const Status& status, Code code, std::string_view part) {
  EXPECT_EQ(status.code(), code) << status.ToString() << ", expected: " << part;
  EXPECT_NE(status.message().find(part), std::string::npos)
      << status.ToString() << ", expected: " << part;
}

uint64_t GetHeader(const std::string& text, size_t offset) {
  uint64_t value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

void SetHeader(std::string* text, size_t offset, uint64_t value) {
  std::memcpy(text->data() + offset, &value, sizeof value);
}

// With segments, without a checksum of the structure, so that damage reaches the checks behind it.
std::string Unchecked() {
  std::string text = WriteModuleToString(SampleModule()).value();
  SetHeader(&text, kChecksumOffset, 0);
  return text;
}

TEST(Corrupt, EveryTruncation) {
  std::string text = Unchecked();
  uint64_t structure = GetHeader(text, kHeaderOffset);
  for (size_t size = 0; size < text.size(); ++size) {
    if (size > structure + 100 && size < text.size() - 100) continue;  // padding
    Status status = Load(std::string_view(text).substr(0, size));
    EXPECT_EQ(status.code(), Code::kDataLoss) << size << ": " << status.ToString();
  }
}

TEST(Corrupt, TruncatedFileSaysSo) {
  std::string text = Unchecked();
  ExpectFailure(Load(""), Code::kDataLoss, "the file is empty");
  ExpectFailure(Load(text.substr(0, 20)), Code::kDataLoss, "cut short: it should have at least 32");
  ExpectFailure(Load(text.substr(0, 200)), Code::kDataLoss, "cut short: it should have at least ");
  ExpectFailure(Load(text.substr(0, text.size() - 1)), Code::kDataLoss,
                "segment 1: the file is cut");
}

TEST(Corrupt, WrongIdentifierAndVersion) {
  std::string text = Unchecked();
  text[7] = '2';
  ExpectFailure(Load(text), Code::kUnimplemented, "the file is of format version 2, this library");
  text[4] = 'T';
  ExpectFailure(Load(text), Code::kInvalidArgument, "not a Headrace graph file");
  ExpectFailure(Load("version https://example.org/spec/v1"), Code::kInvalidArgument,
                "not a Headrace");
}

TEST(Corrupt, HeaderThatLies) {
  auto with = [](size_t offset, uint64_t value) {
    std::string text = Unchecked();
    SetHeader(&text, offset, value);
    return Load(text);
  };
  for (uint64_t bytes : {uint64_t{0}, uint64_t{32}, uint64_t{1} << 31, UINT64_MAX}) {
    ExpectFailure(with(8, bytes), Code::kInvalidArgument, "that the structure has");
  }
  ExpectFailure(with(8, 1 << 30), Code::kOutOfRange, "bytes of structure, the limit is");
  ExpectFailure(with(8, 1 << 20), Code::kDataLoss, "cut short");
  ExpectFailure(with(8, 40), Code::kDataLoss, "not a valid FlatBuffer");
  ExpectFailure(with(16, 0), Code::kInvalidArgument, "has no segments");
  ExpectFailure(with(16, 1), Code::kInvalidArgument, "segments begin at 1");
  ExpectFailure(with(16, uint64_t{1} << 63), Code::kDataLoss, "cut short");
  ExpectFailure(with(24, 1), Code::kDataLoss, "its checksum is not the one");
}

TEST(Corrupt, SegmentsWithinTheStructure) {
  graph::Module module = SampleModule();
  module.metadata["long"] = std::string(20'000, 'x');
  std::string text = WriteModuleToString(module).value();
  SetHeader(&text, 16, kSegmentAlignment);
  SetHeader(&text, kChecksumOffset, 0);
  ExpectFailure(Load(text), Code::kInvalidArgument, "segments begin at 16384");
}

TEST(Corrupt, EveryBitFlipOfTheStructureIsFound) {
  std::string text = WriteModuleToString(SampleModule()).value();
  uint64_t structure = GetHeader(text, kHeaderOffset);
  for (size_t bit = 0; bit < structure * 8; ++bit) {
    text[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_FALSE(Load(text).ok()) << "bit " << bit;
    text[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
}

// A region, so that there is little to copy for each flip.
TEST(Corrupt, EveryBitFlipWithoutChecksumLoadsOrFailsCleanly) {
  std::string text = WriteModuleToString(SampleModule(), {.external_constants = true}).value();
  SetHeader(&text, kChecksumOffset, 0);
  int loaded = 0;
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    auto module = ReadModule(BufferOf(text), {.external_constants = true});
    if (module.ok()) {
      ++loaded;
      EXPECT_TRUE(WriteModuleToString(*module, {.external_constants = true}).ok());
    } else {
      EXPECT_NE(module.status().message(), "");
    }
    text[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  EXPECT_GT(loaded, 0);  // names and numbers may be anything
}

TEST(Corrupt, DamagedTensorsAreFoundOnRequest) {
  TemporaryFolder folder;
  std::string path = folder.Path("damaged.hrg");
  std::string text = WriteModuleToString(SampleModule()).value();
  text[text.size() - 1] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, AsBytes(text)).ok());
  EXPECT_TRUE(ReadModule(path).ok());
  ExpectFailure(VerifyChecksums(path), Code::kDataLoss, "segment 1: its tensors are damaged");
  ASSERT_TRUE(WriteModule(SampleModule(), path, {.checksums = false}).ok());
  ExpectFailure(VerifyChecksums(path), Code::kFailedPrecondition, "carries no checksum");
}

TEST(Corrupt, WhatIsNoFile) {
  TemporaryFolder folder;
  ExpectFailure(std::move(ReadModule(folder.Path("none.hrg"))).status(), Code::kNotFound,
                "none.hrg");
  ExpectFailure(std::move(ReadModule(folder.path())).status(), Code::kInvalidArgument,
                "is a folder");
  std::string pipe = folder.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (bool map : {true, false}) {
    ExpectFailure(std::move(ReadModule(pipe, {.map = map})).status(), Code::kInvalidArgument,
                  "pipe");
  }
}

TEST(Corrupt, Limits) {
  std::string text = Unchecked();
  auto with = [&](auto member, uint64_t value) {
    ReadOptions options;
    options.limits.*member = value;
    return Load(text, options);
  };
  ExpectFailure(with(&ReadLimits::structure_bytes, 100), Code::kOutOfRange, "bytes of structure");
  ExpectFailure(with(&ReadLimits::graphs, 2), Code::kOutOfRange, "there are 3 graphs");
  ExpectFailure(with(&ReadLimits::nodes, 3), Code::kOutOfRange, "there are 4 nodes");
  ExpectFailure(with(&ReadLimits::values, 7), Code::kOutOfRange, "there are 8 values");
  ExpectFailure(with(&ReadLimits::rank, 1), Code::kOutOfRange, "there are 2 dimensions");
  ExpectFailure(with(&ReadLimits::string_bytes, 4), Code::kOutOfRange, "bytes in a string");
  ExpectFailure(with(&ReadLimits::segments, 1), Code::kOutOfRange, "there are 2 segments");
}

// Structures that a writer of ours never makes.
class Crafted {
 public:
  flatbuffers::FlatBufferBuilder builder;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::TensorData>>> constants;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Segment>>> segments;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Graph>>> graphs;

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Metadata>>> metadata;

  // `data` bytes of segments follow.
  std::string Finish(size_t data = 0) {
    if (graphs.IsNull()) graphs = builder.CreateVector({fbs::CreateGraph(builder)});
    fbs::GraphDefBuilder root(builder);
    root.add_metadata(metadata);
    root.add_graphs(graphs);
    root.add_constants(constants);
    root.add_segments(segments);
    auto def = root.Finish();
    builder.Align(8);
    uint64_t bytes = builder.GetSize() + kHeaderEnd;
    uint64_t begin = data == 0 ? 0 : AlignUp(bytes, kSegmentAlignment);
    builder.PushElement(uint64_t{0});
    builder.PushElement(begin);
    builder.PushElement(bytes);
    builder.Finish(def, kIdentifier);
    std::string text(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
    if (data != 0) text.resize(begin + data, '\0');
    return text;
  }
};

struct SegmentCase {
  uint64_t offset, bytes;
  const char* file;
};

Status LoadSegments(const std::vector<SegmentCase>& cases) {
  Crafted crafted;
  std::vector<flatbuffers::Offset<fbs::Segment>> segments;
  for (const SegmentCase& c : cases) {
    segments.push_back(fbs::CreateSegmentDirect(crafted.builder, c.offset, c.bytes, false, c.file));
  }
  crafted.segments = crafted.builder.CreateVector(segments);
  return Load(crafted.Finish(40000), {.side_file_folder = "/tmp"});
}

TEST(Corrupt, Segments) {
  constexpr uint64_t kMost = UINT64_MAX / kSegmentAlignment * kSegmentAlignment;
  EXPECT_TRUE(LoadSegments({{0, 40000}}).ok());
  EXPECT_TRUE(LoadSegments({{0, 16384}, {16384, 1}}).ok());
  ExpectFailure(LoadSegments({{1, 1}}), Code::kInvalidArgument, "not a multiple of 16384");
  ExpectFailure(LoadSegments({{0, 40001}}), Code::kDataLoss, "cut short");
  ExpectFailure(LoadSegments({{kMost, 20000}}), Code::kDataLoss, "cut short");
  ExpectFailure(LoadSegments({{16384, UINT64_MAX}}), Code::kDataLoss, "cut short");
  ExpectFailure(LoadSegments({{0, 16385}, {16384, 1}}), Code::kInvalidArgument,
                "within the segment");
  ExpectFailure(LoadSegments({{16384, 1}, {0, 1}}), Code::kInvalidArgument, "within the segment");
  for (const char* name : {"/etc/passwd", "../x", "a/../../x", "x/", "a\\b", "."}) {
    ExpectFailure(LoadSegments({{0, 1, name}}), Code::kInvalidArgument, "the side file's name");
  }
}

Status LoadConstant(int32_t dtype, std::vector<int64_t> dims, uint32_t segment, uint64_t offset,
                    uint64_t bytes) {
  Crafted crafted;
  crafted.segments = crafted.builder.CreateVector({fbs::CreateSegment(crafted.builder, 0, 1000)});
  crafted.constants = crafted.builder.CreateVector(
      {fbs::CreateTensorDataDirect(crafted.builder, dtype, &dims, segment, offset, bytes)});
  return Load(crafted.Finish(1000));
}

TEST(Corrupt, Constants) {
  EXPECT_TRUE(LoadConstant(1, {10, 5}, 0, 64, 200).ok());
  EXPECT_TRUE(LoadConstant(1, {0, int64_t{1} << 54}, 0, 960, 0).ok());
  ExpectFailure(LoadConstant(23, {1}, 0, 0, 4), Code::kUnimplemented, "unknown element type 23");
  ExpectFailure(LoadConstant(-1, {1}, 0, 0, 4), Code::kUnimplemented, "unknown element type -1");
  ExpectFailure(LoadConstant(8, {1}, 0, 0, 4), Code::kInvalidArgument, "not supported");
  ExpectFailure(LoadConstant(1, {-1}, 0, 0, 4), Code::kInvalidArgument, "negative");
  ExpectFailure(LoadConstant(1, {INT64_MAX, 3}, 0, 0, 4), Code::kInvalidArgument, "too large");
  ExpectFailure(LoadConstant(1, {0, INT64_MAX}, 0, 960, 0), Code::kInvalidArgument, "too large");
  ExpectFailure(LoadConstant(1, {INT64_MAX}, 0, 0, 4), Code::kInvalidArgument, "too large");
  ExpectFailure(LoadConstant(1, {2}, 1, 0, 8), Code::kInvalidArgument, "lies in segment 1");
  ExpectFailure(LoadConstant(1, {2}, 0, 0, 9), Code::kInvalidArgument,
                "has 8 bytes, the file says 9");
  ExpectFailure(LoadConstant(1, {2}, 0, 32, 8), Code::kInvalidArgument, "not a multiple of 64");
  ExpectFailure(LoadConstant(1, {11}, 0, 960, 44), Code::kInvalidArgument,
                "44 bytes from offset 960");
  ExpectFailure(LoadConstant(1, {1}, 0, UINT64_MAX - 63, 4), Code::kInvalidArgument,
                "4 bytes from");
  ExpectFailure(LoadConstant(1, std::vector<int64_t>(65, 1), 0, 0, 4), Code::kOutOfRange,
                "dimensions");
}

Status LoadNode(const std::function<flatbuffers::Offset<fbs::Attribute>(Crafted&)>& attribute) {
  Crafted crafted;
  auto attributes = crafted.builder.CreateVector({attribute(crafted)});
  auto node = fbs::CreateNode(crafted.builder, 0, 0, 0, 0, attributes);
  auto nodes = crafted.builder.CreateVector({node});
  crafted.graphs = crafted.builder.CreateVector({fbs::CreateGraph(crafted.builder, 0, nodes)});
  return Load(crafted.Finish());
}

TEST(Corrupt, UnknownCodesSayWhatToDo) {
  Status status = LoadNode([](Crafted& c) {
    return fbs::CreateAttributeDirect(c.builder, "k", static_cast<fbs::AttributeType>(8));
  });
  ExpectFailure(status, Code::kUnimplemented,
                "unknown type of attribute 8; the file is of version 1.0");
  status = LoadNode([](Crafted& c) {
    return fbs::CreateAttribute(c.builder, c.builder.CreateString("a\0b", 3));
  });
  ExpectFailure(status, Code::kInvalidArgument, "is not UTF-8");
}

Status LoadGraph(const std::function<flatbuffers::Offset<fbs::Graph>(Crafted&)>& graph) {
  Crafted crafted;
  crafted.graphs = crafted.builder.CreateVector({graph(crafted)});
  return Load(crafted.Finish());
}

flatbuffers::Offset<fbs::Graph> GraphOfValue(Crafted& c, fbs::ValueKind kind, int64_t dim) {
  std::vector<int64_t> dims{dim};
  auto value = fbs::CreateValueDirect(c.builder, kind, 1, true, &dims);
  return fbs::CreateGraph(c.builder, c.builder.CreateVector({value}));
}

TEST(Corrupt, Graphs) {
  Status status =
      LoadGraph([](Crafted& c) { return GraphOfValue(c, static_cast<fbs::ValueKind>(4), 1); });
  ExpectFailure(status, Code::kUnimplemented, "value 0: unknown kind of value 4");
  status = LoadGraph([](Crafted& c) { return GraphOfValue(c, fbs::ValueKind::Tensor, INT64_MIN); });
  ExpectFailure(status, Code::kInvalidArgument, "dimension -9223372036854775808 is out of range");
  status = LoadGraph([](Crafted& c) { return GraphOfValue(c, fbs::ValueKind::Tensor, -2); });
  ExpectFailure(status, Code::kInvalidArgument, "symbol 0 is out of range: there are 0");
  status = LoadGraph([](Crafted& c) {
    std::vector<uint32_t> outputs{1'000'000'000};
    auto node = fbs::CreateNodeDirect(c.builder, 0, nullptr, &outputs);
    return fbs::CreateGraph(c.builder, 0, c.builder.CreateVector({node}));
  });
  ExpectFailure(status, Code::kInvalidArgument, "node #0 has value 1000000000 as an output");
  status = LoadGraph([](Crafted& c) {
    auto names = c.builder.CreateVector({fbs::CreateNameDirect(c.builder, 1'000'000'000, "n")});
    return fbs::CreateGraph(c.builder, 0, 0, 0, 0, names);
  });
  ExpectFailure(status, Code::kInvalidArgument, "given to node 1000000000, there are 0");
}

TEST(Corrupt, RepeatedKeys) {
  Crafted crafted;
  auto entry = fbs::CreateMetadataDirect(crafted.builder, "key", "value");
  crafted.metadata = crafted.builder.CreateVector({entry, entry});
  ExpectFailure(Load(crafted.Finish()), Code::kInvalidArgument, "metadata 'key' is given twice");
}

// One list of 1,000 tables, referenced by 1,000 nodes, and so on: unfolded it would be 10^9.
TEST(Corrupt, SharedListsDoNotUnfold) {
  Crafted crafted;
  auto text = fbs::CreateText(crafted.builder, crafted.builder.CreateString("shared"));
  auto texts = crafted.builder.CreateVector(std::vector(1000, text));
  auto name = crafted.builder.CreateString("k");
  auto attribute = fbs::CreateAttribute(crafted.builder, name, fbs::AttributeType::Strings, 0, {},
                                        0, 0, 0, texts);
  auto attributes = crafted.builder.CreateVector(std::vector(1000, attribute));
  auto node = fbs::CreateNode(crafted.builder, 0, 0, 0, 0, attributes);
  auto nodes = crafted.builder.CreateVector(std::vector(1000, node));
  crafted.graphs = crafted.builder.CreateVector({fbs::CreateGraph(crafted.builder, 0, nodes)});
  auto start = std::chrono::steady_clock::now();
  ExpectFailure(Load(crafted.Finish()), Code::kDataLoss, "not a valid FlatBuffer");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

// FlatBuffers' verifier looks at a list of numbers once, however long; we would copy it.
TEST(Corrupt, SharedNumbersDoNotUnfold) {
  Crafted crafted;
  auto inputs = crafted.builder.CreateVector(std::vector<uint32_t>(100'000, UINT32_MAX));
  std::vector<flatbuffers::Offset<fbs::Node>> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(fbs::CreateNode(crafted.builder, 0, inputs));
  auto nodes = crafted.builder.CreateVector(all);
  crafted.graphs = crafted.builder.CreateVector({fbs::CreateGraph(crafted.builder, 0, nodes)});
  ExpectFailure(Load(crafted.Finish()), Code::kInvalidArgument, "again and again");
}

// The smallest tables a writer can make must fit the budget that hostile files are held to.
TEST(Corrupt, HonestFilesFitTheBudget) {
  graph::Module module;
  module.operators = {{"", "NoOp", 1}};
  module.main().nodes.resize(100'000);
  module.main().values.resize(100'000);
  module.constants.resize(100'000, FloatTensor({}, 1));
  module.graphs.resize(10'000);
  Status status = Load(WriteModuleToString(module).value());
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(Corrupt, HostReaderFailureIsPassedOn) {
  std::string text = Unchecked();
  struct Host {
    std::string text;
    int calls_left;
  };
  for (int calls = 0; calls < 4; ++calls) {
    Host host{text, calls};
    HostReader reader{&host, text.size(),
                      [](void* context, uint64_t offset, size_t bytes, void* out) {
                        auto* h = static_cast<Host*>(context);
                        if (h->calls_left-- == 0) return Status(Code::kUnavailable, "gone");
                        std::memcpy(out, h->text.data() + offset, bytes);
                        return Status();
                      }};
    EXPECT_EQ(ReadModule(reader).status().code(), Code::kUnavailable) << calls;
  }
}

class FailingAllocator final : public Allocator {
 public:
  explicit FailingAllocator(int successes) : left_(successes) {}
  void* Allocate(size_t bytes, size_t alignment) override {
    if (left_-- <= 0) return nullptr;
    ++live;
    return SystemAllocator().Allocate(bytes, alignment);
  }
  void Deallocate(void* data, size_t bytes, size_t alignment) override {
    --live;
    SystemAllocator().Deallocate(data, bytes, alignment);
  }
  int live = 0;

 private:
  int left_;
};

TEST(Corrupt, AllocationFailureIsResourceExhausted) {
  TemporaryFolder folder;
  std::string path = folder.Path("model.hrg");
  ASSERT_TRUE(WriteModule(SampleModule(), path).ok());
  int successes = 0;
  for (;; ++successes) {
    FailingAllocator allocator(successes);
    {
      auto module = ReadModule(path, {.allocator = &allocator, .map = false});
      if (module.ok()) break;
      EXPECT_EQ(module.status().code(), Code::kResourceExhausted);
    }
    EXPECT_EQ(allocator.live, 0);
  }
  EXPECT_EQ(successes, 4);  // header, structure, two segments
}

}  // namespace
}  // namespace hr::format
