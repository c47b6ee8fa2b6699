#include <dlfcn.h>

#include "runtime/base/errors.h"
#include "runtime/base/library.h"

namespace hr {

Result<SharedLibrary> SharedLibrary::Open(const std::string& path) {
  // Drivers seldom survive being unloaded, so it never is.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return Unavailable(static_cast<const char*>(dlerror()));
  return SharedLibrary(library);
}

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

std::string PathOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) == 0 ? std::string() : info.dli_fname;
}

std::string OwnFolder() {
  const std::string path = PathOf(reinterpret_cast<const void*>(&OwnFolder));
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace hr
