// Shared libraries opened while the program runs.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace hr {

// A shared library that stays loaded until the process ends.
class SharedLibrary {
 public:
  // A path without a slash is searched for as the system's loader does. UNAVAILABLE with the
  // loader's reason if the library cannot be opened (a driver that it needs may be missing).
  static Result<SharedLibrary> Open(const std::string& path);

  // Returns the address of `symbol` in the library or in one that it needs; null if there is none.
  void* Find(const char* symbol) const;

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

// Returns the path of the library or program that holds this address; empty if that cannot be told.
std::string PathOf(const void* address);

// The folder, with a slash at its end, of the library or program that this code is part of; empty
// if that cannot be told.
std::string OwnFolder();

}  // namespace hr
