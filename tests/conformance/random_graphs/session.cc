#include "tests/conformance/random_graphs/session.h"

#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "tests/conformance/random_graphs/rng.h"

namespace hr::random_graphs {
namespace {

// What every session is made with, but for fusion and limits.
session::SessionOptions Options(bool fuse, size_t memory_limit) {
  session::SessionOptions options{.seed = 7};
  options.plan.fuse = fuse;
  options.plan.memory_limit = memory_limit;
  options.plan.check_memory = true;
  return options;
}

uint64_t HashOf(const Tensor& tensor, uint64_t hash) {
  hash = Mix(hash ^ static_cast<uint64_t>(tensor.dtype()));
  for (int64_t d : tensor.dims()) hash = Mix(hash ^ static_cast<uint64_t>(d));
  const auto* bytes = reinterpret_cast<const unsigned char*>(tensor.data());
  for (size_t i = 0; i < tensor.bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  return hash;
}

std::string BitDifference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims())
    return Cat(a.TypeText(), " and ", b.TypeText());
  const size_t size = DTypeSize(a.dtype());
  for (size_t i = 0; i < a.bytes(); i += size) {
    if (std::memcmp(a.data() + i, b.data() + i, size) != 0)
      return Cat("element ", i / size, " of ", a.TypeText());
  }
  return "";
}

}  // namespace

uint64_t Results::Hash() const {
  uint64_t hash = 0;
  for (const auto& step : outputs) {
    for (const Tensor& tensor : step) hash = HashOf(tensor, hash);
  }
  for (const Tensor& tensor : variables) hash = HashOf(tensor, hash);
  return hash;
}

std::string BitDifference(const Results& a, const Results& b) {
  for (size_t step = 0; step < a.outputs.size(); ++step) {
    for (size_t i = 0; i < a.outputs[step].size(); ++i) {
      const std::string text = BitDifference(a.outputs[step][i], b.outputs[step][i]);
      if (!text.empty()) return Cat("step ", step, ", fetch ", i, ": ", text);
    }
  }
  for (size_t i = 0; i < a.variables.size(); ++i) {
    const std::string text = BitDifference(a.variables[i], b.variables[i]);
    if (!text.empty()) return Cat("variable ", i, ": ", text);
  }
  return "";
}

std::vector<Feed> FeedsOf(const Program& program, int64_t batch) {
  std::vector<Feed> out;
  for (const Statement& statement : program.statements) {
    if (statement.kind != Statement::Kind::kInput) continue;
    Data data = statement.data;
    if (batch != 0 && !data.dims.empty() && data.dims[0] == program.batch) {
      data.dims[0] = batch;
      const auto wanted = static_cast<size_t>(ElementCount(data.dims));
      for (size_t i = data.values.size(); data.kind == "values" && i < wanted; ++i)
        data.values.push_back(data.values[i % statement.data.values.size()]);
    }
    out.push_back({statement.results[0], data.Make()});
  }
  return out;
}

std::shared_ptr<session::Env> MakeEnv(int threads) {
  auto env = session::Env::Create({.threads = threads}).value();
  Status status = env->AddBackend(cpu::CreateCpuBackend(env->allocator()));
  return status.ok() ? env : nullptr;
}

Result<Runner> Runner::Create(const std::shared_ptr<session::Env>& env, graph::Module module,
                              bool fuse, size_t memory_limit) {
  Runner out;
  HR_ASSIGN_OR_RETURN(auto model, session::Model::Create(env, std::move(module)));
  HR_ASSIGN_OR_RETURN(out.session_, session::Session::Create(model, Options(fuse, memory_limit)));
  HR_ASSIGN_OR_RETURN(out.call_, session::Call::Create(out.session_, "run"));
  return out;
}

Result<Results> Runner::Run(const std::vector<Feed>& feeds, int steps) {
  const graph::Module& module = session_->model().module();
  Results out;
  for (const Feed& feed : feeds) HR_RETURN_IF_ERROR(call_->Bind(feed.name, feed.tensor));
  for (int step = 0; step < steps; ++step) {
    HR_RETURN_IF_ERROR(call_->Run({}));
    out.outputs.emplace_back();
    for (const graph::Port& port : module.FindSignature("run")->outputs) {
      HR_ASSIGN_OR_RETURN(Tensor tensor, call_->Output(port.name));
      HR_ASSIGN_OR_RETURN(tensor, tensor.Clone(SystemAllocator()));
      out.outputs.back().push_back(std::move(tensor));
    }
  }
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    HR_ASSIGN_OR_RETURN(Tensor tensor, session_->GetVariable(i, {}));
    out.variables.push_back(std::move(tensor));
  }
  return out;
}

Result<std::vector<std::vector<Tensor>>> Runner::Fetch(const std::vector<Feed>& feeds, int steps,
                                                       const std::vector<std::string>& names) {
  const graph::Module& module = session_->model().module();
  std::vector<session::NamedTensor> fed;
  for (const Feed& feed : feeds) fed.push_back({feed.name, feed.tensor});
  std::vector<std::string> targets;
  for (graph::NodeId node : module.FindSignature("run")->targets)
    targets.push_back(module.main().nodes[node].name);
  std::vector<std::vector<Tensor>> out;
  for (int step = 0; step < steps; ++step) {
    HR_ASSIGN_OR_RETURN(auto tensors, session_->Run(fed, names, targets, {}));
    out.push_back(std::move(tensors));
  }
  return out;
}

}  // namespace hr::random_graphs
