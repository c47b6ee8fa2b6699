#include "runtime/data/graph_map.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/data/tensor_ring.h"

namespace hr::data {
namespace {

Status CheckPlan(session::Call& call, std::string_view name) {
  HR_ASSIGN_OR_RETURN(const session::PlanAt at, call.PreparePlan());
  if (!at.plan->writes_variables() && !at.plan->random()) return {};
  return InvalidArgument("signature '", name, "' ",
                         at.plan->random() ? "draws random numbers" : "writes variables",
                         ", but an example of a data set must be the same whenever it is read");
}

}  // namespace

Status GraphMap::Match(const graph::Signature& signature, const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  for (const graph::Port& port : signature.inputs) {
    const auto found = std::ranges::find(names, port.name);
    if (found == names.end()) {
      return InvalidArgument("signature '", signature.name, "' has an input '", port.name,
                             "', the data set has the fields", ListText(names),
                             "; rename one of them");
    }
    inputs_.emplace_back(port.name, static_cast<size_t>(found - names.begin()));
  }
  for (const graph::Port& port : signature.outputs) outputs_.push_back(port.name);
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto is_input = [&](const auto& input) { return input.second == i; };
    if (std::ranges::any_of(inputs_, is_input) ||
        std::ranges::find(outputs_, names[i]) != outputs_.end())
      continue;
    kept_.push_back(i);
    fields_.push_back(fields[i]);
  }
  return {};
}

Status GraphMap::AddOutput(const std::string& name, const Tensor& value) {
  if (value.dims().empty() || value.dims()[0] != 1) {
    return InvalidArgument("output '", name, "' of signature '", name_, "' is ", value.TypeText(),
                           " for one example; dimension 0 must count the examples");
  }
  fields_.push_back({name, value.dtype(), Dims(value.dims().begin() + 1, value.dims().end())});
  return {};
}

Result<GraphMap> GraphMap::Create(const std::shared_ptr<session::Session>& session,
                                  std::string_view signature, const std::vector<Field>& fields,
                                  std::span<const Tensor> example, const CallLimits& limits) {
  GraphMap map;
  map.name_ = signature;
  HR_ASSIGN_OR_RETURN(const graph::Signature* found, session->model().FindSignature(signature));
  HR_RETURN_IF_ERROR(map.Match(*found, fields));
  HR_ASSIGN_OR_RETURN(map.call_, session::Call::Create(session, signature));
  for (const auto& [name, field] : map.inputs_)
    HR_RETURN_IF_ERROR(map.call_->Bind(name, example[field]));
  HR_RETURN_IF_ERROR(CheckPlan(*map.call_, signature));
  HR_RETURN_IF_ERROR(map.call_->Run(limits));
  for (const std::string& name : map.outputs_) {
    HR_ASSIGN_OR_RETURN(const Tensor value, map.call_->Output(name));
    HR_RETURN_IF_ERROR(map.AddOutput(name, value));
  }
  return map;
}

Status GraphMap::Run(std::span<const Tensor> in, std::span<const Tensor> out,
                     const CallLimits& limits) {
  for (const auto& [name, field] : inputs_) HR_RETURN_IF_ERROR(call_->Bind(name, in[field]));
  for (size_t i = 0; i < outputs_.size(); ++i)
    HR_RETURN_IF_ERROR(call_->BindOutput(outputs_[i], out[i]));
  return call_->Run(limits);
}

namespace {

// Tensors for a batch of `fields`.
class BatchTensors {
 public:
  BatchTensors(const std::vector<Field>& fields, Allocator& allocator) : fields_(fields) {
    for (const Field& field : fields) rings_.emplace_back(allocator, field.dtype);
  }

  Status Take(size_t field, int64_t batch, Tensor* out) {
    dims_ = fields_[field].dims;
    dims_.insert(dims_.begin(), batch);
    return rings_[field].Take(dims_, out);
  }
  Result<std::vector<Tensor>> TakeAll(int64_t batch) {
    std::vector<Tensor> all(rings_.size());
    for (size_t i = 0; i < all.size(); ++i) HR_RETURN_IF_ERROR(Take(i, batch, &all[i]));
    return all;
  }

 private:
  const std::vector<Field> fields_;
  std::vector<TensorRing> rings_;
  Dims dims_;
};

Result<std::vector<Tensor>> FirstExample(const ExampleSource& source, Allocator& allocator,
                                         const CallLimits& limits) {
  if (source.examples() == 0)
    return InvalidArgument("the data set has no examples, expected at least one");
  BatchTensors tensors(source.fields(), allocator);
  HR_ASSIGN_OR_RETURN(std::vector<Tensor> example, tensors.TakeAll(1));
  const int64_t first = 0;
  HR_RETURN_IF_ERROR(source.Read(std::span(&first, 1), example, limits));
  return example;
}

std::string JoinIdentity(const ExampleSource& source, std::string_view what,
                         const GraphStep& step) {
  const std::string inner = source.Identity();
  if (inner.empty() || step.identity.empty()) return "";
  return Cat(inner, what, " by '", step.signature, "' of ", step.identity, "\n");
}

class MapSource final : public ExampleSource {
 public:
  MapSource(SourceRef source, GraphMap map, std::string identity, Allocator& allocator)
      : ExampleSource(map.fields(), source->examples()),
        source_(std::move(source)),
        identity_(std::move(identity)),
        map_(std::move(map)),
        tensors_(source_->fields(), allocator) {}

  Status Read(std::span<const int64_t> rows, std::span<const Tensor> out,
              const CallLimits& limits) const override {
    if (rows.empty()) return {};
    const std::lock_guard lock(mutex_);
    const size_t kept = map_.kept();
    const int64_t batch = static_cast<int64_t>(rows.size());
    std::vector<Tensor> in(source_->fields().size());
    for (size_t i = 0; i < kept; ++i) in[map_.kept(i)] = out[i];
    for (size_t i = 0; i < in.size(); ++i) {
      if (!in[i].defined()) HR_RETURN_IF_ERROR(tensors_.Take(i, batch, &in[i]));
    }
    HR_RETURN_IF_ERROR(source_->Read(rows, in, limits));
    return map_.Run(in, out.subspan(kept), limits);
  }
  std::string Identity() const override { return identity_; }

 private:
  const SourceRef source_;
  const std::string identity_;
  mutable std::mutex mutex_;  // guards all below
  mutable GraphMap map_;
  mutable BatchTensors tensors_;
};

class MapDataset final : public Dataset {
 public:
  MapDataset(std::shared_ptr<Dataset> dataset, std::vector<Field> fields, GraphMap map,
             Allocator& allocator)
      : Dataset(std::move(fields), dataset->position().value()),
        dataset_(std::move(dataset)),
        map_(std::move(map)),
        tensors_(map_.fields(), allocator),
        in_(dataset_->field_count()) {}

  std::optional<int64_t> size() const override { return dataset_->size(); }

 private:
  Result<bool> DoNext(std::span<Tensor> out, const CallLimits& limits) override;
  Result<bool> DoDone(const CallLimits& limits) override {
    Result<bool> done = dataset_->Done(limits);
    HR_ASSIGN_OR_RETURN(position_, dataset_->position());
    return done;
  }
  Status DoSeek(const DataPosition& position, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(dataset_->Seek(position, limits));
    HR_ASSIGN_OR_RETURN(position_, dataset_->position());
    drawn_ = false;
    return {};
  }
  Status DoReshard(const Shard& shard, const CallLimits& limits) override {
    // A batch that could not be mapped is drawn again.
    HR_RETURN_IF_ERROR(dataset_->Reshard(shard, limits));
    return DoSeek(position_, limits);
  }

  const std::shared_ptr<Dataset> dataset_;
  GraphMap map_;
  BatchTensors tensors_;
  std::vector<Tensor> in_;  // the batch that is mapped next, if `drawn_`: a map may fail
  bool drawn_ = false;
};

Result<bool> MapDataset::DoNext(std::span<Tensor> out, const CallLimits& limits) {
  if (!drawn_) {
    HR_ASSIGN_OR_RETURN(drawn_, dataset_->Next(in_, limits));
    if (!drawn_) return false;
  }
  const size_t kept = map_.kept();
  for (size_t i = 0; i < kept; ++i) out[i] = in_[map_.kept(i)];
  const int64_t batch = in_[0].dims()[0];
  for (size_t i = kept; i < out.size(); ++i) HR_RETURN_IF_ERROR(tensors_.Take(i, batch, &out[i]));
  if (batch != 0) HR_RETURN_IF_ERROR(map_.Run(in_, out.subspan(kept), limits));
  HR_ASSIGN_OR_RETURN(position_, dataset_->position());
  drawn_ = false;
  return true;
}

// An example of zeros for each field, and their types.
Result<std::vector<Tensor>> ZeroExample(const std::vector<Field>& fields, Allocator& allocator) {
  std::vector<Tensor> example;
  for (const Field& field : fields) {
    Dims dims = field.dims;
    dims[0] = 1;
    const bool known = std::ranges::none_of(dims, [](int64_t dim) { return dim < 0; });
    if (!known || field.dims[0] != fields[0].dims[0]) {
      return InvalidArgument("field '", field.name, "' has the shape ", ShapeText(field.dims),
                             "; a data set can be mapped if only dimension 0 may differ, for all ",
                             "fields alike");
    }
    HR_ASSIGN_OR_RETURN(example.emplace_back(), Tensor::Create(allocator, field.dtype, dims));
    std::fill_n(example.back().data(), example.back().bytes(), std::byte{0});
  }
  return example;
}

}  // namespace

Result<SourceRef> CreateMapSource(SourceRef source, const GraphStep& step, Allocator& allocator,
                                  const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const std::vector<Tensor> example, FirstExample(*source, allocator, limits));
  HR_ASSIGN_OR_RETURN(GraphMap map, GraphMap::Create(step.session, step.signature, source->fields(),
                                                     example, limits));
  std::string identity = JoinIdentity(*source, "map", step);
  return SourceRef(
      new MapSource(std::move(source), std::move(map), std::move(identity), allocator));
}

Result<std::unique_ptr<Dataset>> CreateMapDataset(std::shared_ptr<Dataset> dataset,
                                                  const GraphStep& step, Allocator& allocator,
                                                  const CallLimits& limits) {
  std::vector<Field> fields = dataset->fields();
  HR_ASSIGN_OR_RETURN(const std::vector<Tensor> example, ZeroExample(fields, allocator));
  const int64_t batch = fields.empty() ? 0 : fields[0].dims[0];
  for (Field& field : fields) field.dims.erase(field.dims.begin());
  HR_ASSIGN_OR_RETURN(GraphMap map,
                      GraphMap::Create(step.session, step.signature, fields, example, limits));
  std::vector<Field> mapped = map.fields();
  for (Field& field : mapped) field.dims.insert(field.dims.begin(), batch);
  return std::unique_ptr<Dataset>(
      new MapDataset(std::move(dataset), std::move(mapped), std::move(map), allocator));
}

}  // namespace hr::data
