#include "transport/ucx/resources.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace hr::ucx {
namespace {

bool BeginsWithOneOf(std::string_view resource, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return resource.starts_with(name); });
}

// Returns UCX's description of the context. UCX lists its resources in no other way.
std::string Information(ucp_context_h context) {
  char* text = nullptr;
  size_t bytes = 0;
  std::FILE* file = open_memstream(&text, &bytes);
  if (file == nullptr) return "";
  ucp_context_print_info(context, file);
  std::fclose(file);
  std::string copy(text, bytes);
  std::free(text);
  return copy;
}

}  // namespace

// Lines such as "#      resource 4  :  md 3  dev 3  flags -- posix/memory".
std::vector<std::string> UcxResources(ucp_context_h context) {
  std::vector<std::string> resources;
  const std::string text = Information(context);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (line.find(" resource ") == std::string_view::npos) continue;
    const std::string_view last = line.substr(line.find_last_of(' ') + 1);
    if (last.find('/') != std::string_view::npos) resources.emplace_back(last);
  }
  return resources;
}

bool IsSharedMemory(std::string_view resource) {
  return BeginsWithOneOf(resource, {"posix/", "sysv/", "xpmem/"});
}

bool IsRdma(std::string_view resource) {
  return BeginsWithOneOf(resource, {"rc_", "dc_", "ud_", "srd/", "ugni"});
}

}  // namespace hr::ucx
