// Where the bytes of a checkpoint come from: files, of which little is in memory at a time, and memory, for
// tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "clasp/status.h"

namespace clasp::convert {

class ByteSource {
   public:
    ByteSource() = default;
    virtual ~ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    [[nodiscard]] virtual const std::string& path() const = 0;  // for messages
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    // Exactly that many bytes. Errors: corrupt (they are not there), unavailable, out_of_memory.
    [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t count) const;

    // An error about this file: its path and then the reason.
    [[nodiscard]] Status corrupt(const std::string& reason) const;
    [[nodiscard]] Status refused(Code code, const std::string& reason) const;

   private:
    [[nodiscard]] virtual Result<std::string> read_some(std::uint64_t offset, std::size_t count) const = 0;
};

class FileSource final : public ByteSource {
   public:
    explicit FileSource(base::InputFile file) : file_(std::move(file)) {}
    [[nodiscard]] const std::string& path() const override { return file_.path(); }
    [[nodiscard]] std::uint64_t size() const override { return file_.size(); }

   private:
    [[nodiscard]] Result<std::string> read_some(std::uint64_t offset, std::size_t count) const override {
        return file_.read(offset, count);
    }

    base::InputFile file_;
};

// The bytes are borrowed.
class MemorySource final : public ByteSource {
   public:
    MemorySource(std::string path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}
    [[nodiscard]] const std::string& path() const override { return path_; }
    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

   private:
    [[nodiscard]] Result<std::string> read_some(std::uint64_t offset, std::size_t count) const override {
        return std::string(bytes_.substr(static_cast<std::size_t>(offset), count));
    }

    std::string path_;
    std::string_view bytes_;
};

// Numbers of 1 to 8 bytes, the lowest first. Precondition: they are there.
std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t n_bytes);

}  // namespace clasp::convert
