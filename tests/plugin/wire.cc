// A plugin with a transport, "wire": the one between threads under another name.
#include "runtime/plugin/guest_transport.h"
#include "transport/inproc/inproc.h"

namespace {

hr::Result<std::unique_ptr<hr::comm::Transport>> MakeWire(const hr::comm::TransportSettings&,
                                                          std::string identity) {
  static const auto network = hr::inproc::CreateInprocNetwork("wire");
  return hr::inproc::CreateInprocTransport(network, std::move(identity));
}

}  // namespace

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  return hr::plugin::OfferTransport(host, out, "wire", "wire", MakeWire);
}
