// Examples that are read once and kept: in memory, or in a file for later processes.
#pragma once

#include <string>

#include "runtime/data/dataset.h"
#include "runtime/data/example_source.h"

namespace hr::data {

// Reads the epoch at whose beginning `dataset` stands into memory of the allocator. Its fields must
// have known shapes, dimension 0 aside.
Result<SourceRef> CacheInMemory(Dataset& dataset, Allocator& allocator, const CallLimits& limits);

// The examples in the file at `path`, mapped. If the file is not there, or was made from examples
// with another identity, it is made first, from the epoch at whose beginning `dataset` stands: a
// reader sees the whole file or the one before, also if this process is killed, and of several
// processes one makes it while the others wait. ALREADY_EXISTS if `path` is something else. A
// neighbour PATH.lock stays.
Result<SourceRef> CacheInFile(const std::string& path, std::string_view identity, Dataset& dataset,
                              const CallLimits& limits);

}  // namespace hr::data
