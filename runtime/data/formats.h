// The formats of files. Each reads its keys of `query`, refuses those that nobody knows, and opens
// what `path` names; docs/data.md has them all by example.
#pragma once

#include <string>

#include "runtime/data/dataset_uri.h"
#include "runtime/data/example_source.h"
#include "runtime/data/query.h"

namespace hr::data {

// PLACE/SPLIT: images and labels in MNIST's IDX files.
Result<SourceRef> OpenIdx(const std::string& path, Query& query, const DatasetOptions& options);
// PLACE/SPLIT: the binary versions of CIFAR-10 and CIFAR-100.
Result<SourceRef> OpenCifar10(const std::string& path, Query& query, const DatasetOptions& options);
Result<SourceRef> OpenCifar100(const std::string& path, Query& query,
                               const DatasetOptions& options);
// FILE,FILE,…: a field for each file, called as the file.
Result<SourceRef> OpenNpy(const std::string& path, Query& query, const DatasetOptions& options);
// FILE: a field for each array.
Result<SourceRef> OpenNpz(const std::string& path, Query& query, const DatasetOptions& options);
// FILE,FILE,…: a field of numbers from columns, or a field for each column.
Result<SourceRef> OpenCsv(const std::string& path, Query& query, const DatasetOptions& options);
// FILE,FILE,…: windows of tokens, or lines.
Result<SourceRef> OpenText(const std::string& path, Query& query, const DatasetOptions& options);
// FOLDER: images, or subfolders of images, each a class.
Result<SourceRef> OpenImages(const std::string& path, Query& query, const DatasetOptions& options);

}  // namespace hr::data
