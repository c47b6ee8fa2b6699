// Compiled without the standard library's headers, as NVRTC would; see tests/checks.cmake.
#include "runtime/ops/functors/functors.h"
#include "runtime/ops/functors/philox.h"
#include "runtime/ops/functors/random_stream.h"

namespace hr::functors {

// Names that depend on a type are looked up where a template is used.
template <class V>
HR_FUNCTOR V UseAll(V x, V y, uint32_t word) {
  V normals[2];
  NormalsFrom(word, word, &normals[0], &normals[1]);
  const V own = Exp(x) + Expm1(x) + Log(x) + Log1p(x) + Tanh(x) + Sigmoid(x) + Softplus(x) +
                Erf(x) + Sin(x) + Cos(x);
  const V library = Tan(x) + Asin(x) + Acos(x) + Atan(x) + Sinh(x) + Cosh(x) + Asinh(x) + Acosh(x) +
                    Atanh(x) + Pow(x, y) + Fmod(x, y);
  const V composed = Gelu(x) + GeluTanh(x) + GeluGrad(x, y) + HardSwish(x) + Mish(x) + Celu(x, y) +
                     Round(x) + Floor(x) + Ceil(x) + Clip(x, x, y) + IsNaN(x) + IsInf(x) +
                     Xor(x, y) + Sign(x);
  const V random = UniformFrom<V>(word) + UniformFromTwo<V>(word, word) + normals[0] + normals[1];
  return own + library + composed + random;
}
template float UseAll(float, float, uint32_t);
template double UseAll(double, double, uint32_t);

HR_FUNCTOR uint32_t FirstWord(uint64_t seed, int64_t step) {
  return RandomStream(seed, step, 0).Block(0).word[0];
}

template <template <class> class... Steps>
HR_FUNCTOR float UpdateOnce(StepList<Steps...>, float g, float p) {
  float state[StepList<Steps...>::kMostStates] = {};
  (Steps<float>(typename Steps<float>::Settings{}, 0.1, 1)(g, &p, state), ...);
  return p;
}
template float UpdateOnce(OptimizerSteps, float, float);

}  // namespace hr::functors
