// A file for what a fuzz target is given, for code that takes paths.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

// A folder in memory, if that can be had, which goes with the program.
class ScratchFolder {
 public:
  ScratchFolder() {
    const bool memory = std::filesystem::is_directory("/dev/shm");
    path_ = std::string(memory ? "/dev/shm" : "/tmp") + "/headrace-fuzz-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // The path of a file with these bytes.
  std::string Write(const std::string& name, const void* data, size_t size) const {
    const std::string path = File(name);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(data, 1, size, file) != size) std::abort();
    std::fclose(file);
    return path;
  }

 private:
  std::string path_;
};
