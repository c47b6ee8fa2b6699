/* Counts every allocation of the process from the C heap, where operator new gets its memory, too.
 * Under a sanitizer, whose heap it is then, its hook counts. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "support.h"

static atomic_long count;

long heap_allocations(void) { return atomic_load(&count); }

static void counted(void) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void __sanitizer_malloc_hook(const volatile void* data, size_t bytes);
void __sanitizer_malloc_hook(const volatile void* data, size_t bytes) {
  (void)data;
  (void)bytes;
  counted();
}

#elif defined(__GLIBC__)

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t items, size_t bytes);
extern void* __libc_realloc(void* data, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  counted();
  return __libc_malloc(bytes);
}
void* calloc(size_t items, size_t bytes) {
  counted();
  return __libc_calloc(items, bytes);
}
void* realloc(void* data, size_t bytes) {
  counted();
  return __libc_realloc(data, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  counted();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  counted();
  *out = __libc_memalign(alignment, bytes);
  return *out == NULL ? ENOMEM : 0;
}

#endif
