// What UCX found on this machine.
#pragma once

#include <ucp/api/ucp.h>

#include <string>
#include <string_view>
#include <vector>

namespace hr::ucx {

// "TRANSPORT/DEVICE" for each that the context uses, such as "rc_mlx5/mlx5_0:1".
std::vector<std::string> UcxResources(ucp_context_h context);

// Memory that processes of a host share.
bool IsSharedMemory(std::string_view resource);
// Hardware that reads and writes memory of other machines by itself.
bool IsRdma(std::string_view resource);

}  // namespace hr::ucx
