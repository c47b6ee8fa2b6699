#include "headrace/base.h"

#include <algorithm>
#include <cstring>

#include "capi/src/handles.h"
#include "runtime/base/utf8.h"

namespace hr::capi {

namespace {

// Texts of C are UTF-8 and end with a zero byte; what a message cites of a file may not be.
Status Readable(Status status) {
  const auto is_readable = [](std::string_view text) {
    return IsUtf8(text) && text.find('\0') == std::string_view::npos;
  };
  if (is_readable(status.message()) && is_readable(status.node())) return status;
  return Status(status.code(), EscapedUtf8(status.message())).WithNode(EscapedUtf8(status.node()));
}

}  // namespace

hr_status* Wrap(Status status) { return plugin::ToC(Readable(std::move(status))); }

hr_status* NullArgument(const char* function, const char* argument) {
  return Wrap(InvalidArgument(function, ": '", argument, "' must not be NULL"));
}

hr_status* NullElement(const char* function, const char* argument, size_t i) {
  return NullArgument(function, Cat(argument, "[", i, "]").c_str());
}

Status CopySizedBytes(const void* given, const char* name, void* out, size_t size) {
  if (given == nullptr) return {};
  size_t given_size;
  std::memcpy(&given_size, given, sizeof given_size);
  if (given_size < sizeof given_size) {
    return InvalidArgument(name, ".struct_size is ", given_size, "; set it to sizeof(", name, ")");
  }
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (size_t i = size; i < given_size; ++i) {
    if (bytes[i] != 0) {
      return Unimplemented(name, " has options that this library (interface ", hr_api_version(),
                           ") does not know; leave them zero or use a newer library");
    }
  }
  std::memcpy(out, given, std::min(given_size, size));
  std::memcpy(out, &size, sizeof size);
  return {};
}

Result<HostLimits> LimitsFrom(const hr_limits* limits, const Clock& clock) {
  HostLimits out;
  HR_ASSIGN_OR_RETURN(hr_limits copy, CopySized(limits, "hr_limits"));
  if (copy.cancel != nullptr) {
    out.held = copy.cancel->rep;
    out.cancel = out.held.get();
  }
  out.interrupted = copy.interrupted;
  out.context = copy.context;
  if (copy.timeout_nanos > 0) {
    out.clock = &clock;
    int64_t now = clock.NowNanos();
    out.deadline_nanos =
        copy.timeout_nanos > INT64_MAX - now ? INT64_MAX : now + copy.timeout_nanos;
  }
  return out;
}

Result<std::vector<std::string>> StringsFrom(size_t count, const char* const* names,
                                             const char* what) {
  if (count != 0 && names == nullptr) return InvalidArgument("'", what, "' must not be NULL");
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) return InvalidArgument("'", what, "[", i, "]' must not be NULL");
    out.emplace_back(names[i]);
  }
  return out;
}

Result<Dims> DimsFrom(size_t rank, const int64_t* dims) {
  if (rank != 0 && dims == nullptr)
    return InvalidArgument("'dims' must not be NULL for rank ", rank);
  if (rank > 64) return InvalidArgument("a rank is at most 64, got ", rank);
  return Dims(dims, dims + rank);
}

}  // namespace hr::capi

extern "C" {

uint32_t hr_api_version(void) { return HR_API_VERSION; }

const char* hr_version_text(void) {
  return HEADRACE_VERSION
#if defined(HEADRACE_HAS_ONEDNN)
      " +onednn"
#endif
      ;
}

hr_code hr_status_code(const hr_status* status) {
  return status == nullptr ? HR_OK : static_cast<hr_code>(status->rep.code());
}
const char* hr_status_message(const hr_status* status) {
  return status == nullptr ? "" : status->rep.message().data();
}
const char* hr_status_node(const hr_status* status) {
  return status == nullptr ? "" : status->rep.node().data();
}
hr_status* hr_status_create(hr_code code, const char* message) {
  auto known =
      code > HR_OK && code <= HR_DEVICE_LOST ? static_cast<hr::Code>(code) : hr::Code::kUnknown;
  return new hr_status{hr::Status(known, message == nullptr ? "" : message)};
}
void hr_status_release(hr_status* status) { delete status; }
const char* hr_code_name(hr_code code) {
  return hr::CodeName(static_cast<hr::Code>(code)).data();  // literals, so NUL-terminated
}

const char* hr_text_data(const hr_text* text) { return text == nullptr ? "" : text->rep.c_str(); }
size_t hr_text_size(const hr_text* text) { return text == nullptr ? 0 : text->rep.size(); }
void hr_text_release(hr_text* text) { delete text; }

hr_status* hr_cancel_create(hr_cancel** out) {
  HR_REQUIRE(out);
  *out = new hr_cancel{std::make_shared<hr::CancelToken>()};
  return nullptr;
}
void hr_cancel_trigger(hr_cancel* cancel) {
  if (cancel != nullptr) cancel->rep->Cancel();
}
void hr_cancel_release(hr_cancel* cancel) { delete cancel; }

size_t hr_dtype_size(hr_dtype dtype) {
  auto code = static_cast<hr::DType>(dtype);
  return hr::IsSupported(code) ? hr::DTypeSize(code) : 0;
}
const char* hr_dtype_name(hr_dtype dtype) {
  return hr::DTypeName(static_cast<hr::DType>(dtype)).data();
}

}  // extern "C"
