// headrace verify: whether files and checkpoints are whole.
#include <filesystem>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kVerifyDescription[] =
    "Verifies graph files (structure, meaning, checksums of the tensors) and checkpoints";
constexpr char kVerifyFooter[] =
    "One line for each file and each checkpoint says what it is, or precisely what is wrong with "
    "it. An intact file may have operators that this build does not have; the line says "
    "so.\n"
    "Exit status: 0 all are intact, 1 at least one is not, 2 the command line is invalid.\n\n"
    "Example:\n"
    "  headrace verify lenet.hrg out/checkpoints";

struct VerifyOptions {
  std::vector<std::string> paths;
  bool json = false;
};

struct FileVerdict {
  std::string path;
  std::string kind;
  std::string error;        // empty: whole
  std::string summary;      // of what is whole
  std::string unsupported;  // why this build cannot run it
};

bool HasAllChecksums(const Json& file) {
  for (const Json& segment : file["segments"]) {
    if (!segment["checksum"].get<bool>()) return false;
  }
  return file["structure_checksum"];
}

// The library's sentence without the path before it, which stands in the line already.
std::string WithoutPath(const std::string& sentence, const std::string& path) {
  std::string start = "'" + path + "': ";
  return sentence.starts_with(start) ? sentence.substr(start.size()) : sentence;
}

// What only this build lacks, such as an operator or an attribute, is no fault of a file that can
// be inspected: `unsupported` says it.
hr::Model Load(const hr::Env& env, const std::string& path, hr_load_options options,
               std::string* unsupported) {
  std::string why;
  try {
    return hr::Model::load(env, path, &options);
  } catch (const hr::Error& error) {
    why = WithoutPath(error.message(), path);
  }
  options.inspect_only = 1;
  hr::Model model = hr::Model::load(env, path, &options);
  *unsupported = why;
  return model;
}

FileVerdict VerifyFile(const hr::Env& env, const std::string& path) {
  FileVerdict verdict{.path = path, .kind = "graph"};
  try {
    Json file = Described(hr_model_file_describe, path.c_str());
    auto options = Sized<hr_load_options>();
    bool checksums = HasAllChecksums(file);
    options.verify_checksums = checksums ? 1 : 0;
    hr::Model model = Load(env, path, options, &verdict.unsupported);
    Json described = Described(hr_model_describe, model.get());
    verdict.summary = "graph file, format " + file["format"].get<std::string>() + ", " +
                      CountText(described["signatures"].size(), "signature") + ", " +
                      CountText(described["nodes"], "node") + ", " +
                      BytesText(described["constants"]["bytes"]) + " of tensors, checksums " +
                      (checksums ? "right" : "absent, so the tensors' bytes are unverified");
    if (!verdict.unsupported.empty())
      verdict.summary += "; this build cannot run it: " + verdict.unsupported;
  } catch (const hr::Error& error) {
    verdict.error = WithoutPath(error.message(), path);
  }
  return verdict;
}

void VerifyCheckpoints(const std::string& path, std::vector<FileVerdict>* verdicts) {
  try {
    for (const Json& checkpoint : Described(hr_checkpoint_describe, path.c_str())) {
      FileVerdict& verdict = verdicts->emplace_back();
      verdict = {.path = checkpoint["path"], .kind = "checkpoint"};
      if (checkpoint["whole"].get<bool>()) {
        verdict.summary = "checkpoint of step " + checkpoint["step"].dump() + ", " +
                          CountText(checkpoint["tensors"].size(), "tensor") + ", checksums right";
      } else {
        verdict.error = checkpoint["error"];
      }
    }
  } catch (const hr::Error& error) {
    verdicts->push_back({.path = path, .kind = "checkpoint", .error = error.message()});
  }
}

Json ToJson(const std::vector<FileVerdict>& verdicts) {
  Json out = Json::array();
  for (const FileVerdict& verdict : verdicts) {
    bool whole = verdict.error.empty();
    out.push_back({{"path", verdict.path},
                   {"kind", verdict.kind},
                   {"whole", whole},
                   {whole ? "summary" : "error", whole ? verdict.summary : verdict.error}});
    if (whole && !verdict.unsupported.empty()) out.back()["unsupported"] = verdict.unsupported;
  }
  return out;
}

int Verify(const VerifyOptions& options) {
  hr::Env env;
  std::vector<FileVerdict> verdicts;
  for (const std::string& path : options.paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      VerifyCheckpoints(path, &verdicts);
    } else {
      verdicts.push_back(VerifyFile(env, path));
    }
  }
  bool all = true;
  for (const FileVerdict& verdict : verdicts) {
    bool whole = verdict.error.empty();
    all &= whole;
    if (options.json) continue;
    Print("%s %s: %s\n", whole ? "ok    " : "BROKEN", verdict.path.c_str(),
          whole ? verdict.summary.c_str() : verdict.error.c_str());
  }
  if (options.json) WriteJson("-", ToJson(verdicts));
  return all ? kOk : kFailure;
}

}  // namespace

Command AddVerify(CLI::App& program) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* app = AddCommand(program, "verify", kVerifyDescription, kVerifyFooter);
  AddWords(app, "PATH", options->paths, "graph files, checkpoints, folders of checkpoints");
  AddFlag(app, "--json", options->json, "print a JSON list instead of lines");
  return {app, [options] { return Verify(*options); }};
}

}  // namespace headrace::tool
