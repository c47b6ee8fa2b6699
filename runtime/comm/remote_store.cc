#include "runtime/comm/remote_store.h"

#include <charconv>

namespace hr::comm {
namespace {

constexpr std::string_view kIdentity = "headrace store";

struct HostAndPort {
  std::string host;  // without brackets
  int port = 0;

  std::string Url(std::string_view scheme, int actual_port) const {
    const bool v6 = host.find(':') != std::string::npos;
    return Cat(scheme, ":", v6 ? "[" : "", host, v6 ? "]:" : ":", actual_port);
  }
  // Not a name that has to be looked up. Names have a letter that no number has, or no dot.
  bool numeric() const {
    return host.find(':') != std::string::npos ||
           host.find_first_not_of("0123456789.") == std::string::npos;
  }
};

Result<HostAndPort> ParsePlace(std::string_view scheme, std::string_view text, bool serve) {
  const std::string_view given = text;
  if (text.starts_with("//")) text.remove_prefix(2);
  const size_t colon = text.rfind(':');
  HostAndPort place;
  if (colon != text.npos && colon > 0) {
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    const char* end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data() + colon + 1, end, place.port);
    const bool sound = error == std::errc() && at == end && place.port <= 65535 &&
                       place.port >= (serve ? 0 : 1) &&
                       bracketed == (host.find(':') != host.npos) && !host.empty();
    place.host = host;
    if (sound) return place;
  }
  return InvalidArgument("expected the place of a store, ", scheme, ":HOST:PORT or ", scheme,
                         ":[IPv6]:PORT, got '", scheme, ":", given, "'",
                         serve ? "" : "; port 0 is for the process that keeps it");
}

int PortOf(std::string_view address) {
  int port = 0;
  const size_t colon = address.rfind(':');
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  return port;
}

}  // namespace

std::string HostOfStore(std::string_view url) {
  constexpr std::string_view kScheme = "tcp";
  if (!url.starts_with(Cat(kScheme, ":"))) return "";
  Result<HostAndPort> place = ParsePlace(kScheme, url.substr(kScheme.size() + 1), true);
  return place.ok() ? std::move(place->host) : "";
}

Result<std::unique_ptr<Store>> OpenRemoteStore(const Hub::MakeTransport& make,
                                               std::string_view scheme, std::string_view text,
                                               const StoreSettings& settings) {
  HR_ASSIGN_OR_RETURN(const HostAndPort place, ParsePlace(scheme, text, settings.serve));
  TransportSettings transport = {.host = place.host,
                                 .port = place.port,
                                 .secret = settings.secret,
                                 .trusted_fabric = settings.trusted_fabric};
  if (settings.serve) {
    // A host's own name often stands for its loopback address, which no other host reaches.
    const bool everywhere = !place.numeric() && place.host != "localhost";
    if (everywhere) transport.host = "::";
    Result<std::unique_ptr<Transport>> made = make(transport, std::string(kIdentity));
    if (everywhere && made.status().code() == Code::kNotFound) {  // no IPv6 here
      transport.host = "0.0.0.0";
      made = make(transport, std::string(kIdentity));
    }
    if (made.ok()) {
      const std::string url = place.Url(scheme, PortOf((*made)->address()));
      return ServeStore(std::move(made).value(), url);
    }
    const Code code = made.status().code();
    const bool elsewhere = code == Code::kAlreadyExists || code == Code::kNotFound;
    if (!elsewhere || place.port == 0) return std::move(made).status();
  }
  transport.listen = false;
  HR_ASSIGN_OR_RETURN(auto made, make(transport, std::string(kIdentity)));
  return ConnectStore(std::move(made), place.Url(scheme, place.port));
}

}  // namespace hr::comm
