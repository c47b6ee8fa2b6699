#include <dlfcn.h>

#include "runtime/base/errors.h"
#include "runtime/base/library.h"

namespace hr {

Result<void*> FindInLibrary(const std::string& path, const char* symbol) {
  // Drivers seldom survive being unloaded, so it never is.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return Unavailable(static_cast<const char*>(dlerror()));
  void* address = dlsym(library, symbol);
  dlclose(library);  // only gives the handle back
  if (address == nullptr) return InvalidArgument(path, " has no function ", symbol);
  return address;
}

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace hr
