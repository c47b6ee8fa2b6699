// Rows of tables in fewer bits have every bit that they have where the whole table is widened.
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

class NarrowTables : public QuantizedChains {
 protected:
  // Some rows of a table, by indices from either end.
  ValueId Rows(ValueId table, int64_t rows, int64_t axis = 0) {
    const Dims dims = Chance() ? Dims{Between(1, 9), Between(1, 40)} : Dims{};
    return Apply("Gather", {table, Bytes<int64_t>(dims, -rows, rows - 1)}, {{"axis", axis}});
  }
  ValueId Scales(const Dims& dims) { return Constant(dims, 0.002, 0.01); }
};

TEST_F(NarrowTables, OfBytes) {
  for (int round = 0; round < 30 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t rows = Between(2, 30);
    const Dims dims = Chance() ? Dims{rows, Between(1, 70)} : Dims{rows, 3, 5};
    const Dims each = Chance() ? Dims{rows} : Dims{};
    const bool is_signed = Chance();
    const ValueId numbers =
        is_signed ? Bytes<int8_t>(dims, -128, 127) : Bytes<uint8_t>(dims, 0, 255);
    const ValueId zero = Chance()    ? graph::kNone
                         : is_signed ? Bytes<int8_t>(each, -128, 127)
                                     : Bytes<uint8_t>(each, 0, 255);
    const int64_t axis = Chance() ? 0 : -static_cast<int64_t>(dims.size());
    const ValueId table =
        Apply("DequantizeLinear", {numbers, Scales(each), zero}, {{"axis", axis}});
    Check(Rows(table, rows, axis), 0, "gather_widened", "\"dequantize\"");
  }
}

TEST_F(NarrowTables, OfHalves) {
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round, Reset())
    Check(Rows(Short({20, Between(1, 70)}), 20), 0, "gather_widened", "cast");
}

// A product takes the table itself, and what follows the rows takes these.
TEST_F(NarrowTables, ThatAProductTakesToo) {
  const ValueId table = Apply("DequantizeLinear", {Bytes<int8_t>({9, 6}, -127, 127), Scales({9})},
                              {{"axis", int64_t{0}}});
  const ValueId rows = Apply("Gather", {table, Bytes<int64_t>({4}, 0, 8)});
  Check(Apply("Gemm", {rows, table}, {{"transB", int64_t{1}}}), 1e-4, "gemm_of_narrow",
        "\"dequantize\"");
  EXPECT_NE(described_.find("gather_widened"), std::string::npos) << described_;
}

TEST_F(NarrowTables, ScalesOfColumnsAreNone) {
  const ValueId table = Apply("DequantizeLinear", {Bytes<int8_t>({9, 6}, -127, 127), Scales({6})},
                              {{"axis", int64_t{1}}});
  Check(Rows(table, 9), 0, "\"gather\"", "gather_widened");
}

TEST_F(NarrowTables, ColumnsAreNone) {
  Check(Rows(Short({9, 6}), 6, 1), 0, "\"gather\"", "gather_widened");
}

}  // namespace
}  // namespace hr::lowering
