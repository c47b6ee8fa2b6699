// Products of float32 on a matrix unit that multiplies bfloat16 (AMX): each number is the sum of
// three of bfloat16 (a0 + a1 + a2, exactly: 24 bits), and of their nine products six are added,
//
//   a b = a0 b0 + (a0 b1 + a1 b0) + (a1 b1 + a0 b2 + a2 b0)
//
// after Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations" (2019). What is left out is at most 2^-23 of a product, and 2^-27
// on average. Products are exact, sums of 32 are made before they are added to others, and those of
// 384 before these are, so that errors are smaller than those of a chain of multiply-adds.
//
// The unit takes operands below 2^-126 for zeros, also parts, and makes zeros of such products, and
// parts of products that overflow would be infinities of both signs. So a row of A or a column of B
// whose largest number is not between kSplitLeast and kSplitMost (nor all zeros) is special, and
// below kSplitSmall it is small: products of special blocks, and those of two with small ones, are
// made by vectors, of the same parts, as multiply-adds of float32 make them. What the others lose
// is less than 2^-28 of the product of the largest numbers of row and column. Numbers below 2^-133
// have no parts: they are zeros, also beside an infinity. NaNs go their usual way.
#pragma once

#include <cstdint>
#include <span>

namespace hr::cpu {

inline constexpr int64_t kSplitSide = 16;   // rows or columns of a register
inline constexpr int64_t kSplitTerms = 32;  // of a step: what a register has of each of them
inline constexpr int64_t kSplitWidth = 2 * kSplitSide;  // of blocks and tiles
inline constexpr int64_t kSplitStepBytes = 3 * 2 * 1024;
inline constexpr int64_t kMostSplitBlocks = 64;
inline constexpr float kSplitLeast = 0x1p-74F, kSplitSmall = 0x1p-20F, kSplitMost = 0x1p54F;

// What rows or columns are: of some blocks, a bit for each, the lowest first.
struct SplitMarks {
  uint64_t special = 0;
  uint64_t small = 0;  // the largest number of one is below kSplitSmall

  // Those of one block.
  SplitMarks At(int64_t block) const { return {special >> block & 1, small >> block & 1}; }
  void AddBlock(int64_t block, const SplitMarks& marks) {
    special |= marks.special << block, small |= marks.small << block;
  }
  // One block's, for memory.
  uint8_t ToByte() const { return static_cast<uint8_t>(special | small << 1); }
  static SplitMarks FromByte(uint8_t byte) {
    const uint64_t bits = byte;
    return {bits & 1, bits >> 1};
  }
  void Add(const SplitMarks& other) { special |= other.special, small |= other.small; }
};

// Whether products of a block of A and one of B must be made by vectors.
inline bool NeedVectors(const SplitMarks& a, const SplitMarks& b) {
  return ((a.special | b.special | (a.small & b.small)) & 1) != 0;
}

// Some rows of op(A), or columns of op(B): `count` of them, `k` terms each.
struct SplitSource {
  const float* from = nullptr;
  int64_t stride = 0;       // between rows whose terms lie together, or between terms
  bool along_terms = true;  // the terms of a row lie together, else the rows of a term
  int64_t count = 0, k = 0;

  int64_t blocks() const { return (count + kSplitWidth - 1) / kSplitWidth; }
  // The rows or columns of one block.
  SplitSource Block(int64_t index) const {
    SplitSource out = *this;
    const int64_t first = index * kSplitWidth;
    out.from += along_terms ? first * stride : first;
    out.count = count - first < kSplitWidth ? count - first : kSplitWidth;
    return out;
  }
};

// Rows of op(A), or columns of op(B), whose numbers of a term lie together: `count` of them, from
// `first` on where each of the terms says, which are a multiple of kSplitTerms.
struct SplitTermsCall {
  std::span<const float* const> terms;
  int64_t first = 0, count = 0;
  char* to = nullptr;  // aligned to a cache line
};

// Where columns of B lie: bytes between their parts, between the two halves of a block, and between
// steps of kSplitTerms terms.
struct SplitColumnBytes {
  int64_t part = 2048, half = 1024, step = kSplitStepBytes;  // of blocks
};

// Columns of B whose pairs of terms follow each other, so that sums may begin with any even term;
// those that may begin with odd ones have their pairs behind these.
struct SplitPairs {
  SplitPairs() = default;
  SplitPairs(int64_t terms, bool with_odd)
      : columns{.part = 2 * Half(terms), .half = Half(terms), .step = 1024}, odd(with_odd) {}

  int64_t Half(int64_t terms) const { return (terms / 2 | 1) * 64; }
  int64_t block() const { return (odd ? 6 : 3) * columns.part; }  // in bytes
  // Where sums begin with a term.
  int64_t At(int64_t term) const { return term % 2 * 3 * columns.part + term / 2 * 64; }

  SplitColumnBytes columns;
  bool odd = false;
};

// tile [rows][columns] = A block * B block, or more of it. Tiles are whole: what blocks lack is 0.
struct SplitTileCall {
  int64_t rows = 0;
  int64_t k = 0;
  const char *a = nullptr, *b = nullptr;  // blocks
  SplitColumnBytes b_bytes;
  float* tile = nullptr;
  int64_t stride = 0;  // between its rows
  bool add = false;    // to what it has
};

// Some pixels of an image, split: kSplitTerms channels of all of them lie together, those of a
// pixel behind those of the last one, for each part; the other parts and the next channels follow
// `plane` numbers behind each other. What is missing of the last channels is 0.
struct SplitPixelsCall {
  const float* from = nullptr;
  int64_t stride = 0;  // between pixels
  int64_t count = 0, channels = 0;
  uint16_t* to = nullptr;  // aligned to a cache line
  int64_t plane = 0;
};

// What a row of A reads of kSplitTerms channels: the pixel `a` numbers behind the row's own one,
// which meets the step of B that begins at byte `b`.
struct SplitTap {
  int64_t a = 0, b = 0;
};

// tile [rows][kSplitWidth] = A * B, or more of it. Rows of A are pixels in a row, with some taps
// for each of `blocks` times kSplitTerms channels.
struct SplitTapsCall {
  int64_t rows = 0, blocks = 0;
  std::span<const SplitTap> taps;
  const uint16_t* a = nullptr;   // the first row's pixel
  int64_t pixel = 0, plane = 0;  // numbers from a row to the next one; as above
  const char* b = nullptr;
  int64_t b_block = 0;  // bytes to the steps of the next channels
  float* tile = nullptr;
  bool add = false;  // to what the tile has
};

// A block has, for each step of 32 terms and each of the three parts, two registers of 16 rows or
// columns, kSplitStepBytes together.
struct SplitKernels {
  // Write blocks of A (rows by terms) or of B (pairs of terms by columns) to `to`, aligned to a
  // cache line: the source's first kSplitWidth rows or columns, then the next, at most
  // kMostSplitBlocks.
  SplitMarks (*split_a)(const SplitSource&, char* to);
  SplitMarks (*split_b)(const SplitSource&, char* to);
  // Blocks of A of terms that lie anywhere, and pairs of B; those with NaNs are special, as some
  // of their sums may begin behind these.
  SplitMarks (*split_terms)(const SplitTermsCall&);
  SplitMarks (*split_pairs)(const SplitTermsCall&, const SplitPairs&);
  // Pixels are rows of one block.
  SplitMarks (*split_pixels)(const SplitPixelsCall&);
  // Tiles of so many rows are computed from now on, by this thread, until it calls `release`. Takes
  // some hundred cycles.
  void (*configure)(int64_t rows);
  void (*tile)(const SplitTileCall&);
  void (*taps)(const SplitTapsCall&);
  // The same for special operands, slowly and without a configuration.
  void (*plain_tile)(const SplitTileCall&);
  void (*plain_taps)(const SplitTapsCall&);
  void (*release)();
};

inline int64_t SplitBlockBytes(int64_t k) {
  return (k + kSplitTerms - 1) / kSplitTerms * kSplitStepBytes;
}

// Null if this processor has no such unit, or this process may not use it.
const SplitKernels* KernelsForSplit();
// The same, and null if this process does without AVX-512 (instruction_set.h).
const SplitKernels* SplitKernelsInUse();

}  // namespace hr::cpu
