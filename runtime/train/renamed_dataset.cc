#include "runtime/train/renamed_dataset.h"

#include "runtime/base/errors.h"

namespace hr::train {
namespace {

class RenamedDataset final : public Dataset {
 public:
  RenamedDataset(std::shared_ptr<Dataset> inner, std::vector<Field> fields)
      : inner_(std::move(inner)), fields_(std::move(fields)) {}

  const std::vector<Field>& fields() const override { return fields_; }
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) override {
    return inner_->Next(out, limits);
  }
  bool done() override { return inner_->done(); }
  std::optional<int64_t> size() const override { return inner_->size(); }
  Status Rewind() override { return inner_->Rewind(); }
  DataPosition position() const override { return inner_->position(); }
  Status Seek(const DataPosition& position) override { return inner_->Seek(position); }

 private:
  const std::shared_ptr<Dataset> inner_;
  const std::vector<Field> fields_;
};

}  // namespace

Result<std::shared_ptr<Dataset>> RenameField(std::shared_ptr<Dataset> dataset,
                                             std::string_view field, std::string_view name) {
  std::vector<Field> fields = dataset->fields();
  Field* found = nullptr;
  for (Field& candidate : fields) {
    if (candidate.name == field) found = &candidate;
    if (candidate.name == name && name != field)
      return AlreadyExists("the data set has a field '", name, "' already");
  }
  if (found == nullptr) {
    return NotFound("the data set has no field '", field, "'; it has", ListText(dataset->names()));
  }
  found->name = name;
  return std::shared_ptr<Dataset>(
      std::make_shared<RenamedDataset>(std::move(dataset), std::move(fields)));
}

}  // namespace hr::train
