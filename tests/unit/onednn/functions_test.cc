#include "backends/cpu/onednn/functions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hr::cpu::onednn {
namespace {

using List = std::vector<std::string>;

// An environment of Python with our package, and a oneDNN of which only the name is right.
class OneDnnPlaces : public testing::Test {
 protected:
  OneDnnPlaces() {
    std::filesystem::create_directories(package_);
    std::ofstream(root_ / "lib/libdnnl.so.3") << "no library";
  }
  ~OneDnnPlaces() override { std::filesystem::remove_all(root_); }

  const std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "onednn_places";
  const std::filesystem::path package_ = root_ / "lib/python3.12/site-packages/headrace";
  const std::string folder_ = package_.string() + "/";
};

TEST_F(OneDnnPlaces, BesideUsTheSystemsThenPythons) {
  const std::string pythons = folder_ + "../../../libdnnl.so.3";
  EXPECT_EQ(Places(nullptr, folder_), (List{"libdnnl.so.3", pythons}));
  EXPECT_EQ(Places("", folder_), (List{"libdnnl.so.3", pythons}));
  std::ofstream(package_ / "libdnnl.so.3") << "no library";
  EXPECT_EQ(Places(nullptr, folder_), (List{folder_ + "libdnnl.so.3", "libdnnl.so.3", pythons}));
}

TEST_F(OneDnnPlaces, WhatTheVariableNamesAlone) {
  EXPECT_EQ(Places("/opt/dnnl.so", folder_), (List{"/opt/dnnl.so"}));
  EXPECT_EQ(Places("off", folder_), List());
}

void ExpectRefused(const List& places, const char* reason) {
  const auto loaded = Load(places);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kUnavailable);
  const std::string_view message = loaded.status().message();
  EXPECT_NE(message.find(reason), std::string_view::npos) << message;
}

TEST(OneDnnFunctions, SayWhyThereAreNone) {
  ExpectRefused({}, "\"off\"");
  ExpectRefused({"/nowhere/libdnnl.so.3"}, "/nowhere/libdnnl.so.3: cannot open");
  ExpectRefused({"libm.so.6"}, "libm.so.6: it has no function dnnl_version");
  ExpectRefused({HEADRACE_OTHER_MAJOR}, "3.1 or newer of the same major version, it is 4.0");
  ExpectRefused({HEADRACE_OTHER_MINOR}, "it is 3.0");
  ExpectRefused({HEADRACE_OTHER_THREADS}, "cannot be kept on one thread");
  ExpectRefused({HEADRACE_OTHER_FUNCTIONS}, "it has no function dnnl_engine_create");
  ExpectRefused({"/nowhere/first.so", "/nowhere/second.so"}, "; /nowhere/second.so");
}

TEST(OneDnnFunctions, OfTheFirstThatCanBeUsed) {
  const auto loaded = Load({"/nowhere/libdnnl.so.3", HEADRACE_OTHER_MAJOR, "libdnnl.so.3"});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->version()->major, 3);
}

}  // namespace
}  // namespace hr::cpu::onednn
