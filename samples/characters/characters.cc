// A small transformer learns a text, character by character, and writes on from a few words. By
// default the text is the project's license.
//
//   characters [--text FILE] [--steps N] [--prompt WORDS] [--length N] [--temperature T] [--seed N]
//              [--save FILE]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>

#include "model.h"

namespace {

constexpr int64_t kBatch = 16;
constexpr double kRate = 3e-3;

struct Options {
  std::string text = CHARACTERS_TEXT;
  std::string prompt = "The License ";
  std::string save;
  int steps = 600, length = 300;
  unsigned seed = 7;
  double temperature = 0.5;
};

void usage(FILE* to) {
  std::fputs(
      "usage: characters [--text FILE] [--steps N] [--prompt WORDS] [--length N]\n"
      "                  [--temperature T] [--seed N] [--save FILE]\n\n"
      "  --text FILE      what to learn (default: the license of the project)\n"
      "  --steps N        steps of training (default 600)\n"
      "  --prompt WORDS   what to go on from\n"
      "  --length N       characters to write (default 300)\n"
      "  --temperature T  0: always the most likely character; 1: as likely as they are (0.5)\n"
      "  --seed N         of all random numbers (default 7)\n"
      "  --save FILE      also save what was learnt, such as characters.hrg\n",
      to);
}

double number(const std::string& option, const std::string& text, double least) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(value >= least)) {
    throw std::invalid_argument(option + " expects a number of at least " +
                                std::to_string(static_cast<int>(least)) + ", got '" + text + "'");
  }
  return value;
}

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--help") {
      usage(stdout);
      std::exit(0);
    }
    if (i + 1 == argc) throw std::invalid_argument(option + " expects a value, got nothing");
    const std::string value = argv[i + 1];
    if (option == "--text") {
      out.text = value;
    } else if (option == "--prompt") {
      out.prompt = value;
    } else if (option == "--save") {
      out.save = value;
    } else if (option == "--steps") {
      out.steps = static_cast<int>(number(option, value, 1));
    } else if (option == "--length") {
      out.length = static_cast<int>(number(option, value, 0));
    } else if (option == "--seed") {
      out.seed = static_cast<unsigned>(number(option, value, 0));
    } else if (option == "--temperature") {
      out.temperature = number(option, value, 0);
    } else {
      throw std::invalid_argument("unknown option '" + option + "'");
    }
  }
  return out;
}

// The different bytes of a text, as numbers from 0.
class Vocabulary {
 public:
  explicit Vocabulary(const std::string& text) : bytes_(text) {
    std::sort(bytes_.begin(), bytes_.end());
    bytes_.erase(std::unique(bytes_.begin(), bytes_.end()), bytes_.end());
  }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  char byte(size_t token) const { return bytes_[token]; }
  std::vector<int64_t> tokens(const std::string& text) const {
    std::vector<int64_t> out;
    for (char c : text) {
      const size_t at = bytes_.find(c);
      if (at == std::string::npos) {
        char byte[8];
        std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(c));
        throw std::invalid_argument(std::string("the prompt has a character (byte ") + byte +
                                    ") that the text does not have");
      }
      out.push_back(static_cast<int64_t>(at));
    }
    return out;
  }

 private:
  std::string bytes_;
};

// Indentation says little: a run of spaces is one space, or the line break that it holds.
std::string with_short_gaps(const std::string& text) {
  std::string out;
  for (char c : text) {
    const bool gap = c == ' ' || c == '\n';
    const bool before = !out.empty() && (out.back() == ' ' || out.back() == '\n');
    if (!gap || !before) {
      out += c;
    } else if (c == '\n') {
      out.back() = c;
    }
  }
  return out;
}

std::string read(const std::string& path, int64_t context) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  const std::string text = with_short_gaps({std::istreambuf_iterator<char>(file), {}});
  if (static_cast<int64_t>(text.size()) <= context + 1) {
    throw std::runtime_error("'" + path + "' is too short: " + std::to_string(text.size()) +
                             " characters, at least " + std::to_string(context + 2) +
                             " are needed");
  }
  return text;
}

// Rises at first, then falls along a cosine.
double rate_at(int step, int steps) {
  const double warm = std::min(1.0, (step + 1) / (0.05 * steps + 1));
  return kRate * warm * (0.55 + 0.45 * std::cos(3.14159265 * step / steps));
}

void train(hr::Session& session, const std::vector<int64_t>& text, int64_t context,
           const Options& options) {
  std::mt19937 random(options.seed);
  const std::vector<int64_t> dims = {kBatch, context};
  std::vector<int64_t> tokens(static_cast<size_t>(kBatch * context)), targets(tokens.size());
  float loss = 0;
  hr::Call step(session, "train");
  step.bind("tokens", hr::Tensor::wrap(HR_INT64, dims, tokens.data(), tokens.size() * 8));
  step.bind("targets", hr::Tensor::wrap(HR_INT64, dims, targets.data(), targets.size() * 8));
  step.output("loss", &loss, sizeof loss);
  const auto window = static_cast<size_t>(context);
  for (int i = 0; i < options.steps; ++i) {
    for (size_t row = 0; row < static_cast<size_t>(kBatch); ++row) {
      const size_t at = random() % (text.size() - window);
      std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), window,
                  tokens.begin() + static_cast<std::ptrdiff_t>(row * window));
      std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at + 1), window,
                  targets.begin() + static_cast<std::ptrdiff_t>(row * window));
    }
    step.bind("rate", rate_at(i, options.steps));
    step.run();
    if (i % 50 == 0 || i + 1 == options.steps) std::printf("step %d: loss %.3f\n", i + 1, loss);
    std::fflush(stdout);
  }
}

// A token, drawn by the scores of all.
size_t draw(const float* scores, size_t count, double temperature, std::mt19937& random) {
  const size_t best = static_cast<size_t>(std::max_element(scores, scores + count) - scores);
  if (temperature == 0) return best;
  std::vector<double> chances;
  for (size_t i = 0; i < count; ++i) {
    chances.push_back(std::exp((scores[i] - scores[best]) / temperature));
  }
  double left = std::accumulate(chances.begin(), chances.end(), 0.0) *
                (static_cast<double>(random()) / 4294967296.0);
  for (size_t i = 0; i < count; ++i) {
    if ((left -= chances[i]) < 0) return i;
  }
  return best;
}

std::string write(const hr::Session& session, const Vocabulary& vocabulary, int64_t context,
                  const Options& options) {
  std::mt19937 random(options.seed);
  std::vector<int64_t> tokens = vocabulary.tokens(options.prompt);
  if (tokens.empty()) throw std::invalid_argument("--prompt expects at least one character");
  std::string out = options.prompt;
  hr::Call next(session, "next");
  const auto count = static_cast<size_t>(vocabulary.size());
  for (int i = 0; i < options.length; ++i) {
    const int64_t seen = std::min<int64_t>(context, static_cast<int64_t>(tokens.size()));
    int64_t* first = tokens.data() + tokens.size() - static_cast<size_t>(seen);
    next.bind("tokens",
              hr::Tensor::wrap(HR_INT64, {1, seen}, first, static_cast<size_t>(seen) * 8));
    next.run();
    const hr::Tensor scores = next.result("scores");
    const float* last = scores.data<float>() + static_cast<size_t>(seen - 1) * count;
    const size_t token = draw(last, count, options.temperature, random);
    tokens.push_back(static_cast<int64_t>(token));
    out += vocabulary.byte(token);
  }
  return out;
}

void run(const Options& options) {
  Sizes sizes{};
  const std::string text = read(options.text, sizes.context);
  const Vocabulary vocabulary(text);
  sizes.vocabulary = vocabulary.size();
  vocabulary.tokens(options.prompt);  // before the time is spent
  const hr::Env env;
  const hr::Model model(make_model(env, sizes));
  hr::Session session(model, options.seed);
  std::printf("learning %zu characters, %lld of them different\n", text.size(),
              static_cast<long long>(sizes.vocabulary));
  train(session, vocabulary.tokens(text), sizes.context, options);
  if (!options.save.empty()) session.save_model(options.save, {"next"});
  std::printf("\n%s\n", write(session, vocabulary, sizes.context, options).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "characters: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "characters: %s\n", error.what());
    return 1;
  }
}
