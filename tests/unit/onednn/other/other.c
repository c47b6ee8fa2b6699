/* A library that says it is a oneDNN, of a version or a threading that we cannot use. */
typedef struct {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
} version;

const version* dnnl_version(void) {
  static const version kVersion = {MAJOR, MINOR, 0, "", CPU_RUNTIME, 0};
  return &kVersion;
}
