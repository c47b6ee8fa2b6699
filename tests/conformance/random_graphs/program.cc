#include "tests/conformance/random_graphs/program.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/base/errors.h"
#include "tests/conformance/random_graphs/rng.h"

namespace hr::random_graphs {
namespace {

constexpr const char* kKinds[] = {"input", "constant", "variable", "node", "gradient"};

std::string NumberText(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

template <typename List, typename F>
std::string Joined(const List& list, const char* separator, F text) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : separator) + text(item);
  return out;
}

std::string Names(const std::vector<std::string>& names) {
  return Joined(names, " ", [](const std::string& name) { return name; });
}

std::string DataText(const Data& data) {
  std::string out =
      Cat(DTypeName(data.dtype), " [",
          Joined(data.dims, ",", [](int64_t d) { return std::to_string(d); }), "] ", data.kind);
  if (data.kind != "values")
    return Cat(out, " ", NumberText(data.low), " ", NumberText(data.high), " ", data.seed);
  for (double value : data.values) out += " " + NumberText(value);
  return out;
}

std::string AttributeText(const NamedAttribute& attribute) {
  std::string out = attribute.name + "=";
  if (!attribute.reference.empty()) return out + attribute.reference;
  const auto& value = attribute.value;
  const auto integer = [](int64_t i) { return std::to_string(i); };
  if (const auto* i = std::get_if<int64_t>(&value)) return out + "i:" + integer(*i);
  if (const auto* f = std::get_if<double>(&value)) return out + "f:" + NumberText(*f);
  if (const auto* s = std::get_if<std::string>(&value)) return out + "s:" + *s;
  if (const auto* n = std::get_if<std::vector<int64_t>>(&value))
    return out + "n:" + Joined(*n, ",", integer);
  if (const auto* t = std::get_if<std::vector<std::string>>(&value))
    return out + "t:" + Joined(*t, ",", [](const std::string& text) { return text; });
  return out + "r:" + Joined(std::get<std::vector<double>>(value), ",", NumberText);
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) out.push_back(part);
  return out;
}

Result<NamedAttribute> ParseAttribute(const std::string& word) {
  size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 2 >= word.size())
    return InvalidArgument("no attribute: ", word);
  NamedAttribute out{.name = word.substr(0, equals)};
  const std::string rest = word.substr(equals + 1);
  const std::string value = rest.size() > 2 ? rest.substr(2) : "";
  std::vector<int64_t> integers;
  std::vector<double> floats;
  for (const std::string& part : Split(value, ',')) {
    integers.push_back(std::strtoll(part.c_str(), nullptr, 10));
    floats.push_back(std::strtod(part.c_str(), nullptr));
  }
  switch (rest[0]) {
    case '@':
    case '%': out.reference = rest; break;
    case 'i': out.value = integers.at(0); break;
    case 'f': out.value = floats.at(0); break;
    case 's': out.value = value; break;
    case 'n': out.value = integers; break;
    case 'r': out.value = floats; break;
    case 't': out.value = Split(value, ','); break;
    default: return InvalidArgument("no attribute: ", word);
  }
  return out;
}

Result<Data> ParseData(std::istringstream& line) {
  Data out;
  std::string type, rest;
  line >> type;
  std::getline(line, rest, '[');
  std::getline(line, rest, ']');
  auto dtype = DTypeFromName(type);
  if (!dtype) return InvalidArgument("no element type: ", type);
  out.dtype = *dtype;
  for (const std::string& d : Split(rest, ','))
    out.dims.push_back(std::strtoll(d.c_str(), nullptr, 10));
  line >> out.kind;
  if (out.kind != "values") {
    line >> out.low >> out.high >> out.seed;
  } else {
    for (std::string word; line >> word;) out.values.push_back(std::strtod(word.c_str(), nullptr));
    if (static_cast<int64_t>(out.values.size()) != ElementCount(out.dims))
      return InvalidArgument("a leaf of ", ShapeText(out.dims), " has ", out.values.size(),
                             " values");
  }
  return out;
}

void ParseOperator(const std::string& word, Statement& out) {
  size_t dot = word.rfind('.');
  out.domain = dot == std::string::npos ? "" : word.substr(0, dot);
  out.op = dot == std::string::npos ? word : word.substr(dot + 1);
}

Result<Statement> ParseStatement(Statement::Kind kind, std::istringstream& line) {
  Statement out{.kind = kind};
  std::string word;
  if (out.leaf()) {
    line >> word;
    out.results = {word};
    HR_ASSIGN_OR_RETURN(out.data, ParseData(line));
    return out;
  }
  while (line >> word && word != "=") out.results.push_back(word);
  line >> word;
  if (kind == Statement::Kind::kGradient) {
    out.of = word;
    line >> word;  // by
  } else {
    ParseOperator(word, out);
    line >> out.version;
  }
  while (line >> word && word != "|") out.operands.push_back(word);
  while (line >> word) {
    HR_ASSIGN_OR_RETURN(NamedAttribute attribute, ParseAttribute(word));
    out.attributes.push_back(std::move(attribute));
  }
  return out;
}

Status ParseLine(const std::string& text, Program& out) {
  std::istringstream line(text);
  std::string word;
  if (!(line >> word) || word[0] == '#') return {};
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (word != kKinds[i]) continue;
    HR_ASSIGN_OR_RETURN(Statement statement, ParseStatement(static_cast<Statement::Kind>(i), line));
    out.statements.push_back(std::move(statement));
    return {};
  }
  if (word == "fetch") {
    while (line >> word) out.fetches.push_back(word);
  } else if (word == "refused") {
    out.refused = true;
  } else if (word == "steps") {
    line >> out.steps;
  } else if (word == "batch") {
    line >> out.batch >> word >> out.bound;
  } else {
    return InvalidArgument("not a statement: ", text);
  }
  return {};
}

// A number in [0, 1) with 20 bits, so that every product below is exact.
double Fraction(uint64_t bits) { return static_cast<double>(bits >> 44) * 0x1p-20; }

}  // namespace

Tensor Data::Make() const {
  reference::Array out(dtype, dims);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t bits = Draw(seed, i);
    if (kind == "values") {
      out.data[i] = values[i];
    } else if (kind == "integers") {
      out.data[i] = low + static_cast<double>(bits % static_cast<uint64_t>(high - low + 1));
    } else {
      out.data[i] = low + (high - low) * Fraction(bits);
    }
  }
  return reference::ToTensor(out);
}

std::string Statement::text() const {
  const std::string head = kKinds[static_cast<size_t>(kind)];
  if (leaf()) return Cat(head, " ", results[0], " ", DataText(data));
  std::string out = head + " " + Names(results) + (results.empty() ? "= " : " = ");
  if (kind == Kind::kGradient) return Cat(out, of, " by ", Names(operands));
  out += Cat(domain, domain.empty() ? "" : ".", op, " ", version);
  if (!operands.empty()) out += " " + Names(operands);
  if (!attributes.empty()) out += " | " + Joined(attributes, " ", AttributeText);
  return out;
}

std::string Program::text() const {
  std::string out;
  for (const Statement& statement : statements) out += statement.text() + "\n";
  out += Cat("fetch ", Names(fetches), "\n");
  if (steps != 1) out += Cat("steps ", steps, "\n");
  if (batch != 0) out += Cat("batch ", batch, " bound ", bound, "\n");
  if (refused) out += "refused\n";
  return out;
}

Result<Program> Program::Parse(const std::string& text) {
  Program out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) HR_RETURN_IF_ERROR(ParseLine(line, out));
  return out;
}

void Program::Prune() {
  std::set<std::string> needed(fetches.begin(), fetches.end());
  std::vector<Statement> kept;
  for (auto it = statements.rbegin(); it != statements.rend(); ++it) {
    bool used = it->effect();
    for (const std::string& result : it->results) used = used || needed.contains(result);
    if (!used) continue;
    needed.insert(it->operands.begin(), it->operands.end());
    needed.insert(it->of);
    for (const NamedAttribute& attribute : it->attributes) {
      if (!attribute.reference.empty()) needed.insert(attribute.reference.substr(1));
    }
    kept.push_back(std::move(*it));
  }
  statements.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

bool Program::random() const {
  for (const Statement& s : statements) {
    if (s.op.starts_with("Random") || s.op == "Bernoulli" || s.op == "Multinomial" ||
        s.op == "Dropout")
      return true;
  }
  return false;
}

bool Program::stateful() const {
  for (const Statement& s : statements) {
    if (s.effect()) return true;
  }
  return random();
}

Result<Program> ReadProgram(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound("cannot read ", path);
  std::stringstream text;
  text << file.rdbuf();
  return Program::Parse(text.str());
}

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? Status() : Internal("cannot write ", path);
}

}  // namespace hr::random_graphs
