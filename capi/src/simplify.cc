#include "capi/src/simplify.h"

#include "runtime/base/json_writer.h"
#include "runtime/format/pages.h"
#include "runtime/format/reader.h"
#include "runtime/format/writer.h"
#include "runtime/session/cpu_evaluator.h"
#include "runtime/transform/simplify.h"

namespace hr::capi {
namespace {

std::string WhatIsLeft(const graph::Module& module) {
  const graph::Marks initial = module.InitialConstants();
  size_t of_variables = 0, of_others = 0;
  for (size_t i = 0; i < initial.size(); ++i) {
    (initial[i] ? of_variables : of_others) += module.constants[i].bytes();
  }
  JsonWriter json;
  json.BeginObject()
      .Field("nodes", module.main().nodes.size())
      .Field("variables", module.variables.size())
      .Field("variable_bytes", of_variables)
      .Field("constant_bytes", of_others)
      .EndObject();
  return json.Take();
}

}  // namespace

Result<std::string> SimplifyFile(session::Env& env, const std::string& from, const std::string& to,
                                 const HostLimits& limits) {
  HR_ASSIGN_OR_RETURN(auto&& file, format::MapFile(from, env.allocator()));
  HR_ASSIGN_OR_RETURN(auto&& module,
                      format::ReadModule(file.buffer, {.allocator = &env.allocator()}));
  HR_RETURN_IF_ERROR(limits.Check());
  session::CpuEvaluator evaluator(env);
  HR_ASSIGN_OR_RETURN(module, transform::Simplify({env.operators(), &evaluator, env.allocator()},
                                                  std::move(module)));
  HR_RETURN_IF_ERROR(limits.Check());
  const std::vector<Bytes> mapped = {AsBytes(file.view())};
  HR_RETURN_IF_ERROR(
      format::WriteModule(module, to,
                          {.after_read = [&](Bytes bytes) { format::ForgetPages(mapped, bytes); },
                           .allocator = &env.allocator()}));
  return WhatIsLeft(module);
}

}  // namespace hr::capi
