// Where does somebody speak? Asks Silero's voice activity detector (MIT license, from its package)
// about each 32 ms of a sound file; its state goes from one call to the next.
//
//   voice --model MODEL.hrg [--json] FILE.wav...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <headrace/headrace.hpp>

#include "wav.h"

namespace {

constexpr int kRate = 16000;
constexpr size_t kChunk = 512, kContext = 64;
// Speech begins above the first, and ends below the second for kSilence chunks.
constexpr float kBegins = 0.5f, kEnds = 0.35f;
constexpr size_t kSilence = 4, kShortest = 8;

const char kUsage[] =
    "usage: voice --model MODEL.hrg [--json] FILE.wav...\n"
    "samples/voice/run gets the model, and calls it with that.\n";

struct Options {
  std::string model;
  bool json = false;
  std::vector<std::string> files;
};

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (argument == "--json") {
      out.json = true;
    } else if (argument == "--model") {
      if (++i == argc) throw std::invalid_argument("--model expects a file, got nothing");
      out.model = argv[i];
    } else if (argument.rfind("--", 0) == 0) {
      throw std::invalid_argument("unknown option '" + argument + "'");
    } else {
      out.files.push_back(argument);
    }
  }
  if (out.model.empty() || out.files.empty()) {
    throw std::invalid_argument("a model and at least one sound file are needed");
  }
  return out;
}

// The detector and what it remembers of one sound.
class Detector {
 public:
  Detector(const hr::Env& env, const hr::Session& session)
      : call_(session, "infer"),
        input_(env, HR_FLOAT32, {1, static_cast<int64_t>(kContext + kChunk)}),
        state_(env, HR_FLOAT32, {2, 1, 128}),
        rate_(env, HR_INT64, {}) {
    std::memset(hr_tensor_data(input_.get()), 0, input_.bytes());
    std::memset(hr_tensor_data(state_.get()), 0, state_.bytes());
    *rate_.data<int64_t>() = kRate;
    call_.bind("input", input_).bind("state", state_).bind("sr", rate_);
  }

  // The chance that the next chunk is speech. A chunk is seen with the end of the one before.
  float next(const float* chunk) {
    float* data = input_.data<float>();
    std::copy_n(data + kChunk, kContext, data);
    std::copy_n(chunk, kChunk, data + kContext);
    call_.run();
    const hr::Tensor state = call_.result("stateN");
    std::copy_n(state.data<float>(), state_.elements(), state_.data<float>());
    return *call_.result("output").data<float>();
  }

 private:
  hr::Call call_;
  hr::Tensor input_, state_, rate_;
};

std::vector<float> chances_of(const hr::Env& env, const hr::Session& session, Sound sound) {
  sound = resampled(sound, kRate);
  sound.samples.resize((sound.samples.size() + kChunk - 1) / kChunk * kChunk);
  Detector detector(env, session);
  std::vector<float> out;
  for (size_t at = 0; at < sound.samples.size(); at += kChunk) {
    out.push_back(detector.next(sound.samples.data() + at));
  }
  return out;
}

struct Part {
  size_t begin, end;  // chunks
};

std::vector<Part> speech(const std::vector<float>& chances) {
  std::vector<Part> out;
  size_t quiet = kSilence;
  for (size_t i = 0; i < chances.size(); ++i) {
    const bool speaking = quiet < kSilence;
    if (chances[i] >= kBegins) {
      if (!speaking) out.push_back({i, i + 1});
      quiet = 0;
    } else if (chances[i] < kEnds) {
      ++quiet;
    }
    if (speaking && quiet == 0) out.back().end = i + 1;
  }
  out.erase(std::remove_if(out.begin(), out.end(),
                           [](const Part& part) { return part.end - part.begin < kShortest; }),
            out.end());
  return out;
}

double seconds(size_t chunks) { return static_cast<double>(chunks * kChunk) / kRate; }

void print(const Options& options, const std::string& path, const std::vector<float>& chances) {
  const std::vector<Part> parts = speech(chances);
  if (!options.json) {
    std::printf("%s: %.2f s", path.c_str(), seconds(chances.size()));
    if (parts.empty()) std::printf(", nobody speaks");
    for (const Part& part : parts) {
      std::printf(", speech from %.2f to %.2f s", seconds(part.begin), seconds(part.end));
    }
    std::printf("\n");
    return;
  }
  std::printf("{\"speech\":[");
  for (size_t i = 0; i < parts.size(); ++i) {
    std::printf("%s[%.3f,%.3f]", i == 0 ? "" : ",", seconds(parts[i].begin), seconds(parts[i].end));
  }
  std::printf("],\"chances\":[");
  for (size_t i = 0; i < chances.size(); ++i) std::printf("%s%.7g", i == 0 ? "" : ",", chances[i]);
  std::printf("]}\n");
}

void run(const Options& options) {
  const hr::Env env;
  const hr::Session session(hr::Model::load(env, options.model));
  for (const std::string& path : options.files) {
    print(options, path, chances_of(env, session, read_wav(path)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "voice: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "voice: %s\n", error.what());
    return 1;
  }
}
