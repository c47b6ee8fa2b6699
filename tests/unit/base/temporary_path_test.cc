#include "runtime/base/temporary_path.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/unit/data/test_support.h"

namespace hr {
namespace {

using Names = std::vector<std::string>;

class TemporaryPathTest : public testing::Test {
 protected:
  Names Left() const { return ListDirectory(folder_.path()).value(); }

  data::TempFolder folder_;
  const std::string path_ = folder_.Path("file");
};

TEST_F(TemporaryPathTest, TheLastOfTwoWritersStays) {
  Status outer = WriteFileAtomically(path_, [&](FileWriter& writer) -> Status {
    HR_RETURN_IF_ERROR(writer.Write(AsBytes("the first ")));
    HR_RETURN_IF_ERROR(WriteFileAtomically(path_, AsBytes("the second, within the first")));
    EXPECT_EQ(ReadFile(path_).value(), "the second, within the first");
    return writer.Write(AsBytes("to begin"));
  });
  EXPECT_TRUE(outer.ok()) << outer.ToString();
  EXPECT_EQ(ReadFile(path_).value(), "the first to begin");
  EXPECT_EQ(Left(), Names{"file"});
}

TEST_F(TemporaryPathTest, ManyWritersNeverMix) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&, i] {
      const std::string text(1000 * (i + 1), static_cast<char>('a' + i));
      for (int k = 0; k < 50; ++k) {
        const Status written = WriteFileAtomically(path_, AsBytes(text));
        EXPECT_TRUE(written.ok()) << written.ToString();
        const std::string seen = ReadFile(path_).value();
        EXPECT_EQ(seen, std::string(1000 * (seen[0] - 'a' + 1), seen[0]));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Left(), Names{"file"});
}

TEST_F(TemporaryPathTest, AFailureLeavesWhatWasThere) {
  ASSERT_TRUE(WriteFileAtomically(path_, AsBytes("good")).ok());
  const Status failed = WriteFileAtomically(path_, [](FileWriter& writer) -> Status {
    HR_RETURN_IF_ERROR(writer.Write(AsBytes("half")));
    return DataLoss("no more");
  });
  EXPECT_EQ(failed.message(), "no more");
  EXPECT_EQ(ReadFile(path_).value(), "good");
  EXPECT_EQ(Left(), Names{"file"});
}

TEST_F(TemporaryPathTest, TheNextWriterRemovesWhatACrashLeft) {
  const pid_t child = fork();
  if (child == 0) {
    WriteFileAtomically(path_, [](FileWriter&) -> Status {
      raise(SIGKILL);
      return {};
    }).IgnoreError();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Left().size(), 1u) << "what the child was writing";
  const Names others = {"file.0123.tmp", "file.tmp", "fil.0123456789abcdef.tmp"};
  for (const std::string& name : others) data::WriteText(folder_.Path(name), "somebody's own");
  ASSERT_TRUE(WriteFileAtomically(path_, AsBytes("whole")).ok());
  EXPECT_EQ(Left(), (Names{"fil.0123456789abcdef.tmp", "file", "file.0123.tmp", "file.tmp"}));
}

TEST_F(TemporaryPathTest, FoldersAreRemovedUnlessRenamed) {
  auto kept = TemporaryPath::Folder(path_), dropped = TemporaryPath::Folder(path_);
  ASSERT_TRUE(kept.ok() && dropped.ok());
  EXPECT_NE(kept->path(), dropped->path());
  RemoveIfAbandoned(kept->path());
  EXPECT_TRUE(FileExists(kept->path())) << "its owner is alive";
  data::WriteText(JoinPath(dropped->path(), "inside"), "text");
  EXPECT_TRUE(kept->RenameTo(path_).ok());
  EXPECT_EQ(dropped->RenameTo(path_).code(), Code::kOk) << "an empty folder makes room";
  auto third = TemporaryPath::Folder(path_);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->RenameTo(path_).code(), Code::kAlreadyExists);
  { TemporaryPath ends = std::move(third).value(); }
  EXPECT_EQ(Left(), Names{"file"});
}

}  // namespace
}  // namespace hr
