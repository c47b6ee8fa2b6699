// Shared libraries opened while the program runs.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace hr {

// The address of `symbol` in the shared library at `path`, which stays loaded until the process
// ends. A path without a slash is searched for as the system's loader does. UNAVAILABLE with the
// loader's reason if the library cannot be opened (a driver that it needs may be missing),
// INVALID_ARGUMENT if it has no such symbol.
Result<void*> FindInLibrary(const std::string& path, const char* symbol);

// The folder, with a slash at its end, of the library or program that this code is part of; empty
// if that cannot be told.
std::string OwnFolder();

}  // namespace hr
