#include "capi/src/comm/handles.h"

extern "C" {

hr_status* hr_launch_from_environment(hr_launch** out) {
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::cluster::LaunchFromEnvironment(hr::capi::ProcessEnvironment));
}

void hr_launch_release(hr_launch* launch) { delete launch; }

int32_t hr_launch_rank(const hr_launch* launch) {
  return launch == nullptr ? -1 : launch->rep.rank;
}
int32_t hr_launch_size(const hr_launch* launch) { return launch == nullptr ? 0 : launch->rep.size; }
int32_t hr_launch_local_rank(const hr_launch* launch) {
  return launch == nullptr ? -1 : launch->rep.local_rank;
}
int32_t hr_launch_local_size(const hr_launch* launch) {
  return launch == nullptr ? 0 : launch->rep.local_size;
}
uint64_t hr_launch_epoch(const hr_launch* launch) {
  return launch == nullptr ? 0 : launch->rep.epoch;
}
int32_t hr_launch_min_ranks(const hr_launch* launch) {
  return launch == nullptr ? 0 : launch->rep.min_ranks;
}
int32_t hr_launch_max_ranks(const hr_launch* launch) {
  return launch == nullptr ? 0 : launch->rep.max_ranks;
}
const char* hr_launch_store(const hr_launch* launch) {
  return launch == nullptr ? "" : launch->rep.store.c_str();
}

hr_status* hr_launch_describe(const hr_launch* launch, hr_text** out) {
  HR_REQUIRE(launch);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, launch->rep.Json());
}

}  // extern "C"
