#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace clasp::base {

namespace {

struct Range {
    std::array<std::uint8_t, 16> begin;
    std::size_t n_bits;
};

// IANA's registry of addresses for special purposes.
constexpr std::array<Range, 15> kReserved4 = {{
    {{0}, 8},              // this network
    {{10}, 8},             // private
    {{100, 64}, 10},       // behind a carrier's translator
    {{127}, 8},            // this machine
    {{169, 254}, 16},      // link-local, metadata of clouds
    {{172, 16}, 12},       // private
    {{192, 0, 0}, 24},     // protocols
    {{192, 0, 2}, 24},     // documentation
    {{192, 88, 99}, 24},   // 6to4 relays
    {{192, 168}, 16},      // private
    {{198, 18}, 15},       // benchmarks
    {{198, 51, 100}, 24},  // documentation
    {{203, 0, 113}, 24},   // documentation
    {{224}, 4},            // multicast
    {{240}, 4},            // reserved, broadcast
}};
// All of IPv6 that is handed out to machines.
constexpr Range kGlobal6 = {{0x20}, 3};
constexpr std::array<Range, 6> kReserved6 = {{
    {{0x20, 0x01, 0x00, 0x00}, 32},  // Teredo
    {{0x20, 0x01, 0x00, 0x02}, 48},  // benchmarks
    {{0x20, 0x01, 0x00, 0x10}, 28},  // ORCHID
    {{0x20, 0x01, 0x00, 0x20}, 28},  // ORCHIDv2
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x20, 0x02}, 16},              // 6to4
}};

bool is_in(const Address& address, const Range& range) {
    for (std::size_t bit = 0; bit < range.n_bits; ++bit) {
        const auto mask = static_cast<unsigned>(0x80U >> (bit % 8));
        if ((address.bytes[bit / 8] & mask) != (range.begin[bit / 8] & mask)) return false;
    }
    return true;
}

template <std::size_t n>
bool is_in_any(const Address& address, const std::array<Range, n>& ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Range& range) { return is_in(address, range); });
}

}  // namespace

std::optional<Address> parse_address(const std::string& text) {
    Address address;
    if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) {
        address.is_v4 = true;
        return address;
    }
    if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
    return std::nullopt;
}

std::optional<Address> address_of(const sockaddr& address) {
    Address result;
    if (address.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        std::memcpy(result.bytes.data(), &v4.sin_addr, 4);
        result.is_v4 = true;
        return result;
    }
    if (address.sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    std::memcpy(result.bytes.data(), &v6.sin6_addr, 16);
    return result;
}

bool is_public(const Address& address) {
    if (address.is_v4) return !is_in_any(address, kReserved4);
    // Mapped addresses, NAT64 and whatever else carries an IPv4 address lie outside of the global range, or
    // are tunnels.
    return is_in(address, kGlobal6) && !is_in_any(address, kReserved6);
}

}  // namespace clasp::base
