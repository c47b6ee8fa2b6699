#include "runtime/cluster/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/base/file.h"

namespace hr::cluster {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Launch> Resolve(const Variables& variables) {
  return LaunchFromEnvironment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables With(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables Torchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"TORCHELASTIC_RESTART_COUNT", "5"},
          {"MASTER_ADDR", "10.0.0.1"},
          {"MASTER_PORT", "29500"}};
}

Variables OpenMpi() {
  return {{"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"OMPI_FILE_LOCATION", "/tmp/job"}};
}

void ExpectFailure(const Variables& variables, Code code, std::vector<std::string_view> parts) {
  const auto launch = Resolve(variables);
  ASSERT_FALSE(launch.ok());
  EXPECT_EQ(launch.status().code(), code) << launch.status().ToString();
  for (std::string_view part : parts) {
    EXPECT_NE(launch.status().message().find(part), std::string_view::npos)
        << "no '" << part << "' in: " << launch.status().ToString();
  }
}

TEST(Launch, AloneWhereNothingIsSet) {
  const auto launch = Resolve({});
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->rank, 0);
  EXPECT_EQ(launch->size, 1);
  EXPECT_EQ(launch->local_rank, -1);
  EXPECT_EQ(launch->local_size, 0);
  EXPECT_EQ(launch->store, "memory:");
}

TEST(Launch, Torchrun) {
  const auto launch = Resolve(Torchrun());
  ASSERT_TRUE(launch.ok()) << launch.status().ToString();
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->size, 4);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->local_size, 2);
  EXPECT_EQ(launch->epoch, 5u);
  EXPECT_EQ(launch->store, "tcp:10.0.0.1:29500");
  EXPECT_EQ(Resolve(With(Torchrun(), {{"MASTER_ADDR", "fd00::1"}}))->store, "tcp:[fd00::1]:29500");
}

TEST(Launch, OpenMpiOnOneHostMeetsInTheFolderOfTheJob) {
  const auto launch = Resolve(OpenMpi());
  ASSERT_TRUE(launch.ok()) << launch.status().ToString();
  EXPECT_EQ(launch->rank, 1);
  EXPECT_EQ(launch->size, 2);
  EXPECT_EQ(launch->store, "file:/tmp/job/headrace");
  // The folder is of one host.
  EXPECT_EQ(Resolve(With(OpenMpi(), {{"OMPI_COMM_WORLD_SIZE", "8"}}))->store, "");
}

TEST(Launch, Mpich) {
  const auto launch = Resolve(
      {{"PMI_RANK", "2"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}});
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->rank, 2);
  EXPECT_EQ(launch->size, 6);
  EXPECT_EQ(launch->local_size, 2);
}

TEST(Launch, SlurmCountsInAStepAndBelowOtherLaunchers) {
  const Variables slurm = {{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  EXPECT_EQ(Resolve(slurm)->size, 1);  // a batch script
  const Variables step = With(slurm, {{"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(Resolve(step)->rank, 2);
  EXPECT_EQ(Resolve(step)->size, 4);
  EXPECT_EQ(Resolve(With(step, OpenMpi()))->rank, 1);  // mpirun in a Slurm job
}

TEST(Launch, HeadracesOwnSayWhatOthersLeaveOpen) {
  const auto launch =
      Resolve(With(OpenMpi(), {{"HEADRACE_STORE", "file:/shared/meet"}, {"HEADRACE_EPOCH", "7"}}));
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->rank, 1);
  EXPECT_EQ(launch->store, "file:/shared/meet");
  EXPECT_EQ(launch->epoch, 7u);
  EXPECT_EQ(Resolve(With(Torchrun(), {{"HEADRACE_STORE", "file:/x"}}))->store, "file:/x");
}

TEST(Launch, ContradictionsAreNamed) {
  ExpectFailure(With(OpenMpi(), Torchrun()), Code::kFailedPrecondition,
                {"rank", "RANK says 3", "OMPI_COMM_WORLD_RANK says 1"});
  ExpectFailure(With(OpenMpi(), {{"HEADRACE_SIZE", "3"}}), Code::kFailedPrecondition,
                {"size", "HEADRACE_SIZE says 3", "OMPI_COMM_WORLD_SIZE says 2"});
  ExpectFailure({{"RANK", "4"}, {"WORLD_SIZE", "4"}}, Code::kFailedPrecondition,
                {"rank 4 (RANK) of 4 (WORLD_SIZE)"});
  ExpectFailure(With(Torchrun(), {{"LOCAL_RANK", "2"}}), Code::kFailedPrecondition,
                {"local rank 2 (LOCAL_RANK) of 2 (LOCAL_WORLD_SIZE)"});
  // What two say alike is no contradiction.
  EXPECT_TRUE(Resolve(With(OpenMpi(), {{"RANK", "1"}, {"WORLD_SIZE", "2"}})).ok());
}

TEST(Launch, HalfOfItIsNotEnough) {
  ExpectFailure({{"RANK", "1"}}, Code::kFailedPrecondition, {"rank (RANK) but not the size"});
  ExpectFailure({{"WORLD_SIZE", "2"}}, Code::kFailedPrecondition,
                {"size (WORLD_SIZE) but not the rank"});
}

TEST(Launch, ValuesThatMakeNoSense) {
  ExpectFailure(With(Torchrun(), {{"RANK", "-1"}}), Code::kInvalidArgument, {"RANK", "'-1'"});
  ExpectFailure(With(Torchrun(), {{"RANK", "3x"}}), Code::kInvalidArgument, {"RANK", "'3x'"});
  ExpectFailure(With(Torchrun(), {{"WORLD_SIZE", "0"}}), Code::kInvalidArgument,
                {"WORLD_SIZE", "at least 1"});
  ExpectFailure(With(Torchrun(), {{"WORLD_SIZE", "99999999999999999999"}}), Code::kInvalidArgument,
                {"WORLD_SIZE"});
  ExpectFailure(With(Torchrun(), {{"MASTER_PORT", "http"}}), Code::kInvalidArgument,
                {"MASTER_PORT", "'http'"});
}

Result<std::string> Secret(const Variables& variables) {
  return SecretFromEnvironment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, SecretsComeFromAVariableOrAFileAndAreNotShown) {
  const std::string file = JoinPath(testing::TempDir(), "secret_of_the_launch_test");
  ASSERT_TRUE(WriteFileAtomically(file, AsBytes("the secret in a file\nnot this\n")).ok());
  EXPECT_EQ(*Secret({}), "");
  EXPECT_EQ(*Secret({{"HEADRACE_SECRET", "swordfish"}}), "swordfish");
  EXPECT_EQ(*Secret({{"HEADRACE_SECRET_FILE", file}}), "the secret in a file");
  EXPECT_EQ(
      Secret({{"HEADRACE_SECRET", "swordfish"}, {"HEADRACE_SECRET_FILE", file}}).status().code(),
      Code::kFailedPrecondition);
  EXPECT_FALSE(Secret({{"HEADRACE_SECRET_FILE", "/no/such/file"}}).ok());
  ASSERT_TRUE(WriteFileAtomically(file, AsBytes("\n")).ok());
  EXPECT_EQ(Secret({{"HEADRACE_SECRET_FILE", file}}).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(RemoveFile(file).ok());
  EXPECT_EQ(Resolve({{"HEADRACE_SECRET", "swordfish"}})->Json().find("swordfish"),
            std::string::npos);
}

TEST(Launch, ElasticJobs) {
  const auto elastic = Resolve(
      {{"HEADRACE_ELASTIC", "2:5"}, {"HEADRACE_JOIN", "1"}, {"HEADRACE_LOSSES", "/x/losses"}});
  ASSERT_TRUE(elastic.ok());
  EXPECT_EQ(elastic->min_ranks, 2);
  EXPECT_EQ(elastic->max_ranks, 5);
  EXPECT_TRUE(elastic->joins);
  EXPECT_EQ(elastic->losses, "/x/losses");
  EXPECT_EQ(Resolve({})->losses, "");
  EXPECT_FALSE(Resolve({{"HEADRACE_JOIN", "0"}})->joins);
  EXPECT_EQ(Resolve({})->max_ranks, 0);
  for (const char* text : {"2", "0:2", "3:2", "2:x", ":"}) {
    EXPECT_EQ(Resolve({{"HEADRACE_ELASTIC", text}}).status().code(), Code::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(Resolve({{"HEADRACE_JOIN", "yes"}}).status().code(), Code::kInvalidArgument);
}

TEST(Launch, DescribesWhereItKnowsItFrom) {
  const std::string json = Resolve(Torchrun())->Json();
  EXPECT_NE(json.find(R"("rank":3)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"({"field":"size","variable":"WORLD_SIZE","value":"4"})"), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("variable":"MASTER_ADDR")"), std::string::npos) << json;
}

}  // namespace
}  // namespace hr::cluster
