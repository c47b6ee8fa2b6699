#include "tests/conformance/random_graphs/new_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/errors.h"
#include "runtime/format/reader.h"
#include "runtime/format/writer.h"
#include "tests/conformance/random_graphs/assemble.h"

namespace hr::random_graphs {
namespace {

constexpr const char* kHashes = "/hashes";

std::string PathOf(const std::string& folder, const std::string& name, const char* ending) {
  return Cat(folder, "/", name, ending);
}

Status Spawn(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
    return Internal("cannot start ", command[0]);
  int state = 0;
  if (waitpid(child, &state, 0) != child || !WIFEXITED(state) || WEXITSTATUS(state) != 0)
    return Internal("the new process ended with state ", state);
  return {};
}

}  // namespace

SavedPrograms::SavedPrograms()
    : folder_(Cat(std::filesystem::temp_directory_path().string(), "/random_graphs.", getpid())) {
  std::filesystem::create_directory(folder_);
}

SavedPrograms::~SavedPrograms() { std::filesystem::remove_all(folder_); }

Status SavedPrograms::Save(const ops::OpRegistry& registry, const std::string& name,
                           const Program& program, uint64_t hash) {
  HR_ASSIGN_OR_RETURN(graph::Module module, Assemble(registry, program));
  HR_RETURN_IF_ERROR(format::WriteModule(module, PathOf(folder_, name, ".hrg")));
  HR_RETURN_IF_ERROR(WriteText(PathOf(folder_, name, ".txt"), program.text()));
  hashes_[name] = hash;
  return {};
}

Result<std::vector<std::string>> SavedPrograms::Differing(std::vector<std::string> command) const {
  command.insert(command.end(), {"--run-saved", folder_});
  HR_RETURN_IF_ERROR(Spawn(std::move(command)));
  std::map<std::string, uint64_t> found;
  std::ifstream file(folder_ + kHashes);
  std::string name;
  for (uint64_t hash = 0; file >> name >> hash;) found[name] = hash;
  std::vector<std::string> out;
  for (const auto& [saved, hash] : hashes_) {
    if (!found.contains(saved) || found[saved] != hash) out.push_back(saved);
  }
  return out;
}

Status RunSaved(const std::string& folder) {
  Judge judge;
  std::ofstream hashes(folder + kHashes);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string name = entry.path().stem().string();
    HR_ASSIGN_OR_RETURN(Program program, ReadProgram(entry.path().string()));
    HR_ASSIGN_OR_RETURN(graph::Module module, format::ReadModule(PathOf(folder, name, ".hrg")));
    HR_ASSIGN_OR_RETURN(uint64_t hash, judge.HashOf(program, std::move(module)));
    hashes << name << " " << hash << "\n";
  }
  return {};
}

}  // namespace hr::random_graphs
