// Custom operators of Python.
#include <mutex>
#include <vector>

#include "block.h"
#include "callbacks.h"
#include "convert.h"
#include "define.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

constexpr Where kTensorWhere{"hr_op_input_tensor", "op"};

// (infer, compute, gradient)
nb::object FunctionOf(void* context, size_t index) {
  return nb::borrow<nb::tuple>(static_cast<PyObject*>(context))[index];
}

// The blocks that the function of an operator has got, which are valid while it runs. They belong
// to the innermost function on this thread.
class Scope {
 public:
  Scope() : outer_(std::exchange(innermost, this)) {}
  ~Scope() { innermost = outer_; }
  static Scope* innermost_one() { return innermost; }
  void Add(nb::object block) { blocks_.push_back(std::move(block)); }
  // Throws if a view outlives the function.
  void CheckNoViews() const {
    for (const auto& one : blocks_) {
      Block& block = *nb::inst_ptr<Block>(one);
      if (block.exports > 0) {
        Throw(HR_FAILED_PRECONDITION,
              "the operator kept a view of an input or output, whose memory is used for other "
              "values after the call; keep a copy instead");
      }
      block.data = nullptr;
      block.dims.assign(block.dims.size(), 0);
    }
  }

 private:
  static thread_local Scope* innermost;
  Scope* outer_;
  std::vector<nb::object> blocks_;
};

thread_local Scope* Scope::innermost = nullptr;

// Calls a function of the operator with the node, which is closed afterwards.
hr_status* CallWithNode(void* context, size_t index, hr_op* op) {
  return Guarded([&] {
    Scope scope;
    nb::object node = nb::cast(Object<hr_op>{std::shared_ptr<hr_op>(op, [](hr_op*) {})});
    try {
      FunctionOf(context, index)(node);
    } catch (...) {
      nb::inst_ptr<Object<hr_op>>(node)->handle.reset();
      throw;
    }
    nb::inst_ptr<Object<hr_op>>(node)->handle.reset();
    scope.CheckNoViews();
  });
}

hr_status* Infer(void* context, hr_op* op) { return CallWithNode(context, 0, op); }
hr_status* Compute(void* context, hr_op* op) { return CallWithNode(context, 1, op); }
hr_status* Gradient(void* context, hr_op* op) { return CallWithNode(context, 2, op); }

// The attributes of an operator: a list of (name, kind, required).
struct Attributes {
  explicit Attributes(nb::handle list) {
    const Where where{"hr_env_add_operator", "attributes"};
    for (const auto& one : Elements(list, where)) {
      const auto parts = Elements(one, where);
      CheckLength(parts.size(), 3, where);
      objects.push_back(parts[0]);
      hr_operator_attribute attribute{};
      attribute.struct_size = sizeof attribute;
      attribute.name = Text(parts[0], where).get();
      attribute.kind = To<hr_attribute_kind>(parts[1], where);
      attribute.required = To<int32_t>(parts[2], where);
      values.push_back(attribute);
    }
  }
  std::vector<nb::object> objects;
  std::vector<hr_operator_attribute> values;
};

// `options` has the numbers and the name of an hr_operator.
void AddOperator(nb::handle env_object, nb::handle dict, nb::handle attribute_list,
                 nb::handle infer, nb::handle compute, nb::handle gradient) {
  auto env = Borrow<hr_env>(env_object, {"hr_env_add_operator", "env"});
  Settings settings(dict, {"hr_env_add_operator", "options"});
  hr_operator op{};
  op.struct_size = sizeof op;
  settings.String("name", &op.name);
  settings.Number("version", &op.version);
  settings.Number("min_inputs", &op.min_inputs);
  settings.Number("max_inputs", &op.max_inputs);
  settings.Number("min_outputs", &op.min_outputs);
  settings.Number("max_outputs", &op.max_outputs);
  settings.CheckAllTaken();
  const Attributes attributes(attribute_list);
  op.attribute_count = attributes.values.size();
  op.attributes = attributes.values.data();
  op.infer = Infer;
  op.compute = Compute;
  op.gradient = gradient.is_none() ? nullptr : Gradient;
  op.release = DropContext;
  op.context = Keep(nb::make_tuple(infer, compute, gradient));
  hr_status* status = Released([&] { return api.hr_env_add_operator(env.get(), &op); });
  if (status != nullptr) DropContext(op.context);
  Check(status);
}

nb::object BlockOfTensor(const hr_op_tensor* tensor, bool read_only) {
  if (tensor == nullptr || tensor->dtype == HR_UNDEFINED) return nb::none();
  Block block;
  block.dtype = tensor->dtype;
  block.dims.assign(tensor->dims, tensor->dims + tensor->rank);
  block.data = tensor->data;
  block.read_only = read_only;
  nb::object object = nb::cast(std::move(block));
  if (Scope::innermost_one() != nullptr) Scope::innermost_one()->Add(object);
  return object;
}

nb::object InputTensor(nb::handle node, nb::handle input) {
  auto op = Borrow<hr_op>(node, kTensorWhere);
  return BlockOfTensor(api.hr_op_input_tensor(op.get(), To<uint64_t>(input, kTensorWhere)), true);
}

nb::object OutputTensor(nb::handle node, nb::handle output) {
  auto op = Borrow<hr_op>(node, kTensorWhere);
  return BlockOfTensor(api.hr_op_output_tensor(op.get(), To<uint64_t>(output, kTensorWhere)),
                       false);
}

// The tasks of hr_op_parallel_for; the first failure counts.
struct Tasks {
  nb::object function;
  std::mutex mutex;
  hr_status* failure = nullptr;
};

void RunTask(void* context, int task) {
  auto* tasks = static_cast<Tasks*>(context);
  hr_status* failure = Guarded([&] { tasks->function(task); });
  if (failure == nullptr) return;
  std::lock_guard<std::mutex> lock(tasks->mutex);
  if (tasks->failure != nullptr) {
    api.hr_status_release(failure);
  } else {
    tasks->failure = failure;
  }
}

void ParallelFor(nb::handle node, nb::handle tasks, nb::handle function) {
  auto op = Borrow<hr_op>(node, {"hr_op_parallel_for", "op"});
  Tasks all{nb::borrow(function), {}, nullptr};
  const auto count = To<int32_t>(tasks, {"hr_op_parallel_for", "tasks"});
  Released([&] { api.hr_op_parallel_for(op.get(), count, RunTask, &all); });
  Check(all.failure);
}

}  // namespace

void DefineOperators(nb::module_& module) {
  Def<&AddOperator>(module, "hr_env_add_operator");
  Def<&InputTensor>(module, "hr_op_input_tensor");
  Def<&OutputTensor>(module, "hr_op_output_tensor");
  Def<&ParallelFor>(module, "hr_op_parallel_for");
}

}  // namespace hr::python
