#include "runtime/comm/flight_recorder.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/file.h"
#include "runtime/base/json_writer.h"

namespace hr::comm {
namespace {

constexpr std::string_view kStates[] = {"running", "done", "failed"};

void Write(const FlightRecord& record, const TickCounter::Scale& scale, JsonWriter& json) {
  const auto state = std::min<size_t>(static_cast<size_t>(record.state), std::size(kStates) - 1);
  json.BeginObject();
  json.Field("number", record.number).Field("channel", record.channel);
  json.Field("sequence", record.sequence).Field("operation", record.operation.Text());
  json.Field("bytes", record.operation.bytes());
  json.Field("state", kStates[state]);
  json.Field("posted_nanos", scale.Nanos(record.posted));
  json.Field("ended_nanos", record.ended == 0 ? 0 : scale.Nanos(record.ended));
  json.EndObject();
}

std::string JsonOf(const FlightLog& log) {
  const TickCounter::Scale scale(log.first.ticks, log.first.nanos, log.latest.ticks,
                                 log.latest.nanos);
  JsonWriter json;
  json.BeginArray();
  for (uint64_t i = log.next - std::min(log.next, FlightLog::kCapacity); i < log.next; ++i) {
    const FlightRecord& record = log.records[i % FlightLog::kCapacity];
    if (record.number == i) Write(record, scale, json);  // else it was just being written
  }
  json.EndArray();
  return json.Take();
}

}  // namespace

Status FlightRecorder::Open(const std::string& path) {
  if (!path.empty()) {
    Result<MappedFlightLog> in_file = NewFlightLog(path);
    if (in_file.ok()) {
      log_ = std::move(in_file).value();
      path_ = path;
    }
  }
  if (log_ == nullptr) {
    HR_ASSIGN_OR_RETURN(log_, NewFlightLog());
  }
  Stamp();
  return {};
}

void FlightRecorder::End(uint64_t number, bool ok) {
  if (number == kNone) return;
  Record& record = log_->records[number % FlightLog::kCapacity];
  if (record.number != number) return;  // it ran longer than we remember
  record.state = ok ? State::kDone : State::kFailed;
  record.ended = ticks_.Now();
}

void FlightRecorder::Stamp() {
  log_->first = {ticks_.began(), ticks_.began_nanos()};
  log_->latest = {ticks_.Now(), SystemClock().NowNanos()};
}

template <typename Wanted>
const FlightRecorder::Record* FlightRecorder::Latest(Wanted wanted) const {
  const uint64_t next = log_->next;
  for (uint64_t i = 0; i < std::min(next, FlightLog::kCapacity); ++i) {
    const Record& record = log_->records[(next - 1 - i) % FlightLog::kCapacity];
    if (record.number != kNone && wanted(record)) return &record;
  }
  return nullptr;
}

const FlightRecorder::Record* FlightRecorder::Find(uint16_t channel, uint64_t label) const {
  return Latest([=](const Record& r) { return r.channel == channel && r.label == label; });
}

const FlightRecorder::Record* FlightRecorder::FindCollective(uint16_t channel,
                                                             uint64_t sequence) const {
  return Latest([=](const Record& r) {
    return r.channel == channel && r.sequence == sequence && !r.operation.point_to_point();
  });
}

uint64_t FlightRecorder::Called(uint16_t channel) const {
  const Record* last = Latest(
      [=](const Record& r) { return r.channel == channel && !r.operation.point_to_point(); });
  return last == nullptr ? 0 : last->sequence + 1;
}

std::string FlightRecorder::Json() {
  Stamp();
  return JsonOf(*log_);
}

Result<std::string> ReadFlightLog(const std::string& path) {
  HR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, sizeof(FlightLog)));
  auto log = std::make_unique<FlightLog>();
  if (text.size() == sizeof *log) std::memcpy(log.get(), text.data(), sizeof *log);
  const FlightLog::Moment &first = log->first, &latest = log->latest;
  if (log->magic == FlightLog::kMagic && log->record_bytes == sizeof(FlightRecord) &&
      first.ticks <= latest.ticks && 0 <= first.nanos && first.nanos <= latest.nanos &&
      latest.nanos <= INT64_MAX / 2) {
    return JsonOf(*log);
  }
  return DataLoss("'", path, "' is not a flight recorder's file of this version of Headrace");
}

}  // namespace hr::comm
