// Text files as data sets.
#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

using Ints = std::vector<int64_t>;

class TextSourceTest : public FormatTest {};

TEST_F(TextSourceTest, GivesWindowsOfBytes) {
  Write("a.txt", "abcdefgh");
  auto data = Open("text:a.txt?length=3&stride=2&batch=9").value();
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(batch[0].dims(), (Dims{3, 3}));
  EXPECT_EQ(Values<int64_t>(batch[0]), (Ints{'a', 'b', 'c', 'c', 'd', 'e', 'e', 'f', 'g'}));
  EXPECT_EQ(Values<int64_t>(batch[1]), (Ints{'b', 'c', 'd', 'd', 'e', 'f', 'f', 'g', 'h'}));
}

TEST_F(TextSourceTest, GivesWindowsOfPieces) {
  Write("a.txt", "the thesis\n");
  Write("words", "t\nh\ne\nthe\n\\s\nsis\n\\n\n");
  auto data = Open("text:a.txt?length=1&batch=9&tokens=pieces&vocabulary=words").value();
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(Values<int64_t>(batch[0]), (Ints{3, 4, 3, 5}));
  EXPECT_EQ(Values<int64_t>(batch[1]), (Ints{4, 3, 5, 6}));
  Write("b.txt", "the x\xC3\xA9");
  HR_EXPECT_ERROR(Failure("text:b.txt?length=1&tokens=pieces&vocabulary=words"), kDataLoss,
                  "b.txt', line 1, column 5: the vocabulary has nothing for 'x");
  auto known = Open("text:b.txt?length=3&tokens=pieces&vocabulary=words&unknown=99").value();
  EXPECT_EQ(Values<int64_t>(Batch(*known)[1]), (Ints{4, 99, 99}));
}

TEST_F(TextSourceTest, GivesWindowsOfWords) {
  Write("a.txt", " one  two\nthree one\n");
  Write("words", "one\ntwo\nthree\n");
  auto data = Open("text:a.txt?length=2&stride=1&batch=9&tokens=words&vocabulary=words").value();
  EXPECT_EQ(Values<int64_t>(Batch(*data)[0]), (Ints{0, 1, 1, 2}));
  Write("spaces", "one two\n");
  HR_EXPECT_ERROR(Failure("text:a.txt?tokens=words&vocabulary=spaces"), kDataLoss, "white space");
  Write("twice", "one\none\n");
  HR_EXPECT_ERROR(Failure("text:a.txt?tokens=words&vocabulary=twice"), kDataLoss, "stands twice");
  Write("escape", "\\q\n");
  HR_EXPECT_ERROR(Failure("text:a.txt?tokens=words&vocabulary=escape"), kDataLoss, "'\\q'");
}

TEST_F(TextSourceTest, GivesLines) {
  Write("a.txt", "ab\r\n\n\nabcdef\nc");
  Write("b.txt", "x\n");
  auto data = Open("text:a.txt,b.txt?unit=line&length=4&pad=7&batch=9").value();
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(Values<int64_t>(batch[0]),
            (Ints{'a', 'b', 7, 7, 'a', 'b', 'c', 'd', 'c', 7, 7, 7, 'x', 7, 7, 7}));
  EXPECT_EQ(Values<int64_t>(batch[1]), (Ints{2, 4, 1, 1}));
}

TEST_F(TextSourceTest, ExplainsWhatIsWrong) {
  Write("a.txt", "abc");
  HR_EXPECT_ERROR(Failure("text:a.txt?length=3"), kInvalidArgument, "no window of 3 tokens");
  Write("empty.txt", "");
  HR_EXPECT_ERROR(Failure("text:empty.txt?unit=line"), kInvalidArgument, "has no lines");
  HR_EXPECT_ERROR(Failure("text:a.txt?tokens=words"), kInvalidArgument, "need a 'vocabulary'");
  HR_EXPECT_ERROR(Failure("text:a.txt?tokens=bits"), kInvalidArgument,
                  "expected bytes or pieces or words as 'tokens', got 'bits'");
  HR_EXPECT_ERROR(Failure("text:a.txt?length=0"), kInvalidArgument, "at least 1 as 'length'");
}

}  // namespace
}  // namespace hr::data
