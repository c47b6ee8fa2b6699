#include "tests/leaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

namespace {

std::atomic<long> objects_made{0}, live_objects{0};

long Entries(const char* folder) {
  std::error_code none;
  return std::distance(std::filesystem::directory_iterator(folder, none), {});
}

// Of the shared-memory transport.
long SharedMappings() {
  std::ifstream maps("/proc/self/maps");
  long count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:headrace") != std::string::npos;
  }
  return count;
}

}  // namespace

namespace hr {

Leaks::Held Leaks::Now() {
  // Counted first: what follows makes objects of its own.
  const long objects = live_objects;
  return {Entries("/proc/self/fd"), Entries("/proc/self/task"), SharedMappings(), objects};
}

Leaks::Leaks() : before_(Now()) {}

std::string Leaks::Text(bool objects) const {
  Held now = Now();
  // A thread leaves /proc, and frees what it was started with, a moment after it was joined.
  const auto more = [&] {
    return now.threads > before_.threads || (objects && now.objects > before_.objects);
  };
  for (int i = 0; i < 1000 && more(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    now = Now();
  }
  std::string text;
  const auto differ = [&](const char* what, long before, long after) {
    text += std::to_string(after) + " " + what + ", " + std::to_string(before) + " before; ";
  };
  if (now.descriptors != before_.descriptors)  // fewer, too: somebody else's was closed
    differ("file descriptors", before_.descriptors, now.descriptors);
  if (now.threads > before_.threads) differ("threads", before_.threads, now.threads);
  if (now.mappings > before_.mappings)
    differ("mappings of shared memory", before_.mappings, now.mappings);
  if (objects && now.objects > before_.objects) differ("objects", before_.objects, now.objects);
  return text;
}

long ObjectsMade() { return objects_made; }

}  // namespace hr

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

extern "C" void __sanitizer_malloc_hook(const volatile void* data, size_t bytes);
extern "C" void __sanitizer_malloc_hook(const volatile void*, size_t) { ++objects_made; }

#else

namespace {

void* Counted(void* data) {
  if (data == nullptr) std::abort();
  ++objects_made;
  ++live_objects;
  return data;
}

}  // namespace

void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return Counted(
      std::aligned_alloc(align, (std::max<size_t>(bytes, 1) + align - 1) / align * align));
}
void* operator new(size_t bytes) { return Counted(std::malloc(std::max<size_t>(bytes, 1))); }
void operator delete(void* data) noexcept {
  if (data != nullptr) --live_objects;
  std::free(data);
}
void operator delete(void* data, size_t) noexcept { operator delete(data); }
void operator delete(void* data, std::align_val_t) noexcept { operator delete(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { operator delete(data); }

#endif
