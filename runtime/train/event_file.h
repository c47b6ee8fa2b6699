// TensorBoard event files: what `tensorboard --logdir DIR` shows.
//
//   HR_ASSIGN_OR_RETURN(auto events, EventWriter::Open("out/events", {}));
//   HR_RETURN_IF_ERROR(events->AddScalar("train/loss", step, loss));
//
// The messages are TensorFlow's event.proto, summary.proto and graph.proto, written by hand.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/device/tensor.h"
#include "runtime/train/proto_writer.h"
#include "runtime/train/record_file.h"

namespace hr::train {

struct EventOptions {
  double flush_seconds = 10;     // the longest that an event waits for the next one to push it out
  std::string host;              // part of the file's name; empty: this machine's name
  double (*now)() = nullptr;     // wall time in seconds since 1970; null: the system's
  const Clock* clock = nullptr;  // for flush_seconds; null: SystemClock()
};

// One node of the graph that TensorBoard draws. Names with '/' make nested boxes. An input is
// "node", "node:1" (its second output), or "^node" (control).
struct EventGraphNode {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;
  std::string device;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Dims> output_shapes;  // shown on the edges; -1 is unknown
};

// Thread-safe. Tags and names must be UTF-8 (INVALID_ARGUMENT); a full disk is RESOURCE_EXHAUSTED,
// and what was not written then is tried again with the next event.
class EventWriter {
 public:
  // Makes `directory` if it is missing, and in it events.out.tfevents.<time>.<host>, a new file
  // each time.
  static Result<std::unique_ptr<EventWriter>> Open(const std::string& directory,
                                                   const EventOptions& options);
  // Flushes.
  ~EventWriter();

  const std::string& path() const { return path_; }

  Status AddScalar(std::string_view tag, int64_t step, double value);
  // A contiguous CPU tensor (MakeHistogram says which).
  Status AddHistogram(std::string_view tag, int64_t step, const Tensor& values);
  // The first `most` images of a tensor that ImageOfTensor takes.
  Status AddImages(std::string_view tag, int64_t step, const Tensor& images, int64_t most = 3);
  // Markdown.
  Status AddText(std::string_view tag, int64_t step, std::string_view text);
  Status AddGraph(std::span<const EventGraphNode> nodes);
  Status Flush();

 private:
  EventWriter(std::string path, RecordWriter records, const EventOptions& options);
  // `field` is the number of the field of Event that holds `contents`.
  Status AddEvent(std::optional<int64_t> step, int field, std::string_view contents);
  Status AddSummary(std::string_view tag, int64_t step, ProtoWriter value);

  const std::string path_;
  const EventOptions options_;
  std::mutex mutex_;  // guards the rest
  RecordWriter records_;
  int64_t last_flush_nanos_ = 0;
};

}  // namespace hr::train
