#include "runtime/transform/attribute_text.h"

#include <gtest/gtest.h>

namespace hr::transform {
namespace {

constexpr ops::AttributeDef kAttributes[] = {
    {"i", ops::AttributeKind::kInt},         {"f", ops::AttributeKind::kFloat},
    {"s", ops::AttributeKind::kString},      {"ints", ops::AttributeKind::kInts},
    {"floats", ops::AttributeKind::kFloats}, {"strings", ops::AttributeKind::kStrings},
    {"tensor", ops::AttributeKind::kTensor}, {"graph", ops::AttributeKind::kGraph}};
constexpr ops::OpDef kDef = {.domain = "", .name = "Op", .attributes = kAttributes};

std::vector<graph::Attribute> Parse(std::string_view text) {
  auto parsed = ParseAttributes(kDef, text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.status().ToString();
  return parsed.ok() ? *parsed : std::vector<graph::Attribute>();
}

std::string MessageOf(std::string_view text) {
  return std::string(ParseAttributes(kDef, text).status().message());
}

TEST(ParseAttributes, KindsComeFromTheDefinition) {
  const std::vector<graph::Attribute> expected = {
      {"i", int64_t{-3}},
      {"f", 2.0},
      {"s", std::string("2")},
      {"ints", std::vector<int64_t>{1, -2}},
      {"floats", std::vector<double>{1, -0.5}},
      {"strings", std::vector<std::string>{"a", "", "b"}}};
  EXPECT_EQ(Parse("i=-3 f=2 s=2 ints=1,-2 floats=1,-5e-1 strings=a,,b"), expected);
}

TEST(ParseAttributes, SpacesAndQuotes) {
  EXPECT_TRUE(Parse("").empty());
  EXPECT_TRUE(Parse(" \t\n").empty());
  EXPECT_EQ(Parse("\n i=1\t\tf=2 ").size(), 2u);
  EXPECT_EQ(Parse("s=\"two  words\" i=1"),
            (std::vector<graph::Attribute>{{"s", std::string("two  words")}, {"i", int64_t{1}}}));
  EXPECT_EQ(Parse("s=a=b"), (std::vector<graph::Attribute>{{"s", std::string("a=b")}}));
  EXPECT_EQ(Parse("s="), (std::vector<graph::Attribute>{{"s", std::string()}}));
  EXPECT_EQ(Parse("ints="), (std::vector<graph::Attribute>{{"ints", std::vector<int64_t>()}}));
}

TEST(ParseAttributes, ExtremesOfNumbers) {
  EXPECT_EQ(Parse("i=-9223372036854775808"), (std::vector<graph::Attribute>{{"i", INT64_MIN}}));
  EXPECT_EQ(MessageOf("i=9223372036854775808"), "'i' takes an integer, got '9223372036854775808'");
  EXPECT_EQ(MessageOf("f=1e999"), "'f' takes a number, got '1e999'");
}

TEST(ParseAttributes, RefusesWhatItCannotRead) {
  EXPECT_EQ(MessageOf("i=1.5"), "'i' takes an integer, got '1.5'");
  EXPECT_EQ(MessageOf("i="), "'i' takes an integer, got ''");
  EXPECT_EQ(MessageOf("i=1x"), "'i' takes an integer, got '1x'");
  EXPECT_EQ(MessageOf("ints=1,,2"), "'ints' takes an integer, got ''");
  EXPECT_EQ(MessageOf("floats=1;2"), "'floats' takes a number, got '1;2'");
  EXPECT_EQ(MessageOf("i"), "expected name=value, got 'i'");
  EXPECT_EQ(MessageOf("=1"), "expected name=value, got '=1'");
  EXPECT_EQ(MessageOf("tensor=1"), "'tensor' cannot be written as text");
  EXPECT_EQ(MessageOf("graph=1"), "'graph' cannot be written as text");
  EXPECT_NE(MessageOf("axes=1").find("axes"), std::string::npos);
}

std::string OperatorText(std::string_view text) {
  auto op = ParseOperator(text);
  if (!op.ok()) return std::string(op.status().message());
  return Cat("[", op->domain, "][", op->name, "]", op->version);
}

TEST(ParseOperator, DomainNameAndVersion) {
  EXPECT_EQ(OperatorText("Conv"), "[][Conv]0");
  EXPECT_EQ(OperatorText("Softmax@13"), "[][Softmax]13");
  EXPECT_EQ(OperatorText("headrace.train.SGD"), "[headrace.train][SGD]0");
  EXPECT_EQ(OperatorText("headrace.train.SGD@1"), "[headrace.train][SGD]1");
}

TEST(ParseOperator, RefusesWhatNamesNone) {
  EXPECT_EQ(OperatorText(""), "an operator needs a name");
  EXPECT_EQ(OperatorText("headrace."), "an operator needs a name");
  EXPECT_EQ(OperatorText("@1"), "an operator needs a name");
  EXPECT_EQ(OperatorText("Conv@"), "'operator version' takes an integer, got ''");
  EXPECT_EQ(OperatorText("Conv@0"), "an operator version is at least 1, got 0");
  EXPECT_EQ(OperatorText("Conv@2147483648"), "an operator version is at least 1, got 2147483648");
}

TEST(ParseNamedNumbers, AWordAndItsSettings) {
  const NamedNumbers adam = ParseNamedNumbers(" adam beta1=0.9  epsilon=1e-8").value();
  EXPECT_EQ(adam.name, "adam");
  EXPECT_EQ(adam.numbers,
            (std::vector<std::pair<std::string, double>>{{"beta1", 0.9}, {"epsilon", 1e-8}}));
  EXPECT_EQ(ParseNamedNumbers("").value().name, "");
  EXPECT_EQ(ParseNamedNumbers("sgd momentum").status().message(),
            "expected name=value, got 'momentum'");
  EXPECT_EQ(ParseNamedNumbers("sgd momentum=much").status().message(),
            "'momentum' takes a number, got 'much'");
}

}  // namespace
}  // namespace hr::transform
