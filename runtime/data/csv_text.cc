#include "runtime/data/csv_text.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "runtime/base/errors.h"

namespace hr::data {
namespace {

const char* Find(const char* begin, const char* end, char c) {
  const void* found = std::memchr(begin, c, static_cast<size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// The same where it is likely to be near: most quoted fields are short.
const char* FindSoon(const char* begin, const char* end, char c) {
  if constexpr (std::endian::native == std::endian::little) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    for (int step = 0; step < 3 && end - begin >= 8; ++step, begin += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, begin, sizeof bytes);
      bytes ^= kOnes * static_cast<unsigned char>(c);
      const uint64_t zeros = (bytes - kOnes) & ~bytes & kOnes << 7;  // the lowest one is right
      if (zeros != 0) return begin + std::countr_zero(zeros) / 8;
    }
  }
  return Find(begin, end, c);
}

#if defined(__SSE2__)
constexpr int kBlock = 64;

// The places of a character among 64, as bits.
uint64_t PlacesOf(char c, const char* block) {
  const __m128i wanted = _mm_set1_epi8(c);
  uint64_t bits = 0;
  for (int i = 0; i < kBlock; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
    const auto equal = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)));
    bits |= static_cast<uint64_t>(equal) << i;
  }
  return bits;
}

// Bit i is set if an odd number of bits up to i is.
uint64_t OddUpTo(uint64_t bits) {
  for (int shift = 1; shift < kBlock; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Returns the '\n' that ends the row at `row`, looking at 64 characters at a time. Null for what is
// left to those who look at one: a row near the end of the text, and one with quotes that are not
// plainly right.
const char* QuickLine(const char* row, const char* end, char delimiter, char quote) {
  uint64_t inside = 0;  // all bits: the block begins within quotes
  uint64_t begins = 1;  // bit 0: a field may begin with the block
  uint64_t closed = 0;  // bit 0: quotes have closed before it
  for (const char* p = row; end - p >= kBlock; p += kBlock) {
    const uint64_t quotes = PlacesOf(quote, p), lines = PlacesOf('\n', p);
    if (quotes == 0 && inside == 0 && closed == 0 && lines == 0) {
      begins = p[kBlock - 1] == delimiter ? 1 : 0;
      continue;
    }
    const uint64_t delimiters = PlacesOf(delimiter, p);
    const uint64_t in = OddUpTo(quotes) ^ inside;  // an opening quote, and all up to a closing one
    const uint64_t ends = lines & ~in, row_bits = ends == 0 ? ~uint64_t{0} : ends ^ (ends - 1);
    const uint64_t opening = quotes & in & row_bits, closing = quotes & ~in & row_bits;
    // Behind a delimiter, and behind a closing quote, as the second of two within quotes.
    const uint64_t opens = (delimiters & ~in) | closing;
    const uint64_t behind = (closing << 1 | closed) & row_bits & ~(delimiters | lines | quotes);
    if ((opening & ~(opens << 1 | begins)) != 0) return nullptr;
    if (behind != 0 && (behind & ~(PlacesOf('\r', p) & lines >> 1)) != 0) return nullptr;
    if (ends != 0) return p + std::countr_zero(ends);
    inside = (in >> (kBlock - 1)) != 0 ? ~uint64_t{0} : 0;
    begins = opens >> (kBlock - 1);
    closed = closing >> (kBlock - 1);
  }
  return nullptr;
}
#else
const char* QuickLine(const char*, const char*, char, char) { return nullptr; }
#endif

}  // namespace

std::string CsvText::Where(const char* p) const {
  const auto line = std::count(begin_, p, '\n') + 1;
  const char* start = p;
  while (start != begin_ && start[-1] != '\n') --start;
  return Cat("'", name_, "', line ", line, ", column ", p - start + 1, ": ");
}

const char* CsvText::SkipBlank(const char* p) const {
  while (p != end_) {
    if (*p == '\n') {
      ++p;
    } else if (*p == '\r' && EndsRow(p)) {
      ++p;
    } else if (dialect_.comment != 0 && *p == dialect_.comment) {
      p = Find(p, end_, '\n');
    } else {
      break;
    }
  }
  return p;
}

const char* CsvText::PlainEnd(const char* p) const {
  while (!EndsField(p)) p += dialect_.escape != 0 && *p == dialect_.escape && p + 1 != end_ ? 2 : 1;
  return p;
}

Result<CsvField> CsvText::ReadQuoted(const char* p) const {
  CsvField field = {.begin = p + 1, .quoted = true};
  for (const char* at = p + 1;; ++at) {
    if (dialect_.escape == 0) at = Find(at, end_, dialect_.quote);
    if (at == end_) return Fault(p, "the quote that opens here is never closed");
    if (dialect_.escape != 0 && *at == dialect_.escape && at + 1 != end_) {
      field.escaped = true;
      ++at;
    } else if (*at == dialect_.quote) {
      if (at + 1 != end_ && at[1] == dialect_.quote) {
        field.escaped = true;
        ++at;
        continue;
      }
      field.end = at;
      field.next = at + 1;
      if (EndsField(field.next)) return field;
      return Fault(field.next,
                   "expected a delimiter or the end of the line behind a quoted field, ", "found '",
                   std::string_view(field.next, 1), "'; double quotes within quotes, or ",
                   "say quote=none if they are part of the text");
    }
  }
}

const char* CsvText::QuickEnd(const char* p) const {
  if (dialect_.escape != 0) return nullptr;
  if (!OpensQuotes(p)) {
    for (; !EndsField(p); ++p) {
      if (dialect_.quote != 0 && *p == dialect_.quote) return nullptr;
    }
    return p;
  }
  do {
    p = FindSoon(p + 1, end_, dialect_.quote);
    if (p == end_) return nullptr;
    ++p;
  } while (OpensQuotes(p));  // a doubled one
  return EndsField(p) ? p : nullptr;
}

Result<CsvField> CsvText::ReadField(const char* p) const {
  if (OpensQuotes(p)) return ReadQuoted(p);
  CsvField field = {.begin = p, .end = PlainEnd(p)};
  field.next = field.end;
  const std::string_view text(field.begin, static_cast<size_t>(field.end - field.begin));
  field.escaped = dialect_.escape != 0 && text.find(dialect_.escape) != std::string_view::npos;
  const size_t quote =
      dialect_.quote == 0 || field.escaped ? std::string_view::npos : text.find(dialect_.quote);
  if (quote == std::string_view::npos) return field;
  return Fault(p + quote,
               "a quote within a field that does not begin with one; put the whole field ",
               "in quotes and double those within, or say quote=none if they are part of the text");
}

Result<const char*> CsvText::AfterField(const char* p) const {
  if (!OpensQuotes(p)) return PlainEnd(p);
  if (const char* end = QuickEnd(p)) return end;
  HR_ASSIGN_OR_RETURN(const CsvField field, ReadQuoted(p));
  return field.next;
}

std::string CsvText::TextOf(const CsvField& field) const {
  if (!field.escaped) return std::string(field.begin, field.end);
  std::string text;
  for (const char* p = field.begin; p != field.end; ++p) {
    const bool doubled = field.quoted && *p == dialect_.quote;
    const bool escapes = dialect_.escape != 0 && *p == dialect_.escape;
    if ((doubled || escapes) && p + 1 != field.end) ++p;
    text.push_back(*p);
  }
  return text;
}

Result<const char*> CsvText::AfterRow(const char* row) const {
  if (dialect_.escape == 0 && dialect_.quote != 0) {
    const char* quick = QuickLine(row, end_, dialect_.delimiter, dialect_.quote);
    if (quick != nullptr) return quick + 1;
  }
  const char* line = Find(row, end_, '\n');
  const bool plain =
      dialect_.escape == 0 && (dialect_.quote == 0 || Find(row, line, dialect_.quote) == line);
  if (plain) return line == end_ ? end_ : line + 1;
  while (true) {
    const char* next = QuickEnd(row);
    if (next == nullptr) {
      HR_ASSIGN_OR_RETURN(const CsvField field, ReadField(row));
      next = field.next;
    }
    if (EndsRow(next)) {
      line = Find(next, end_, '\n');
      return line == end_ ? end_ : line + 1;
    }
    row = next + 1;
  }
}

Result<std::vector<std::string>> CsvText::ReadRow(const char* row) const {
  std::vector<std::string> texts;
  while (true) {
    HR_ASSIGN_OR_RETURN(const CsvField field, ReadField(row));
    texts.push_back(TextOf(field));
    if (EndsRow(field.next)) return texts;
    row = field.next + 1;
  }
}

}  // namespace hr::data
