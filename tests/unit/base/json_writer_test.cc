#include "runtime/base/json_writer.h"

#include <gtest/gtest.h>

namespace hr {
namespace {

TEST(JsonWriter, CommasAndNesting) {
  JsonWriter json;
  json.BeginObject().Field("a", 1).Key("b").BeginArray().Value(true).Null().EndArray();
  json.Field("c", 0.5).EndObject();
  EXPECT_EQ(json.Take(), R"({"a":1,"b":[true,null],"c":0.5})");
}

TEST(JsonWriter, EscapesWhatJsonForbids) {
  JsonWriter json;
  json.Value(std::string_view("q\" b\\ n\n t\t zero\0 é", 20));
  EXPECT_EQ(json.Take(), R"("q\" b\\ n\n t\u0009 zero\u0000 é")");
}

TEST(JsonWriter, BytesThatAreNoTextBecomeTheReplacementCharacter) {
  JsonWriter json;
  json.Value(std::string_view("a\xff\xc3(\xe2\x82"));
  EXPECT_EQ(json.Take(), R"("a\ufffd\ufffd(\ufffd\ufffd")");
}

}  // namespace
}  // namespace hr
