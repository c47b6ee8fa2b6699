// The keys of an address that change examples: rename, map, filter and cache.
#pragma once

#include <memory>
#include <string>

#include "runtime/data/dataset_uri.h"
#include "runtime/data/example_source.h"
#include "runtime/data/query.h"

namespace hr::data {

// Does what the items say, one after the other:
//   rename=OLD:NEW,OLD:NEW                              fields
//   map=FILE.hrg:SIGNATURE, filter=FILE.hrg:SIGNATURE   see graph_map.h; a model with one signature
//                                                       needs no name
//   cache=memory, cache=FILE                            see cache.h
Result<SourceRef> Transform(SourceRef source, std::span<const Query::Item> items,
                            const DatasetOptions& options);

// Keeps the examples in memory if `path` is empty, else in that file.
Result<SourceRef> CacheExamples(SourceRef source, const std::string& path,
                                std::string_view identity, Allocator& allocator,
                                const CallLimits& limits);

}  // namespace hr::data
