#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

OneNode Dft(std::string_view x, int version = 20) {
  OneNode node("DFT", "", version);
  node.In(x);
  return node;
}

TEST(Dft, HasRealAndImaginaryParts) {
  EXPECT_EQ(Dft("float32[n, 10, 1]").Text(), "float32[n, 10, 2]");
  EXPECT_EQ(Dft("float32[n, t, 2]").Text(), "float32[n, t, 2]");
  EXPECT_EQ(Dft("float64[n, 10, 1]").With("onesided", int64_t{1}).Text(), "float64[n, 6, 2]");
  EXPECT_EQ(Dft("float32[n, t, 1]").With("onesided", int64_t{1}).Text(), "float32[n, ?, 2]");
  EXPECT_EQ(Dft("float32").Text(), "float32 of unknown rank");
}

TEST(Dft, LengthAndAxis) {
  EXPECT_EQ(Dft("float32[n, 10, 1]").Ints({7}).Text(), "float32[n, 7, 2]");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("int64[]").Text(), "float32[n, ?, 2]");
  EXPECT_EQ(Dft("float32[n, 10, 4, 1]").Ints({7}).Ints({1}).Text(), "float32[n, 7, 4, 2]");
  EXPECT_EQ(Dft("float32[n, 10, 4, 1]").In("").In("int64[]").Text(), "float32[?, ?, ?, 2]");
  EXPECT_EQ(Dft("float32[n, 10, 4, 1]", 17).Ints({7}).Text(), "float32[n, 7, 4, 2]");
  EXPECT_EQ(Dft("float32[n, 10, 4, 1]", 17).Ints({7}).With("axis", int64_t{2}).Text(),
            "float32[n, 10, 7, 2]");
}

// Half of a spectrum goes back to real numbers.
TEST(Dft, OnesidedInverse) {
  auto inverse = [](OneNode node) {
    return node.With("inverse", int64_t{1}).With("onesided", int64_t{1}).Text();
  };
  EXPECT_EQ(inverse(Dft("float32[n, 6, 2]")), "float32[n, 10, 1]");
  EXPECT_EQ(inverse(Dft("float32[n, 6, 2]").Ints({11})), "float32[n, 11, 1]");
  EXPECT_EQ(inverse(Dft("float32[n, t, 2]")), "float32[n, ?, 1]");
}

TEST(Dft, BadInputs) {
  EXPECT_EQ(Dft("float32[n, 10, 3]").Text(),
            "DFT takes real parts [… 1] or real and imaginary ones [… 2], got input 0 (float32[n, "
            "10, 3])");
  EXPECT_EQ(Dft("float32[2]").Text(), "DFT takes rank 2 or more as input 0, got float32[2]");
  EXPECT_EQ(Dft("int32[n, 10, 1]").Text(),
            "DFT takes float32, float64, float16, bfloat16 as input 0, got int32[n, 10, 1]");
  EXPECT_EQ(Dft("float32[n, 10, 1]").Ints({0}).Text(), "DFT's length is 1 or more, got 0");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("int64[2]").Text(),
            "DFT takes one number as input 1 (int64[2])");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("").In("int64[3]").Text(),
            "DFT takes one number as input 2 (int64[3])");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("").Ints({2}).Text(),
            "DFT's last axis has the real and imaginary parts; its 'axis' is another");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("").Ints({-1}).Text(),
            "DFT's last axis has the real and imaginary parts; its 'axis' is another");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("float32[]").Text(),
            "DFT takes int64, int32 as input 1, got float32[]");
  EXPECT_EQ(Dft("float32[n, 1, 2]").With("inverse", int64_t{1}).With("onesided", int64_t{1}).Text(),
            "DFT needs a length to go back from 1 bins");
  EXPECT_EQ(Dft("float32[n, 10, 1]").Ints({2, 3}).Text(),
            "DFT takes one number as input 1 (int64[2])");
  EXPECT_EQ(Dft("float32[n, 10, 1]").Ints({}).Text(), "DFT takes one number as input 1 (int64[0])");
}

TEST(Dft, SaysWhatItHasToKnow) {
  EXPECT_EQ(Dft("float32[n, 10, ?]").Composition(),
            "FAILED_PRECONDITION: needs to know whether the last axis is 1 or 2 (node 'DFT')");
  EXPECT_EQ(Dft("float32[n, 10, 1]").In("").In("int64[]").Composition(),
            "UNIMPLEMENTED: its axis depends on data; give it as a constant (node 'DFT')");
}

// Nothing is cut or padded if there is no length.
TEST(Dft, ComposesWithoutCopies) {
  EXPECT_EQ(Dft("float32[n, 10, 2]").Composition(), "FourierTransform");
  EXPECT_EQ(Dft("float32[n, t, 2]").Composition(), "Shape FourierTransform");
  EXPECT_EQ(Dft("float32[n, 10, 2]").Ints({10}).Composition(), "FourierTransform");
}

OneNode Stft(std::string_view x) {
  OneNode node("STFT");
  node.In(x);
  return node;
}

TEST(Stft, CountsFrames) {
  EXPECT_EQ(Stft("float32[n, 100, 1]").Ints({8}).In("float32[16]").Text(), "float32[n, 11, 9, 2]");
  EXPECT_EQ(Stft("float32[n, 100]").Ints({8}).In("").Ints({16}).Text(), "float32[n, 11, 9, 2]");
  EXPECT_EQ(
      Stft("float32[n, 100, 2]").Ints({8}).In("float32[16]").With("onesided", int64_t{0}).Text(),
      "float32[n, 11, 16, 2]");
  EXPECT_EQ(Stft("float32[n, t, 1]").Ints({8}).In("float32[16]").Text(), "float32[n, ?, 9, 2]");
  EXPECT_EQ(Stft("float32[n, 100, 1]").In("int64[]").In("float32[w]").Text(),
            "float32[n, ?, ?, 2]");
}

TEST(Stft, BadInputs) {
  EXPECT_EQ(Stft("float32[n, 10, 1]").Ints({8}).Text(),
            "STFT needs a window or the length of a frame");
  EXPECT_EQ(Stft("float32[n, 10, 1]").Ints({0}).In("float32[4]").Text(),
            "STFT's step is 1 or more, got 0");
  EXPECT_EQ(Stft("float32[n, 10, 1]").Ints({2}).In("float32[11]").Text(),
            "STFT's frames of 11 do not fit input 0 (float32[n, 10, 1])");
  EXPECT_EQ(Stft("float32[10]").Ints({2}).In("float32[4]").Text(),
            "STFT takes rank 3 as input 0, got float32[10]");
  EXPECT_EQ(Stft("float32[n, 10, 1]").Ints({2}).In("float32[4]").Ints({5}).Text(),
            "STFT: the lengths of window and frame differ: 4 and 5");
  EXPECT_EQ(Stft("float32[n, 10, 1]").Ints({2}).In("float32[4, 1]").Text(),
            "STFT takes rank 1 as input 2, got float32[4, 1]");
}

TEST(Windows, AreFloatingPointNumbers) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    EXPECT_EQ(OneNode(op).Ints({10}).Text(), "float32[10]");
    EXPECT_EQ(OneNode(op).In("int64[]").Text(), "float32[?]");
    EXPECT_EQ(OneNode(op).Ints({10}).With("output_datatype", int64_t{11}).Text(), "float64[10]");
    EXPECT_EQ(OneNode(op).Ints({10}).With("output_datatype", int64_t{7}).Text(),
              Cat(op, " gives floating-point numbers here, asked for int64"));
    EXPECT_EQ(OneNode(op).Ints({-1}).Text(), Cat(op, "'s size is 0 or more, got -1"));
    EXPECT_EQ(OneNode(op).Ints({2, 3}).Text(), Cat(op, " takes one number as input 0 (int64[2])"));
  }
}

TEST(Mel, BinsByBands) {
  auto mel = [](OneNode node, int64_t type) {
    return node.In("int64[]").In("float32[]").In("float32[]").With("output_datatype", type).Text();
  };
  EXPECT_EQ(mel(OneNode("MelWeightMatrix").Ints({8}).Ints({17}), 11), "float64[9, 8]");
  EXPECT_EQ(mel(OneNode("MelWeightMatrix").In("int64[]").In("int64[]"), 1), "float32[?, ?]");
  EXPECT_EQ(mel(OneNode("MelWeightMatrix").Ints({0}).Ints({17}), 1),
            "MelWeightMatrix's number of bands is 1 or more, got 0");
  EXPECT_EQ(mel(OneNode("MelWeightMatrix").Ints({8}).Ints({0}), 1),
            "MelWeightMatrix's length is 1 or more, got 0");
}

}  // namespace
}  // namespace hr::ops
