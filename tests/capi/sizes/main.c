/* The types of the interface have the same sizes however a program is compiled. */
#include <stdio.h>

extern const size_t sizes_c[], sizes_short_enums[], sizes_cpp20[];

static const char* const names[] = {
#define SIZE(type) #type,
#include "sizes.inc"
};

int main(void) {
  int differing = 0;
  const size_t count = sizeof names / sizeof *names;
  for (size_t i = 0; i < count; ++i) {
    if (sizes_c[i] == sizes_short_enums[i] && sizes_c[i] == sizes_cpp20[i]) continue;
    printf("%s: %zu, with short enums %zu, in C++20 %zu\n", names[i], sizes_c[i],
           sizes_short_enums[i], sizes_cpp20[i]);
    ++differing;
  }
  printf("%zu types, %d differ\n", count, differing);
  return differing > 0 || count < 40;
}
