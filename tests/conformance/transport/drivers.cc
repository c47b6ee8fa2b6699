#include "tests/conformance/transport/drivers.h"

#include "transport/inproc/inproc.h"

namespace hr::comm {

std::vector<TransportDriver> TransportDrivers() {
  return {
      {"inproc",
       [] {
         return [network = CreateInprocNetwork()](std::string identity) {
           return CreateInprocTransport(network, std::move(identity));
         };
       }},
  };
}

}  // namespace hr::comm
