// What a process holds and has to give back: threads, file descriptors, shared memory and objects.
//
//   const Leaks leaks;
//   …
//   EXPECT_EQ(leaks.Text(), "");
//
// A program with it has an operator new that counts. Sanitizers have their own, and look for
// objects that leak themselves.
#pragma once

#include <string>

namespace hr {

class Leaks {
 public:
  Leaks();
  // What there is more of than when this was made, or "". Waits a moment for what ends by itself.
  // Without `objects` they may be left.
  std::string Text(bool objects = true) const;

 private:
  struct Held {
    long descriptors, threads, mappings, objects;
  };
  static Held Now();

  const Held before_;
};

// For the tests of a library that keeps objects for later, as a cache does: they are no leak.
inline bool library_keeps_objects = false;

// By operator new so far, in all threads; under a sanitizer by whatever takes memory of the heap.
long ObjectsMade();

}  // namespace hr
