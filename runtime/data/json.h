// Reading JSON that nobody vouches for: parsed without exceptions, every type checked by hand.
// Only for .cc files of this room and of `train`; JSON is written with runtime/base/json_writer.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace hr::data {

using Json = nlohmann::json;

// A JSON object. Refuses a key that stands twice in one object and nesting deeper than a few
// levels. Failures are DATA_LOSS and begin with `what`, e.g. "manifest 'a/manifest.json'".
Result<Json> ParseJsonObject(std::string_view text, std::string_view what);

// A member of `object`, or DATA_LOSS that says which member, what was expected and what stands
// there.
Result<const Json*> JsonObjectAt(const Json& object, const char* key, std::string_view what);
Result<const Json*> JsonArrayAt(const Json& object, const char* key, std::string_view what);
Result<std::string> JsonStringAt(const Json& object, const char* key, std::string_view what);
Result<bool> JsonBoolAt(const Json& object, const char* key, std::string_view what);
Result<uint64_t> JsonUint64At(const Json& object, const char* key, std::string_view what);
// Within [least, INT64_MAX].
Result<int64_t> JsonInt64At(const Json& object, const char* key, std::string_view what,
                            int64_t least);

}  // namespace hr::data
