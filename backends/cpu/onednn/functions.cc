#include "backends/cpu/onednn/functions.h"

#include <cstdlib>

#include "runtime/base/file.h"
#include "runtime/base/library.h"

namespace hr::cpu::onednn {
namespace {

// The interface of version 3, and in it what 3.1 has.
constexpr char kName[] = "libdnnl.so.3";
constexpr int kMajor = 3, kLeastMinor = 1;

template <typename F>
bool Find(const SharedLibrary& library, const char* name, F** out) {
  *out = reinterpret_cast<F*>(library.Find(name));
  return *out != nullptr;
}

// Through the library itself, as a process may hold several OpenMP runtimes.
Status FindThreading(const SharedLibrary& library, unsigned runtime, OpenMp* out) {
  if (runtime == DNNL_RUNTIME_SEQ || runtime == DNNL_RUNTIME_THREADPOOL) return {};
  if (runtime != DNNL_RUNTIME_OMP) {
    return Unavailable("it cannot be kept on one thread; use a oneDNN on OpenMP");
  }
  if (Find(library, "omp_get_max_threads", &out->threads) &&
      Find(library, "omp_set_num_threads", &out->set_threads)) {
    return {};
  }
  return Unavailable("its OpenMP runtime was not found");
}

Result<Functions> LoadFrom(const std::string& path) {
  HR_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(path));
  Functions out;
  if (!Find(library, "dnnl_version", &out.version)) {
    return Unavailable("it has no function dnnl_version");
  }
  const dnnl_version_t& version = *out.version();
  if (version.major != kMajor || version.minor < kLeastMinor) {
    return Unavailable("expected oneDNN ", kMajor, ".", kLeastMinor, " or newer of the same major ",
                       "version, it is ", version.major, ".", version.minor);
  }
  HR_RETURN_IF_ERROR(FindThreading(library, version.cpu_runtime, &out.open_mp));
#define HR_DNNL_FIND(name)                                \
  if (!Find(library, "dnnl_" #name, &out.name)) {         \
    return Unavailable("it has no function dnnl_" #name); \
  }
  HR_DNNL_FUNCTIONS(HR_DNNL_FIND)
#undef HR_DNNL_FIND
  return out;
}

}  // namespace

std::vector<std::string> Places(const char* wanted, const std::string& own_folder) {
  if (wanted != nullptr && std::string_view(wanted) == "off") return {};
  if (wanted != nullptr && *wanted != '\0') return {wanted};
  std::vector<std::string> out;
  const auto add_file = [&](std::string path) {
    if (FileExists(path)) out.push_back(std::move(path));
  };
  add_file(own_folder + kName);
  out.emplace_back(kName);
  // Where Python's packages put it, seen from lib/python3.x/site-packages/headrace.
  add_file(Cat(own_folder, "../../../", kName));
  return out;
}

Result<Functions> Load(const std::vector<std::string>& places) {
  if (places.empty()) return Unavailable("HEADRACE_ONEDNN is \"off\"");
  std::string reasons;
  for (const std::string& place : places) {
    Result<Functions> loaded = LoadFrom(place);
    if (loaded.ok()) return loaded;
    const std::string_view reason = loaded.status().message();
    const bool named = reason.starts_with(place);  // the loader's own messages are
    reasons += Cat(reasons.empty() ? "" : "; ", named ? "" : place, named ? "" : ": ", reason);
  }
  return Unavailable(reasons);
}

// One for the process, as a shared library is; never destroyed, because primitives may outlive the
// destructors at a program's end.
const Result<Functions>& OneDnn() {
  static const auto& loaded =
      *new Result<Functions>(Load(Places(std::getenv("HEADRACE_ONEDNN"), OwnFolder())));
  return loaded;
}

}  // namespace hr::cpu::onednn
