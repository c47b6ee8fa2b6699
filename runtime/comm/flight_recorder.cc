#include "runtime/comm/flight_recorder.h"

#include "runtime/base/json_writer.h"

namespace hr::comm {
namespace {

constexpr std::string_view kStates[] = {"running", "done", "failed"};

}  // namespace

void FlightRecorder::End(uint64_t number, bool ok) {
  if (number == kNone) return;
  Record& record = records_[number % kCapacity];
  if (record.number != number) return;  // it ran longer than we remember
  record.state = ok ? State::kDone : State::kFailed;
  record.ended = ticks_.Now();
}

template <typename Wanted>
const FlightRecorder::Record* FlightRecorder::Latest(Wanted wanted) const {
  for (uint64_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[(next_ - 1 - i) % kCapacity];
    if (wanted(record)) return &record;
  }
  return nullptr;
}

const FlightRecorder::Record* FlightRecorder::Find(uint16_t channel, uint64_t label) const {
  return Latest([=](const Record& r) { return r.channel == channel && r.label == label; });
}

const FlightRecorder::Record* FlightRecorder::FindCollective(uint16_t channel,
                                                             uint64_t sequence) const {
  return Latest([=](const Record& r) {
    return r.channel == channel && r.sequence == sequence && !r.call.point_to_point();
  });
}

uint64_t FlightRecorder::Called(uint16_t channel) const {
  const Record* last =
      Latest([=](const Record& r) { return r.channel == channel && !r.call.point_to_point(); });
  return last == nullptr ? 0 : last->sequence + 1;
}

std::string FlightRecorder::Json() const {
  const TickCounter::Scale scale = ticks_.ScaleNow();
  JsonWriter json;
  json.BeginArray();
  for (uint64_t i = next_ - records_.size(); i < next_; ++i) {
    const Record& record = records_[i % kCapacity];
    json.BeginObject();
    json.Field("number", record.number).Field("channel", record.channel);
    json.Field("sequence", record.sequence).Field("operation", record.call.Text());
    json.Field("bytes", record.call.bytes());
    json.Field("state", kStates[static_cast<size_t>(record.state)]);
    json.Field("posted_nanos", scale.Nanos(record.posted));
    json.Field("ended_nanos", record.ended == 0 ? 0 : scale.Nanos(record.ended));
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace hr::comm
