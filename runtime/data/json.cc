#include "runtime/data/json.h"

#include <set>
#include <vector>

#include "runtime/base/errors.h"

namespace hr::data {
namespace {

constexpr int kMostNesting = 16;

// Watches the parser, which by itself would keep the last of two equal keys.
class Watcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostNesting) complaint_ = "is nested too deeply";
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end && !keys_.empty()) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key && !keys_.empty()) {
      const auto* key = parsed.get_ptr<const std::string*>();
      if (!keys_.back().insert(*key).second) complaint_ = Cat("has the key '", *key, "' twice");
    }
    return complaint_.empty();
  }
  const std::string& complaint() const { return complaint_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string complaint_;
};

Result<const Json*> Member(const Json& object, const char* key, std::string_view expected,
                           bool (Json::*is)() const noexcept, std::string_view what) {
  auto found = object.find(key);
  if (found == object.end()) return DataLoss(what, " has no member '", key, "'");
  if (!((*found).*is)()) {
    return DataLoss(what, ": expected ", expected, " as '", key, "', got ", found->type_name());
  }
  return &*found;
}

}  // namespace

Result<Json> ParseJsonObject(std::string_view text, std::string_view what) {
  Watcher watcher;
  Json json = Json::parse(
      text.begin(), text.end(),
      [&](int depth, Json::parse_event_t event, Json& parsed) {
        return watcher(depth, event, parsed);
      },
      /*allow_exceptions=*/false);
  if (!watcher.complaint().empty()) return DataLoss(what, " ", watcher.complaint());
  if (json.is_discarded()) return DataLoss(what, " is not valid JSON");
  if (!json.is_object()) {
    return DataLoss(what, ": expected a JSON object, got ", json.type_name());
  }
  return json;
}

Result<const Json*> JsonObjectAt(const Json& object, const char* key, std::string_view what) {
  return Member(object, key, "an object", &Json::is_object, what);
}

Result<const Json*> JsonArrayAt(const Json& object, const char* key, std::string_view what) {
  return Member(object, key, "an array", &Json::is_array, what);
}

Result<std::string> JsonStringAt(const Json& object, const char* key, std::string_view what) {
  HR_ASSIGN_OR_RETURN(const Json* value, Member(object, key, "a string", &Json::is_string, what));
  return *value->get_ptr<const std::string*>();
}

Result<bool> JsonBoolAt(const Json& object, const char* key, std::string_view what) {
  HR_ASSIGN_OR_RETURN(const Json* value,
                      Member(object, key, "true or false", &Json::is_boolean, what));
  return *value->get_ptr<const bool*>();
}

Result<uint64_t> JsonUint64At(const Json& object, const char* key, std::string_view what) {
  HR_ASSIGN_OR_RETURN(const Json* value, Member(object, key, "an integer of at least 0",
                                                &Json::is_number_unsigned, what));
  return *value->get_ptr<const uint64_t*>();
}

Result<int64_t> JsonInt64At(const Json& object, const char* key, std::string_view what,
                            int64_t least) {
  HR_ASSIGN_OR_RETURN(const Json* value,
                      Member(object, key, "an integer", &Json::is_number_integer, what));
  bool fits = !value->is_number_unsigned() ||
              *value->get_ptr<const uint64_t*>() <= static_cast<uint64_t>(INT64_MAX);
  // Signed and unsigned numbers share their storage, so get<> only reinterprets.
  int64_t number = fits ? value->get<int64_t>() : 0;
  if (!fits || number < least) {
    return DataLoss(what, ": '", key, "' is out of range, expected at least ", least);
  }
  return number;
}

}  // namespace hr::data
