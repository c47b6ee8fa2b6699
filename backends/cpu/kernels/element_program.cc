// Building: checks, registers, instructions.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/elementwise.h"
#include "runtime/base/errors.h"

namespace hr::cpu {
namespace {

// Operations whose result a narrower integer may not hold.
bool MayOverflow(ElementOp op) {
  using enum ElementOp;
  for (ElementOp one :
       {kAdd, kSub, kMul, kNeg, kAbs, kSquare, kPow, kBitwiseNot, kShiftLeft, kDiv}) {
    if (op == one) return true;
  }
  return false;
}

}  // namespace

ElementProgramBuilder::ElementProgramBuilder(DType dtype) : dtype_(dtype) {}

int ElementProgramBuilder::Add(Value value) {
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

int ElementProgramBuilder::Input(DType dtype) {
  return Add({.kind = Value::Kind::kInput, .dtype = dtype});
}

int ElementProgramBuilder::Constant(double value) {
  return Add(
      {.kind = Value::Kind::kConstant, .number = value, .integer = static_cast<int64_t>(value)});
}

int ElementProgramBuilder::Constant(int64_t value) {
  return Add(
      {.kind = Value::Kind::kConstant, .number = static_cast<double>(value), .integer = value});
}

int ElementProgramBuilder::Apply(ElementOp op, std::span<const int> operands) {
  return Add(
      {.kind = Value::Kind::kApply, .op = op, .operands = {operands.begin(), operands.end()}});
}

void ElementProgramBuilder::Output(int value, DType dtype) { outputs_.push_back({value, dtype}); }

Status ElementProgramBuilder::CheckApply(const Value& value, int index) const {
  const ops::ElementOpInfo& info = ops::InfoOf(value.op);
  if (value.operands.size() != info.operands) {
    return InvalidArgument("element-wise ", info.name, " takes ", info.operands, " operands, got ",
                           value.operands.size());
  }
  for (int operand : value.operands) {
    if (operand < 0 || operand >= index) {
      return InvalidArgument("element-wise ", info.name, " uses value ", operand,
                             ", which does not come before it");
    }
  }
  if (ElementLoopFor(value.op, ElementTypeOf(dtype_)) == nullptr) {
    return Unimplemented("element-wise ", info.name, " has no meaning for ", DTypeName(dtype_));
  }
  return {};
}

Status ElementProgramBuilder::Check() const {
  if (!IsSupported(dtype_))
    return InvalidArgument("no element-wise program for ", DTypeName(dtype_));
  int inputs = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& value = values_[i];
    inputs += value.kind == Value::Kind::kInput;
    if (value.kind == Value::Kind::kApply) {
      HR_RETURN_IF_ERROR(CheckApply(value, static_cast<int>(i)));
    } else if (value.kind == Value::Kind::kInput && !IsSupported(value.dtype)) {
      return InvalidArgument("an element-wise program cannot read ", DTypeName(value.dtype));
    }
  }
  for (const Out& out : outputs_) {
    if (out.value < 0 || out.value >= static_cast<int>(values_.size())) {
      return InvalidArgument("an element-wise program has no value ", out.value, " to output");
    }
    if (!IsSupported(out.dtype)) {
      return InvalidArgument("an element-wise program cannot write ", DTypeName(out.dtype));
    }
  }
  if (inputs > ElementProgram::kMaxInputs ||
      static_cast<int>(outputs_.size()) > ElementProgram::kMaxOutputs) {
    return ResourceExhausted("an element-wise program has at most ", ElementProgram::kMaxInputs,
                             " inputs and ", ElementProgram::kMaxOutputs, " outputs, got ", inputs,
                             " and ", outputs_.size(), ": split the chain");
  }
  return {};
}

void ElementProgramBuilder::FindLastUses() {
  for (size_t i = 0; i < values_.size(); ++i) {
    for (int operand : values_[i].operands) {
      values_[static_cast<size_t>(operand)].last_use = static_cast<int>(i);
    }
  }
  for (const Out& out : outputs_) {
    values_[static_cast<size_t>(out.value)].last_use = static_cast<int>(values_.size());
  }
  for (const Value& value : values_) {
    if (value.kind == Value::Kind::kInput) last_reader_ = std::max(last_reader_, value.last_use);
  }
}

int ElementProgramBuilder::AllocateRegister(std::vector<bool>& used) const {
  auto free = std::find(used.begin(), used.end(), false);
  if (free == used.end()) return -1;
  *free = true;
  return static_cast<int>(free - used.begin());
}

void ElementProgramBuilder::Emit(const Value& value, int index, ElementProgram& program) const {
  const ElementType type = program.type_;
  if (value.kind == Value::Kind::kInput) {
    const bool converts = value.dtype != DTypeOfElement(type);
    program.inputs_.push_back({converts ? LoaderFor(value.dtype, type) : nullptr,
                               static_cast<int64_t>(DTypeSize(value.dtype)), value.reg});
    return;
  }
  if (value.kind == Value::Kind::kConstant) {
    ElementProgram::Constant constant{.bits = {}, .reg = value.reg};
    const bool floating = type == ElementType::kFloat || type == ElementType::kDouble;
    const DType from = floating ? DType::kFloat64 : DType::kInt64;
    LoaderFor(from, type)(floating ? static_cast<const void*>(&value.number) : &value.integer,
                          constant.bits, 1);
    program.constants_.push_back(constant);
    return;
  }
  ElementProgram::Instruction instruction{.loop = ElementLoopFor(value.op, type),
                                          .narrow = nullptr,
                                          .widen = nullptr,
                                          .out = static_cast<int8_t>(value.reg),
                                          .in = {},
                                          .output = -1};
  for (size_t i = 0; i < value.operands.size(); ++i) {
    const int operand = value.operands[i];
    instruction.in[i] = static_cast<int8_t>(values_[static_cast<size_t>(operand)].reg);
  }
  if (!IsFloating(dtype_) && dtype_ != DTypeOfElement(type) && MayOverflow(value.op)) {
    instruction.narrow = StorerFor(type, dtype_);
    instruction.widen = LoaderFor(dtype_, type);
  }
  // An output without conversion is computed in place, and read from there by what follows, unless
  // an input is read later, which may be in the same memory.
  const bool may_write = index >= last_reader_;
  for (size_t i = 0; may_write && i < outputs_.size() && instruction.output < 0; ++i) {
    if (outputs_[i].value == index && outputs_[i].dtype == DTypeOfElement(type)) {
      instruction.output = static_cast<int8_t>(i);
    }
  }
  program.cost_ += ops::InfoOf(value.op).cost;
  program.instructions_.push_back(instruction);
}

Result<ElementProgram> ElementProgramBuilder::Build() {
  HR_RETURN_IF_ERROR(Check());
  FindLastUses();
  ElementProgram program;
  program.type_ = ElementTypeOf(dtype_);
  std::vector<bool> used(ElementProgram::kMaxRegisters, false);
  // Inputs and constants keep their registers, which are filled before anything is computed.
  for (Value& value : values_) {
    if (value.kind != Value::Kind::kApply) value.reg = AllocateRegister(used);
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& value = values_[i];
    for (int operand : value.operands) {
      const Value& source = values_[static_cast<size_t>(operand)];
      if (source.kind == Value::Kind::kApply && source.last_use == static_cast<int>(i)) {
        used[static_cast<size_t>(source.reg)] = false;
      }
    }
    if (value.kind == Value::Kind::kApply) value.reg = AllocateRegister(used);
    if (value.reg < 0) {
      return ResourceExhausted("an element-wise program keeps at most ",
                               ElementProgram::kMaxRegisters, " values: split the chain");
    }
    program.registers_ = std::max(program.registers_, value.reg + 1);
    Emit(value, static_cast<int>(i), program);
    if (value.last_use < 0 && value.kind == Value::Kind::kApply) {
      used[static_cast<size_t>(value.reg)] = false;
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool written = std::any_of(
        program.instructions_.begin(), program.instructions_.end(),
        [&](const auto& instruction) { return instruction.output == static_cast<int8_t>(i); });
    program.outputs_.push_back({written ? nullptr : StorerFor(program.type_, outputs_[i].dtype),
                                static_cast<int64_t>(DTypeSize(outputs_[i].dtype)),
                                values_[static_cast<size_t>(outputs_[i].value)].reg});
  }
  return program;
}

}  // namespace hr::cpu
