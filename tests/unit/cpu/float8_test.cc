// Floats of 8 bits through every operator: it refuses them with a sentence, or gives what it gives
// of the same numbers in float32.
#include "runtime/base/float8.h"

#include <algorithm>
#include <cmath>

#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

constexpr DType kFloat8s[] = {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                              DType::kFloat8E5M2FNUZ};
// All types hold them.
constexpr float kNumbers[] = {1, -2, 0.5, 3, 0, 1.5, -0.25, 6};

enum class Given : uint8_t { kSmall, kReal, kTruth, kIndex, kShape, kScalar, kOmitted };
constexpr Given kGiven[] = {Given::kSmall, Given::kReal,   Given::kTruth,  Given::kIndex,
                            Given::kShape, Given::kScalar, Given::kOmitted};

Tensor Numbers(DType dtype, const Dims& dims) {
  Tensor out = Tensor::Create(SystemAllocator(), dtype, dims).value();
  for (int64_t i = 0; i < out.elements(); ++i) {
    const float number = kNumbers[static_cast<size_t>(i) % std::size(kNumbers)];
    if (IsFloat8(dtype)) {
      out.as<uint8_t>()[i] = FloatToFloat8(Float8FormatOf(dtype), number);
    } else {
      out.as<float>()[i] = number;
    }
  }
  return out;
}

bool NamesType(const ops::AttributeDef& attribute) {
  const std::string_view name = attribute.name;
  return name == "to" || name == "dtype" || name == "output_dtype";
}

// One way to call an operator: what each input is, the shape of those that have it, and whether
// attributes that need not be there ask for a small result.
struct Call {
  const ops::OpDef* def;
  std::vector<Given> inputs;
  Dims dims;
  bool asks;

  // With `dtype` in the place of the small floats.
  std::unique_ptr<OneNodeRun> Make(DType dtype) const {
    auto run = std::make_unique<OneNodeRun>(def->name.data(), std::string(def->domain),
                                            def->since_version);
    for (const Given given : inputs) Add(given, dtype, *run);
    for (const ops::AttributeDef& attribute : def->attributes) AddAttribute(attribute, dtype, *run);
    run->Outputs(static_cast<size_t>(std::max<int>(1, def->outputs.min)));
    return run;
  }
  std::string Text() const {
    std::vector<int> kinds;
    for (const Given given : inputs) kinds.push_back(static_cast<int>(given));
    return Cat(def->domain, " ", def->name, " ", def->since_version, " of ", Join(kinds), ", ",
               ShapeText(dims), asks ? ", small" : "");
  }

 private:
  void Add(Given given, DType dtype, OneNodeRun& run) const {
    const auto count = static_cast<size_t>(ElementCount(dims));
    switch (given) {
      case Given::kSmall: run.In(Numbers(dtype, dims)); return;
      case Given::kReal: run.In(Numbers(DType::kFloat32, dims)); return;
      case Given::kTruth: run.In(dims, std::vector<bool>(count, true)); return;
      case Given::kIndex: run.In(dims, std::vector<int64_t>(count, 0)); return;
      case Given::kShape: run.Constant<int64_t>({1}, {-1}); return;
      case Given::kScalar: run.Constant<float>({}, {2}); return;
      case Given::kOmitted: run.Omit(); return;
    }
  }

  void AddAttribute(const ops::AttributeDef& attribute, DType dtype, OneNodeRun& run) const {
    const std::string_view name = attribute.name;
    if (NamesType(attribute)) {
      if (asks || attribute.required) run.With(std::string(name), static_cast<int64_t>(dtype));
    } else if (name == "equation") {
      run.With("equation", std::string("ij,jk->ik"));
    } else if (attribute.required && attribute.kind == ops::AttributeKind::kInt) {
      run.With(std::string(name), int64_t{1});
    } else if (attribute.required && attribute.kind == ops::AttributeKind::kInts) {
      run.With(std::string(name), std::vector<int64_t>{1});
    }
  }
};

bool Involves(const Call& call) {
  const auto& attributes = call.def->attributes;
  return std::find(call.inputs.begin(), call.inputs.end(), Given::kSmall) != call.inputs.end() ||
         std::any_of(attributes.begin(), attributes.end(), [&](const auto& attribute) {
           return NamesType(attribute) && (call.asks || attribute.required);
         });
}

// The elements as real numbers.
std::vector<float> RealsOf(const Tensor& tensor) {
  std::vector<float> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (IsFloat8(tensor.dtype())) {
      out.push_back(Float8ToFloat(Float8FormatOf(tensor.dtype()), tensor.as<uint8_t>()[i]));
    } else if (tensor.dtype() == DType::kFloat32) {
      out.push_back(tensor.as<float>()[i]);
    } else if (tensor.dtype() == DType::kInt64) {
      out.push_back(static_cast<float>(tensor.as<int64_t>()[i]));
    } else if (DTypeSize(tensor.dtype()) == 1) {
      out.push_back(tensor.as<uint8_t>()[i]);
    } else {
      ADD_FAILURE() << "a result of type " << tensor.TypeText();
    }
  }
  return out;
}

// As a cast that saturates rounds it.
float Rounded(DType dtype, float value) {
  if (!IsFloat8(dtype)) return value;
  const float most = LargestFloat8(dtype);
  const Float8Format format = Float8FormatOf(dtype);
  return Float8ToFloat(format, FloatToFloat8(format, std::clamp(value, -most, most)));
}

class Float8Operators : public testing::Test {
 protected:
  // What float32 gives, rounded where the result is small.
  void Compare(const Call& call, const std::vector<Tensor>& got) {
    if (call.def->random || call.def->name == "BitCast") return;
    auto expected = call.Make(DType::kFloat32)->Run();
    if (!expected.ok()) return;
    ++compared_;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].dims(), (*expected)[i].dims());
      const std::vector<float> a = RealsOf(got[i]), b = RealsOf((*expected)[i]);
      for (size_t k = 0; k < a.size(); ++k) {
        const float wanted = Rounded(got[i].dtype(), b[k]);
        ASSERT_TRUE(a[k] == wanted || (std::isnan(a[k]) && std::isnan(wanted)))
            << "element " << k << " of output " << i << " is " << a[k] << ", expected " << wanted;
      }
    }
  }

  // A failure says which operator it was, and is of the caller's making.
  void ExpectSentence(const Call& call, const Status& status) {
    const bool asked =
        status.code() == Code::kInvalidArgument || status.code() == Code::kUnimplemented ||
        status.code() == Code::kOutOfRange || status.code() == Code::kFailedPrecondition;
    EXPECT_TRUE(asked) << status.ToString();
    EXPECT_NE(status.ToString().find(call.def->name.data()), std::string::npos)
        << status.ToString();
  }

  void Try(const Call& call, DType dtype) {
    auto run = call.Make(dtype);
    auto got = run->Run();
    if (got.ok()) {
      accepted_.insert(std::string(call.def->name));
      Compare(call, *got);
    } else {
      ExpectSentence(call, got.status());
    }
  }

  std::set<std::string> accepted_;
  int compared_ = 0;
};

// Calls of up to three inputs, each of any kind; what an operator takes beyond these is small.
std::vector<std::vector<Given>> InputsOf(const ops::OpDef& def) {
  std::vector<std::vector<Given>> out = {{}};
  const int most = std::clamp<int>(def.inputs.min, std::min<int>(def.inputs.max, 3), 9);
  for (int i = 0; i < most; ++i) {
    std::vector<std::vector<Given>> longer;
    for (const auto& inputs : out) {
      for (const Given given : kGiven) {
        if (i >= 3 && given != Given::kSmall) continue;
        if (given == Given::kOmitted && i < def.inputs.min) continue;
        longer.push_back(inputs);
        longer.back().push_back(given);
      }
    }
    out = std::move(longer);
  }
  return out;
}

// What is tried of an operator.
std::vector<Call> CallsOf(const ops::OpDef& def) {
  const bool may_ask = std::any_of(def.attributes.begin(), def.attributes.end(), NamesType);
  std::vector<Call> out;
  for (const auto& inputs : InputsOf(def)) {
    for (const Dims& dims : {Dims{2, 2}, Dims{1, 2, 2, 2}}) {
      for (const bool asks : {false, true}) {
        Call call{&def, inputs, dims, asks};
        if (Involves(call) && (!asks || may_ask)) out.push_back(std::move(call));
      }
    }
  }
  return out;
}

TEST_F(Float8Operators, RefuseThemOrGiveWhatFloat32Gives) {
  ops::OpRegistry registry;
  for (const ops::OpDef* def : registry.all()) {
    const bool reaches_out = def->domain == ops::kComm || def->domain == ops::kData;
    const bool between_runs = def->containers && def->name != "Identity";
    if (reaches_out || between_runs || def->control != ops::Control::kNone) continue;
    for (const Call& call : CallsOf(*def)) {
      SCOPED_TRACE(call.Text());
      const bool taken = call.Make(kFloat8s[0])->Run().ok();
      for (const DType dtype : kFloat8s) {
        if (taken || dtype == kFloat8s[0]) Try(call, dtype);
      }
    }
  }
  for (const char* name : {"Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "Reshape",
                           "Transpose", "Identity", "IsNaN", "IsInf", "Shape", "BitCast"}) {
    EXPECT_TRUE(accepted_.contains(name)) << name;
  }
  for (const char* name : {"Add", "MatMul", "Relu", "Softmax", "ReduceSum", "Conv", "Unique"}) {
    EXPECT_FALSE(accepted_.contains(name)) << name;
  }
  EXPECT_GT(compared_, 200);
}

}  // namespace
}  // namespace hr::cpu
