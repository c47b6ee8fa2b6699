#include "runtime/train/event_file.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "runtime/base/errors.h"
#include "runtime/base/host.h"
#include "runtime/base/utf8.h"
#include "runtime/train/graph_event.h"
#include "runtime/train/histogram.h"
#include "runtime/train/png.h"

namespace hr::train {
namespace {

// Field numbers of TensorFlow's messages.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kGraphDef = 4, kSummary = 5;  // Event
constexpr int kValue = 1;                                                               // Summary
constexpr int kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;  // Summary.Value
constexpr int kPluginData = 1, kDataClass = 4;                         // SummaryMetadata
constexpr int kPluginName = 1;                                         // its PluginData
constexpr int kDType = 1, kShape = 2, kContent = 4, kStringValue = 8;  // TensorProto
constexpr int kDim = 2, kDimSize = 1;                                  // TensorShapeProto
constexpr int kDouble = 2, kStringType = 7;                            // DataType
constexpr int kClassTensor = 2, kClassBlobSequence = 3;                // DataClass

double SystemSeconds() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

ProtoWriter PluginMetadata(std::string_view plugin, int data_class) {
  ProtoWriter metadata;
  metadata.Message(kPluginData, ProtoWriter().String(kPluginName, plugin));
  metadata.Int(kDataClass, data_class);
  return metadata;
}

ProtoWriter ShapeMessage(std::initializer_list<size_t> dims) {
  ProtoWriter shape;
  for (size_t dim : dims) {
    shape.Message(kDim, ProtoWriter().Int(kDimSize, static_cast<int64_t>(dim)));
  }
  return shape;
}

ProtoWriter HistogramTensor(std::span<const HistogramBucket> buckets) {
  static_assert(std::endian::native == std::endian::little);
  ProtoWriter tensor;
  tensor.Int(kDType, kDouble).Message(kShape, ShapeMessage({buckets.size(), 3}));
  tensor.String(kContent, AsText(std::as_bytes(buckets)));
  return tensor;
}

ProtoWriter StringTensor(std::initializer_list<size_t> dims, std::span<const std::string> strings) {
  ProtoWriter tensor;
  tensor.Int(kDType, kStringType).Message(kShape, ShapeMessage(dims));
  for (const std::string& text : strings) tensor.String(kStringValue, text);
  return tensor;
}

// A name that no file has yet: two writers may begin in the same second.
std::string FreshPath(const std::string& directory, double now, const std::string& host) {
  std::string seconds = Cat(static_cast<int64_t>(now));
  if (seconds.size() < 10) seconds.insert(0, 10 - seconds.size(), '0');
  std::string path = JoinPath(directory, Cat("events.out.tfevents.", seconds, ".", host));
  std::string fresh = path;
  for (int i = 1; FileExists(fresh); ++i) fresh = Cat(path, ".", i);
  return fresh;
}

}  // namespace

EventWriter::EventWriter(std::string path, RecordWriter records, const EventOptions& options)
    : path_(std::move(path)), options_(options), records_(std::move(records)) {}

EventWriter::~EventWriter() { Flush().IgnoreError(); }

Result<std::unique_ptr<EventWriter>> EventWriter::Open(const std::string& directory,
                                                       const EventOptions& given) {
  EventOptions options = given;
  if (options.now == nullptr) options.now = SystemSeconds;
  if (options.clock == nullptr) options.clock = &SystemClock();
  if (options.host.empty()) options.host = HostName();
  if (options.host.find('/') != std::string::npos) {
    return InvalidArgument("the host in an event file's name cannot be '", options.host, "'");
  }
  HR_RETURN_IF_ERROR(MakeDirectories(directory));
  std::string path = FreshPath(directory, options.now(), options.host);
  HR_ASSIGN_OR_RETURN(RecordWriter records, RecordWriter::Create(path));
  std::unique_ptr<EventWriter> writer(
      new EventWriter(std::move(path), std::move(records), options));
  HR_RETURN_IF_ERROR(writer->AddEvent(std::nullopt, kFileVersion, "brain.Event:2"));
  HR_RETURN_IF_ERROR(writer->Flush());
  return writer;
}

Status EventWriter::AddEvent(std::optional<int64_t> step, int field, std::string_view contents) {
  ProtoWriter event;
  event.Double(kWallTime, options_.now());
  if (step) event.Int(kStep, *step);
  event.String(field, contents);
  std::lock_guard lock(mutex_);
  HR_RETURN_IF_ERROR(records_.Write(event.bytes()));
  int64_t now = options_.clock->NowNanos();
  if (static_cast<double>(now - last_flush_nanos_) * 1e-9 < options_.flush_seconds) return {};
  last_flush_nanos_ = now;
  return records_.Flush();
}

Status EventWriter::AddSummary(std::string_view tag, int64_t step, ProtoWriter value) {
  if (tag.empty() || !IsUtf8(tag)) {
    return InvalidArgument("the tag of a summary must be UTF-8 and not empty");
  }
  value.String(kTag, tag);  // fields may come in any order
  return AddEvent(step, kSummary, ProtoWriter().Message(kValue, value).bytes());
}

// Not as a tensor: simple_value is what every reader of event files knows, TensorBoard's included.
Status EventWriter::AddScalar(std::string_view tag, int64_t step, double value) {
  ProtoWriter out;
  out.Float(kSimpleValue, static_cast<float>(value));
  return AddSummary(tag, step, std::move(out));
}

Status EventWriter::AddHistogram(std::string_view tag, int64_t step, const Tensor& values) {
  HR_ASSIGN_OR_RETURN(std::vector<HistogramBucket> buckets, MakeHistogram(values));
  ProtoWriter out;
  out.Message(kTensor, HistogramTensor(buckets));
  out.Message(kMetadata, PluginMetadata("histograms", kClassTensor));
  return AddSummary(tag, step, std::move(out));
}

Status EventWriter::AddImages(std::string_view tag, int64_t step, const Tensor& images,
                              int64_t most) {
  int64_t count =
      images.dims().size() == 4 ? std::min(most, images.dims()[0]) : std::min<int64_t>(most, 1);
  if (count < 1) return InvalidArgument("expected at least one image for '", tag, "'");
  std::vector<std::string> strings(2);
  for (int64_t i = 0; i < count; ++i) {
    HR_ASSIGN_OR_RETURN(Image image, ImageOfTensor(images, i));
    strings[0] = Cat(image.width);
    strings[1] = Cat(image.height);
    HR_ASSIGN_OR_RETURN(strings.emplace_back(), EncodePng(image));
  }
  ProtoWriter out;
  out.Message(kTensor, StringTensor({strings.size()}, strings));
  out.Message(kMetadata, PluginMetadata("images", kClassBlobSequence));
  return AddSummary(tag, step, std::move(out));
}

Status EventWriter::AddText(std::string_view tag, int64_t step, std::string_view text) {
  if (!IsUtf8(text)) return InvalidArgument("the text of '", tag, "' must be UTF-8");
  std::string content(text);
  ProtoWriter out;
  out.Message(kTensor, StringTensor({}, std::span(&content, 1)));
  out.Message(kMetadata, PluginMetadata("text", kClassTensor));
  return AddSummary(tag, step, std::move(out));
}

Status EventWriter::AddGraph(std::span<const EventGraphNode> nodes) {
  HR_ASSIGN_OR_RETURN(std::string graph, EncodeGraphDef(nodes));
  return AddEvent(std::nullopt, kGraphDef, graph);
}

Status EventWriter::Flush() {
  std::lock_guard lock(mutex_);
  last_flush_nanos_ = options_.clock->NowNanos();
  return records_.Flush();
}

}  // namespace hr::train
