#include "runtime/train/proto_writer.h"

#include <gtest/gtest.h>

namespace hr::train {
namespace {

using namespace std::string_literals;

// Expected bytes as in protobuf's documentation of the encoding.
TEST(ProtoWriter, EncodesEachWireType) {
  EXPECT_EQ(ProtoWriter().Int(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(ProtoWriter().Int(1, 0).bytes(), "\x08\0"s);
  EXPECT_EQ(ProtoWriter().Int(1, -2).bytes(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(ProtoWriter().String(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtoWriter().Float(2, 1.0f).bytes(), "\x15\0\0\x80\x3f"s);
  EXPECT_EQ(ProtoWriter().Double(1, 1.0).bytes(), "\x09\0\0\0\0\0\0\xf0\x3f"s);
  EXPECT_EQ(ProtoWriter().Message(3, ProtoWriter().Int(1, 150)).bytes(), "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(ProtoWriter().Int(16, 1).bytes(), "\x80\x01\x01");
}

}  // namespace
}  // namespace hr::train
