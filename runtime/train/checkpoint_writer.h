// Writes checkpoints that Python's safetensors can read and that a crash cannot damage.
//
//   HR_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::Create("out", step, specs, metadata, {}));
//   for (const TensorSpec& spec : writer->order())
//   HR_RETURN_IF_ERROR(writer->Write(Find(spec.name))); HR_RETURN_IF_ERROR(writer->Commit());
//
// Everything is written and synced in a folder DIR/step-N.….tmp of this writer, the manifest last.
// Then the folder is renamed to DIR/step-N (or step-N-term-T, see checkpoint_term.h). Until Commit
// returns success, a reader finds the checkpoint before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/temporary_path.h"
#include "runtime/device/tensor.h"
#include "runtime/train/checkpoint_manifest.h"
#include "runtime/train/checkpoint_term.h"
#include "runtime/train/safetensors.h"

namespace hr::train {

struct TensorSpec {
  std::string name;  // UTF-8, unique
  DType dtype = DType::kUndefined;
  Dims dims;
};

struct CheckpointOptions {
  int keep = 5;                                // newest checkpoints kept by Commit; 0: all
  int64_t max_shard_bytes = int64_t{4} << 30;  // a larger tensor has a shard of its own
  // The group for which it is written. Null: none.
  std::optional<CheckpointOwner> owner;
};

// Used by one thread at a time. Needs no memory for the tensors. Without Commit, its end removes
// what it has written.
//
// Several writers of one owner, or without one, may be at work in a directory: each writes a whole
// checkpoint, of two of the same step the later one stays, and each Commit keeps as many as its
// options say of all that are there.
class CheckpointWriter {
 public:
  // Creates DIRECTORY if it is missing, and takes it for the owner (FAILED_PRECONDITION: see
  // TakeTerm). Fails if `specs` or `metadata` are invalid.
  static Result<std::unique_ptr<CheckpointWriter>> Create(const std::string& directory,
                                                          int64_t step,
                                                          std::vector<TensorSpec> specs,
                                                          CheckpointMetadata metadata,
                                                          const CheckpointOptions& options);

  // Returns the order in which the tensors must be written: wide elements first, so that all are
  // aligned.
  const std::vector<TensorSpec>& order() const { return order_; }

  // Writes the next tensor, which must be contiguous, on the CPU, and as specified.
  // RESOURCE_EXHAUSTED if the disk is full. After a failure only the destructor may be called.
  Status Write(const Tensor& tensor);

  // Makes the checkpoint visible, replacing one of the same step; then removes those beyond `keep`.
  // FAILED_PRECONDITION if the directory was taken meanwhile.
  Status Commit();

  // DIRECTORY/step-N
  const std::string& path() const { return path_; }

 private:
  CheckpointWriter(std::string directory, const CheckpointOptions& options);
  Status Plan(std::vector<TensorSpec> specs);
  Status WriteNext(const Tensor& tensor);
  Status CommitAll();
  Status OrOver(Status status) const;
  Status OpenShard();
  Status CloseShard();
  Status Append(Bytes bytes);
  Status Replace();
  Status Tidy();

  std::string directory_;
  CheckpointOptions options_;
  CheckpointName name_;
  std::string path_;
  std::optional<TemporaryPath> temporary_;
  CheckpointManifest manifest_;
  std::vector<TensorSpec> order_;
  std::vector<size_t> shard_ends_;  // index of the tensor after the last one of each shard
  size_t next_ = 0;                 // tensor to write
  size_t shard_ = 0;                // shard being written
  std::optional<FileWriter> file_;
  bool committed_ = false;
};

}  // namespace hr::train
