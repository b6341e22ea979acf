// Reading integers out of untrusted bytes: a read past the end is an answer, never an access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace clasp::image {

enum class ByteOrder : std::uint8_t { Little, Big };

class ByteReader {
   public:
    explicit ByteReader(std::span<const std::uint8_t> bytes, ByteOrder order = ByteOrder::Little)
        : bytes_(bytes), order_(order) {}

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

    [[nodiscard]] std::optional<std::uint16_t> u16(std::size_t offset) const {
        if (!holds(offset, 2)) return std::nullopt;
        return static_cast<std::uint16_t>(assemble(offset, 2));
    }
    [[nodiscard]] std::optional<std::uint32_t> u32(std::size_t offset) const {
        if (!holds(offset, 4)) return std::nullopt;
        return assemble(offset, 4);
    }
    [[nodiscard]] std::optional<std::int32_t> i32(std::size_t offset) const {
        if (!holds(offset, 4)) return std::nullopt;
        return static_cast<std::int32_t>(assemble(offset, 4));
    }

   private:
    [[nodiscard]] bool holds(std::size_t offset, std::size_t count) const {
        return offset <= bytes_.size() && count <= bytes_.size() - offset;
    }
    [[nodiscard]] std::uint32_t assemble(std::size_t offset, std::size_t count) const {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = order_ == ByteOrder::Big ? offset + i : offset + count - 1 - i;
            value = (value << 8) | bytes_[at];
        }
        return value;
    }

    std::span<const std::uint8_t> bytes_;
    ByteOrder order_;
};

}  // namespace clasp::image
