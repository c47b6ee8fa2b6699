// Reading graph files. Whatever the bytes are, the answer is a verified module or a sentence that
// says what is wrong: nothing later needs to check a module again.
//
// Constants view the file's bytes, so neither time nor resident memory grows with them. They are
// meant to be read only. Memory of a mapped file may be written (it is private to the process and
// never reaches the file), but all who use the module see it.
#pragma once

#include <string>

#include "runtime/device/tensor.h"
#include "runtime/graph/graph.h"

namespace hr::format {

// What a file may ask for. Going beyond is OUT_OF_RANGE; a host that trusts its file may raise
// them. Time and memory of loading are within a constant factor of the structure's bytes.
struct ReadLimits {
  uint64_t structure_bytes = uint64_t{1} << 29;
  uint64_t graphs = uint64_t{1} << 20;
  uint64_t nodes = uint64_t{1} << 24;   // of all graphs together
  uint64_t values = uint64_t{1} << 26;  // of all graphs together
  uint64_t rank = 64;
  uint64_t string_bytes = uint64_t{1} << 24;  // of one string
  uint64_t segments = 4096;
};

struct ReadOptions {
  // For what is read instead of mapped, and for copies of unaligned memory; its failure is
  // RESOURCE_EXHAUSTED. It must outlive the module. Null: the system's.
  Allocator* allocator = nullptr;
  // False: tensors are read into memory, so nobody can pull the file away from under the module. A
  // mapped file that somebody truncates raises SIGBUS at the next access.
  bool map = true;
  // Reads all tensors once and compares the segments' checksums; DATA_LOSS if one differs, and
  // FAILED_PRECONDITION if the file has none.
  bool verify_checksums = false;
  // Accepts constants without data: Tensor::defined() is false and the caller supplies their
  // memory.
  bool external_constants = false;
  // Where side files are looked for. Null: beside the graph file; an error for other sources.
  const char* side_file_folder = nullptr;
  ReadLimits limits;
};

// Bytes that the host reads on request. `read` fills `out` with the bytes from `offset`, which lie
// within `bytes`, or fails; its failure is passed on.
struct HostReader {
  void* context = nullptr;
  uint64_t bytes = 0;  // of the whole file
  Status (*read)(void* context, uint64_t offset, size_t bytes, void* out) = nullptr;
};

Result<graph::Module> ReadModule(const std::string& path, const ReadOptions& options = {});
// The constants view `file` and share its ownership. AdoptBuffer makes one of any memory, owned or
// not. Memory that is not 64-byte aligned is copied.
Result<graph::Module> ReadModule(BufferRef file, const ReadOptions& options = {});
// The host is asked for the header, the structure and each segment, all during this call.
Result<graph::Module> ReadModule(const HostReader& file, const ReadOptions& options = {});

// Whether the file is whole: everything ReadModule checks, and the segments' checksums.
Status VerifyChecksums(const std::string& path, ReadOptions options = {});

}  // namespace hr::format
