// Where the files of data sets are looked for.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/dataset_uri.h"
#include "runtime/data/query.h"

namespace hr::data {

// `path` itself and, unless it begins with '/' or '.', the same below the data root,
// /usr/share/datasets and /usr/local/share/datasets.
std::vector<std::string> PlacesFor(const std::string& path, const DatasetOptions& options);

// The first of them that is there, a file or a folder; NOT_FOUND that lists them.
Result<std::string> FindPlace(const std::string& path, const DatasetOptions& options);

// The same for each of the paths that stand in `paths` with commas between. A file name may have
// '*' in it for any characters; those of its folder that match are taken in the order of their
// names.
Result<std::vector<std::string>> FindFiles(std::string_view paths, const DatasetOptions& options);

// What ExampleSource::Identity says of examples from these files, read as the query says: their
// paths, sizes and times of modification, and the format's keys.
Result<std::string> FilesIdentity(std::span<const std::string> paths, const Query& query);

}  // namespace hr::data
