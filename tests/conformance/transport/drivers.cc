#include "tests/conformance/transport/drivers.h"

#include "transport/inproc/inproc.h"
#ifdef __linux__
#include "transport/shm/shm.h"
#endif

namespace hr::comm {

std::vector<TransportDriver> TransportDrivers() {
  return {
      {"inproc",
       [] {
         return [network = CreateInprocNetwork()](std::string identity) {
           return CreateInprocTransport(network, std::move(identity));
         };
       }},
#ifdef __linux__
      {"shm", [] { return CreateShmTransport; }},
#endif
  };
}

}  // namespace hr::comm
