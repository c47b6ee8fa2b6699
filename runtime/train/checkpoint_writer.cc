#include "runtime/train/checkpoint_writer.h"

#include <algorithm>
#include <set>

#include "runtime/base/crc32c.h"
#include "runtime/base/errors.h"
#include "runtime/base/utf8.h"
#include "runtime/train/checkpoint_directory.h"

namespace hr::train {
namespace {

// Checksummed while still in cache.
constexpr size_t kPieceBytes = 1 << 20;
constexpr int kMostNames = 100;

std::string SpecText(const TensorSpec& spec) {
  return Cat("'", spec.name, "' ", DTypeName(spec.dtype), ShapeText(spec.dims));
}

Status CheckMetadata(const CheckpointMetadata& metadata) {
  for (const auto& [key, value] : metadata) {
    if (IsUtf8(key) && IsUtf8(value)) continue;
    return InvalidArgument("the metadata of a checkpoint must be UTF-8, '", key, "' is not");
  }
  return {};
}

Result<int64_t> SpecBytes(const TensorSpec& spec) {
  const auto bytes = CheckedTensorBytes(spec.dtype, spec.dims);
  if (bytes.ok()) return static_cast<int64_t>(*bytes);
  return InvalidArgument("a checkpoint cannot hold the tensor ", SpecText(spec));
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string directory, const CheckpointOptions& options)
    : directory_(std::move(directory)), options_(options) {}

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Create(
    const std::string& directory, int64_t step, std::vector<TensorSpec> specs,
    CheckpointMetadata metadata, const CheckpointOptions& options) {
  if (step < 0) return InvalidArgument("expected a step of at least 0, got ", step);
  if (options.keep < 0 || options.max_shard_bytes < 1) {
    return InvalidArgument("expected to keep at least 0 checkpoints and shards of at least 1 byte");
  }
  HR_RETURN_IF_ERROR(CheckMetadata(metadata));
  std::unique_ptr<CheckpointWriter> writer(new CheckpointWriter(directory, options));
  writer->manifest_.step = step;
  writer->manifest_.metadata = std::move(metadata);
  HR_RETURN_IF_ERROR(writer->Plan(std::move(specs)));
  HR_ASSIGN_OR_RETURN(const uint64_t term, TakeTerm(directory, options.owner));
  writer->name_ = {.step = step, .term = term};
  writer->path_ = JoinPath(directory, writer->name_.Text());
  Result<TemporaryPath> temporary = TemporaryPath::Folder(writer->path_);
  if (!temporary.ok()) return writer->OrOver(std::move(temporary).status());
  writer->temporary_.emplace(std::move(temporary).value());
  HR_RETURN_IF_ERROR(writer->OrOver(writer->OpenShard()));
  return writer;
}

// Sorts the tensors and cuts them into shards.
Status CheckpointWriter::Plan(std::vector<TensorSpec> specs) {
  order_ = std::move(specs);
  std::ranges::stable_sort(order_, std::greater<>(),
                           [](const TensorSpec& spec) { return DTypeSize(spec.dtype); });
  std::set<std::string_view> names;
  int64_t shard_bytes = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    if (!names.insert(order_[i].name).second) {
      return InvalidArgument("two tensors of the checkpoint are named '", order_[i].name, "'");
    }
    HR_ASSIGN_OR_RETURN(int64_t bytes, SpecBytes(order_[i]));
    if (shard_bytes > 0 && bytes > options_.max_shard_bytes - shard_bytes) {
      shard_ends_.push_back(i);
      shard_bytes = 0;
    }
    if (__builtin_add_overflow(shard_bytes, bytes, &shard_bytes)) {
      return InvalidArgument("the tensors of a checkpoint's shard have more than 2^63 bytes");
    }
  }
  shard_ends_.push_back(order_.size());
  manifest_.shards.resize(shard_ends_.size());
  return {};
}

Status CheckpointWriter::OpenShard() {
  std::vector<TensorEntry> entries;
  for (size_t i = next_; i < shard_ends_[shard_]; ++i) {
    HR_ASSIGN_OR_RETURN(int64_t bytes, SpecBytes(order_[i]));
    entries.push_back({order_[i].name, order_[i].dtype, order_[i].dims, 0, bytes});
  }
  HR_ASSIGN_OR_RETURN(std::string header, EncodeSafetensorsHeader(entries));
  std::string name = ShardName(shard_, shard_ends_.size());
  HR_ASSIGN_OR_RETURN(file_, FileWriter::Create(JoinPath(temporary_->path(), name)));
  return Append(AsBytes(header));
}

Status CheckpointWriter::Append(Bytes bytes) {
  ShardInfo& shard = manifest_.shards[shard_];
  while (!bytes.empty()) {
    Bytes piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    shard.crc32c = Crc32c(piece, shard.crc32c);
    HR_RETURN_IF_ERROR(file_->Write(piece));
    shard.bytes += static_cast<int64_t>(piece.size());
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

Status CheckpointWriter::CloseShard() {
  HR_RETURN_IF_ERROR(file_->Sync());
  return file_->Close();
}

// Returns FAILED_PRECONDITION instead of NOT_FOUND if another owner has taken the directory
// meanwhile: it may have removed the files of this writer.
Status CheckpointWriter::OrOver(Status status) const {
  if (status.code() != Code::kNotFound) return status;
  HR_RETURN_IF_ERROR(CheckTerm(directory_, name_.term, options_.owner));
  return status;
}

Status CheckpointWriter::Write(const Tensor& tensor) { return OrOver(WriteNext(tensor)); }

Status CheckpointWriter::Commit() { return OrOver(CommitAll()); }

Status CheckpointWriter::WriteNext(const Tensor& tensor) {
  if (next_ == order_.size()) {
    return FailedPrecondition("all ", next_, " tensors of the checkpoint are written already");
  }
  const TensorSpec& spec = order_[next_];
  if (!tensor.defined() || tensor.dtype() != spec.dtype || tensor.dims() != spec.dims) {
    return InvalidArgument("the checkpoint expects the tensor ", SpecText(spec), ", got ",
                           tensor.defined() ? tensor.TypeText() : "none");
  }
  if (!tensor.contiguous() || tensor.device().type == DeviceType::kCuda) {
    return InvalidArgument("the tensor ", SpecText(spec),
                           " must be contiguous and on the CPU to be saved");
  }
  while (next_ == shard_ends_[shard_]) {
    HR_RETURN_IF_ERROR(CloseShard());
    ++shard_;
    HR_RETURN_IF_ERROR(OpenShard());
  }
  HR_RETURN_IF_ERROR(Append({tensor.data(), tensor.bytes()}));
  ++next_;
  return {};
}

Status CheckpointWriter::CommitAll() {
  if (next_ != order_.size() || committed_) {
    return FailedPrecondition("the checkpoint has ", order_.size(), " tensors, ", next_,
                              " are written", committed_ ? ", and it was committed already" : "");
  }
  HR_RETURN_IF_ERROR(CloseShard());
  HR_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(temporary_->path(), kManifestName),
                                         AsBytes(EncodeManifest(manifest_))));
  HR_RETURN_IF_ERROR(CheckTerm(directory_, name_.term, options_.owner));
  HR_RETURN_IF_ERROR(Replace());
  committed_ = true;
  // Not needed for what readers find, but the caller has to know that it is over.
  HR_RETURN_IF_ERROR(CheckTerm(directory_, name_.term, options_.owner));
  Status tidied = Tidy();
  if (tidied.ok()) return {};
  return std::move(tidied).WithContext(Cat("the checkpoint '", path_, "' is saved, but"));
}

Status CheckpointWriter::Tidy() {
  HR_RETURN_IF_ERROR(RemoveOldCheckpoints(directory_, name_, options_.keep));
  const std::string latest = JoinPath(directory_, kLatestName);
  return WriteFileAtomically(latest, AsBytes(Cat(name_.Text(), "\n")));
}

// A folder cannot be renamed over another: the one of the same step makes room first, under a name
// that readers know, so that a crash in between loses nothing. Others may do the same meanwhile.
Status CheckpointWriter::Replace() {
  for (int i = 0; i < kMostNames; ++i) {
    const Status renamed = temporary_->RenameTo(path_);
    if (renamed.ok()) return SyncDirectory(directory_);
    if (renamed.code() != Code::kAlreadyExists) return renamed.Clone();
    const Status moved = RenamePath(path_, NameBeside(path_, kOldEnding));
    if (!moved.ok() && moved.code() != Code::kNotFound) return moved.Clone();
  }
  return Unavailable("'", path_, "' is replaced by others again and again; ",
                     "give each session its own folder");
}

}  // namespace hr::train
