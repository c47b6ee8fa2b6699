#include "library.h"

#include <dlfcn.h>

namespace hr::python {

Library api;

namespace {

std::string Version(uint32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string VersionProblem(const char* path) {
  const uint32_t have = api.hr_api_version();
  if (have >= HR_API_VERSION && have / 10000 == HR_API_VERSION / 10000) return "";
  return std::string(path) + " has version " + Version(have) +
         " of the interface, but this package was built for " + Version(HR_API_VERSION) +
         ": install a library that is as new, of the same major version, or set "
         "HEADRACE_LIBRARY to the path of one";
}

}  // namespace

std::string Open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  std::string missing;
#define HR_FUNCTION(name)                                                \
  api.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (api.name == nullptr && missing.empty()) missing = #name;
#include "generated/functions.inc"
#undef HR_FUNCTION
  if (api.hr_api_version == nullptr) return std::string(path) + " is no libheadrace";
  if (std::string problem = VersionProblem(path); !problem.empty()) return problem;
  if (missing.empty()) return "";
  return std::string(path) + " does not have " + missing +
         ", which its version promises: it was built without a part of Headrace";
}

}  // namespace hr::python
