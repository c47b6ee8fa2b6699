// UTF-8, which JSON and protobuf require of every string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hr {

// Bytes of the sequence that `text`, which is not empty, begins with; 0 if it is malformed (The
// Unicode Standard, table 3-7).
size_t Utf8Length(std::string_view text);

// Whether all of `text` is well-formed.
bool IsUtf8(std::string_view text);

// The text with bytes that are malformed, or zero and so end a text of C, as "\xFF".
std::string EscapedUtf8(std::string_view text);

}  // namespace hr
