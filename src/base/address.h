// Addresses of machines: what kind of network one belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

struct sockaddr;

namespace clasp::base {

struct Address {
    std::array<std::uint8_t, 16> bytes{};  // the first four of an IPv4 address
    bool is_v4 = false;
};

// "192.0.2.1" or "2001:db8::1", in their usual spelling alone: no octal numbers, no missing parts, no zone.
std::optional<Address> parse_address(const std::string& text);
// Nothing for an address of another family.
std::optional<Address> address_of(const sockaddr& address);

// Whether it can be a machine of the internet. False for this machine, for private and local networks, for
// multicast, for ranges that are set aside, and for IPv6 addresses that stand for such an IPv4 address or
// that lead into a tunnel.
bool is_public(const Address& address);

}  // namespace clasp::base
