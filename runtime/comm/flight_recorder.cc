#include "runtime/comm/flight_recorder.h"

#include "runtime/base/cancel.h"
#include "runtime/base/json_writer.h"

namespace hr::comm {
namespace {

constexpr std::string_view kStates[] = {"running", "done", "failed"};

}  // namespace

uint64_t FlightRecorder::Post(uint16_t channel, uint64_t sequence, uint64_t label,
                              const Call& call) {
  if (records_.size() < kCapacity) records_.emplace_back();
  Record& record = records_[next_ % kCapacity];
  record = {.number = next_,
            .channel = channel,
            .sequence = sequence,
            .label = label,
            .call = call,
            .posted_nanos = SystemClock().NowNanos()};
  return next_++;
}

void FlightRecorder::End(uint64_t number, bool ok) {
  Record& record = records_[number % kCapacity];
  if (record.number != number) return;  // it ran longer than we remember
  record.state = ok ? State::kDone : State::kFailed;
  record.ended_nanos = SystemClock().NowNanos();
}

const FlightRecorder::Record* FlightRecorder::Find(uint16_t channel, uint64_t label) const {
  for (uint64_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[(next_ - 1 - i) % kCapacity];
    if (record.channel == channel && record.label == label) return &record;
  }
  return nullptr;
}

std::string FlightRecorder::Json() const {
  JsonWriter json;
  json.BeginArray();
  for (uint64_t i = next_ - records_.size(); i < next_; ++i) {
    const Record& record = records_[i % kCapacity];
    json.BeginObject();
    json.Field("number", record.number).Field("channel", record.channel);
    json.Field("sequence", record.sequence).Field("operation", record.call.Text());
    json.Field("bytes", record.call.bytes());
    json.Field("state", kStates[static_cast<size_t>(record.state)]);
    json.Field("posted_nanos", record.posted_nanos).Field("ended_nanos", record.ended_nanos);
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace hr::comm
