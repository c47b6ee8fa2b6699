#include "runtime/transform/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/errors.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/formula.h"
#include "runtime/transform/run_counter.h"

namespace hr::transform {
namespace {

enum class Kind : uint8_t { kNumber, kNotNegative, kCount, kPositiveCount, kShare, kList };

struct Setting {
  Literal name;
  Kind kind;
  std::optional<double> otherwise;  // nothing: it must be given
};

class Given;
// The rate at the step, which counts from 0.
using Rate = ValueId (*)(Formula& f, const Given& given, ValueId step);
struct ScheduleDef {
  Literal name;
  std::span<const Setting> settings;
  Rate rate;
};

Literal KindText(Kind kind) {
  constexpr Literal kTexts[] = {"finite",
                                "at least 0 and finite",
                                "a whole number of at least 0",
                                "a whole number of at least 1",
                                "above 0 and below 1",
                                "finite numbers"};
  return kTexts[static_cast<size_t>(kind)];
}

bool IsOf(Kind kind, double value) {
  constexpr double kMost = 9e15;  // whole numbers up to here are exact
  const bool whole = value == std::floor(value) && value <= kMost;
  switch (kind) {
    case Kind::kNumber:
    case Kind::kList: return std::isfinite(value);
    case Kind::kNotNegative: return std::isfinite(value) && value >= 0;
    case Kind::kCount: return whole && value >= 0;
    case Kind::kPositiveCount: return whole && value >= 1;
    case Kind::kShare: return value > 0 && value < 1;
  }
  return false;
}

// The settings of a schedule.
class Given {
 public:
  explicit Given(const ScheduleDef& def) : def_(def), values_(def.settings.size()) {}

  Status Take(std::string_view name, const std::vector<double>& values) {
    const auto found = std::ranges::find_if(
        def_.settings, [&](const Setting& setting) { return setting.name == name; });
    if (found == def_.settings.end()) {
      std::vector<Literal> known;
      for (const Setting& setting : def_.settings) known.push_back(setting.name);
      return Wrong("there is no setting '", name, "'; there are: ", Join(known));
    }
    if (found->kind != Kind::kList && values.size() != 1)
      return Wrong(name, " takes one number, got ", values.size());
    for (double value : values) {
      if (!IsOf(found->kind, value))
        return Wrong(name, " must be ", KindText(found->kind), ", got ", value);
    }
    values_[static_cast<size_t>(found - def_.settings.begin())] = values;
    return {};
  }

  Status Complete() {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!values_[i].empty()) continue;
      const Setting& setting = def_.settings[i];
      if (!setting.otherwise) return Wrong("needs ", setting.name, "=…");
      values_[i] = {*setting.otherwise};
    }
    return CheckTogether();
  }

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const std::vector<double>& List(std::string_view name) const { return *Find(name); }
  double operator[](std::string_view name) const { return Find(name)->front(); }

 private:
  template <typename... Words>
  Status Wrong(const Words&... words) const {
    return InvalidArgument("schedule '", def_.name, "': ", words...);
  }

  const std::vector<double>* Find(std::string_view name) const {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (def_.settings[i].name == name) return &values_[i];
    }
    return nullptr;
  }

  Status CheckTogether() const {
    const double warmup = Has("warmup") ? (*this)["warmup"] : 0;
    if (Has("steps") && (*this)["steps"] <= warmup) {
      return Wrong("steps counts the warm-up, so it must be more than warmup=", warmup, ", got ",
                   (*this)["steps"]);
    }
    if (Has("share") && ((*this)["share"] * (*this)["steps"] <= 1 || (*this)["steps"] < 3)) {
      return Wrong("the rise wants more than one of the steps and a fall behind it, got share=",
                   (*this)["share"], " of steps=", (*this)["steps"]);
    }
    return Has("at") ? CheckPieces(warmup) : Status();
  }

  Status CheckPieces(double warmup) const {
    const auto& at = List("at");
    if (List("rates").size() != at.size() + 1) {
      return Wrong("wants one more of rates than of at, got ", List("rates").size(), " and ",
                   at.size());
    }
    double last = warmup;
    for (double step : at) {
      if (!IsOf(Kind::kPositiveCount, step) || step <= last) {
        return Wrong("at must be whole numbers that ascend, above warmup=", warmup, ", got ",
                     Join(at));
      }
      last = step;
    }
    return {};
  }

  const ScheduleDef& def_;
  std::vector<std::vector<double>> values_;
};

// ---- The formulas, of the steps since the end of the warm-up ----

// Steps over all steps, at most 1.
ValueId Progress(Formula& f, const Given& given, ValueId step) {
  const double span = given["steps"] - given["warmup"];
  return f.Min(f.Div(step, f.Number(span)), f.Number(1));
}

// From `from` to `to` along half a period of a cosine, as `progress` goes from 0 to 1.
ValueId CosineBetween(Formula& f, double from, double to, ValueId progress) {
  const ValueId angle = f.Mul(progress, f.Number(std::numbers::pi));
  const ValueId share = f.Mul(f.Add(f.Emit("Cos", {angle}), f.Number(1)), f.Number(0.5));
  return f.Add(f.Mul(share, f.Number(from - to)), f.Number(to));
}

ValueId Constant(Formula& f, const Given& given, ValueId) { return f.Number(given["base"]); }

ValueId Decay(Formula& f, const Given& given, ValueId exponent) {
  const ValueId power = f.Emit("Pow", {f.Number(given["factor"]), exponent});
  return f.Mul(f.Number(given["base"]), power);
}
ValueId Exponential(Formula& f, const Given& given, ValueId step) {
  return Decay(f, given, f.Div(step, f.Number(given["every"])));
}
ValueId Step(Formula& f, const Given& given, ValueId step) {
  return Decay(f, given, f.Emit("Floor", {f.Div(step, f.Number(given["every"]))}));
}

ValueId Polynomial(Formula& f, const Given& given, ValueId step) {
  const ValueId rest = f.Sub(f.Number(1), Progress(f, given, step));
  const double power = given.Has("power") ? given["power"] : 1;
  const ValueId curve = power == 1 ? rest : f.Emit("Pow", {rest, f.Number(power)});
  const double end = given["end"];
  return f.Add(f.Mul(curve, f.Number(given["base"] - end)), f.Number(end));
}

ValueId Cosine(Formula& f, const Given& given, ValueId step) {
  return CosineBetween(f, given["base"], given["end"], Progress(f, given, step));
}

// As torch.optim.lr_scheduler.OneCycleLR with its defaults.
ValueId OneCycle(Formula& f, const Given& given, ValueId step) {
  const double top = given["base"], first = top / given["divide"];
  const double last = first / given["final_divide"];
  const double peak = given["share"] * given["steps"] - 1, end = given["steps"] - 1;
  const ValueId rise = f.Div(step, f.Number(peak));
  const ValueId fall = f.Div(f.Sub(step, f.Number(peak)), f.Number(end - peak));
  return f.Where(f.Less(f.Number(peak), step),
                 CosineBetween(f, top, last, f.Min(fall, f.Number(1))),
                 CosineBetween(f, first, top, f.Min(rise, f.Number(1))));
}

ValueId Piecewise(Formula& f, const Given& given, ValueId step) {
  const auto& at = given.List("at");
  const auto& rates = given.List("rates");
  ValueId rate = f.Number(rates.back());
  for (size_t i = at.size(); i-- > 0;) {
    const ValueId before = f.Less(step, f.Number(at[i] - given["warmup"]));
    rate = f.Where(before, f.Number(rates[i]), rate);
  }
  return rate;
}

// ---- The table ----

constexpr Setting kBase = {"base", Kind::kNotNegative, {}};
constexpr Setting kSteps = {"steps", Kind::kPositiveCount, {}};
constexpr Setting kEnd = {"end", Kind::kNotNegative, 0};
constexpr Setting kWarmup = {"warmup", Kind::kCount, 0};
constexpr Setting kStart = {"start", Kind::kNotNegative, 0};

constexpr Setting kConstantSettings[] = {kBase, kWarmup, kStart};
constexpr Setting kStepSettings[] = {kBase,
                                     {"every", Kind::kPositiveCount, {}},
                                     {"factor", Kind::kNotNegative, 0.1},
                                     kWarmup,
                                     kStart};
constexpr Setting kExponentialSettings[] = {
    kBase, {"factor", Kind::kNotNegative, {}}, {"every", Kind::kPositiveCount, 1}, kWarmup, kStart};
constexpr Setting kSpanSettings[] = {kBase, kSteps, kEnd, kWarmup, kStart};
constexpr Setting kPolynomialSettings[] = {kBase, kSteps,  {"power", Kind::kNotNegative, {}},
                                           kEnd,  kWarmup, kStart};
constexpr Setting kOneCycleSettings[] = {kBase,
                                         kSteps,
                                         {"share", Kind::kShare, 0.3},
                                         {"divide", Kind::kPositiveCount, 25},
                                         {"final_divide", Kind::kPositiveCount, 1e4}};
constexpr Setting kPiecewiseSettings[] = {
    {"at", Kind::kList, {}}, {"rates", Kind::kList, {}}, kWarmup, kStart};

constexpr ScheduleDef kSchedules[] = {
    {"constant", kConstantSettings, Constant},
    {"step", kStepSettings, Step},
    {"exponential", kExponentialSettings, Exponential},
    {"linear", kSpanSettings, Polynomial},
    {"polynomial", kPolynomialSettings, Polynomial},
    {"cosine", kSpanSettings, Cosine},
    {"one-cycle", kOneCycleSettings, OneCycle},
    {"piecewise", kPiecewiseSettings, Piecewise},
};

Result<const ScheduleDef*> FindSchedule(std::string_view name) {
  std::vector<Literal> known;
  for (const ScheduleDef& def : kSchedules) {
    if (def.name == name) return &def;
    known.push_back(def.name);
  }
  return InvalidArgument("there is no schedule '", name, "'; there are: ", Join(known));
}

// The rate with its warm-up, which rises evenly to what the schedule begins with.
ValueId WholeRate(Formula& f, const ScheduleDef& def, const Given& given, ValueId count) {
  const ValueId step = f.Cast(count, DType::kFloat64);
  const double warmup = given.Has("warmup") ? given["warmup"] : 0;
  if (warmup == 0) return def.rate(f, given, step);
  const ValueId since = f.Max(f.Sub(step, f.Number(warmup)), f.Number(0));
  const double base = given.Has("base") ? given["base"] : given.List("rates").front();
  const double start = given["start"] * base;
  const ValueId rise = f.Mul(step, f.Number((base - start) / warmup));
  return f.Where(f.Less(step, f.Number(warmup)), f.Add(rise, f.Number(start)),
                 def.rate(f, given, since));
}

Result<ValueId> Emit(GraphBuilder& builder, std::string_view signature, const ScheduleDef& def,
                     const Given& given) {
  HR_ASSIGN_OR_RETURN(const uint32_t counter, RunCounter(builder, signature));
  Formula f(builder, "schedule");
  const ValueId rate = WholeRate(f, def, given, f.AtStart(counter));
  HR_RETURN_IF_ERROR(f.status());
  auto& outputs = builder.SignatureNamed(signature).outputs;
  if (std::ranges::find(outputs, "learning_rate", &graph::Port::name) == outputs.end())
    outputs.push_back({"learning_rate", rate});
  return rate;
}

}  // namespace

Result<ValueId> AddSchedule(GraphBuilder& builder, std::string_view signature,
                            std::string_view text) {
  if (signature.empty())
    return InvalidArgument("a schedule counts the runs of a signature; which?");
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedLists(text));
  HR_ASSIGN_OR_RETURN(const ScheduleDef* def, FindSchedule(spec.name));
  Given given(*def);
  for (const auto& [name, values] : spec.lists) HR_RETURN_IF_ERROR(given.Take(name, values));
  HR_RETURN_IF_ERROR(given.Complete());
  return builder.AllOrNothing([&] { return Emit(builder, signature, *def, given); });
}

}  // namespace hr::transform
