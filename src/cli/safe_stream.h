// The door between what the program says and a terminal: whatever is written here reaches the target with
// control characters, marks of direction and broken UTF-8 escaped (base::printable); lines and tabs stay.
// Strings of files can then go into any message without taking over the screen.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace clasp::cli {

class SafeBuffer : public std::streambuf {
   public:
    explicit SafeBuffer(std::ostream& target) : target_(target) {}
    ~SafeBuffer() override;
    SafeBuffer(const SafeBuffer&) = delete;
    SafeBuffer& operator=(const SafeBuffer&) = delete;

   protected:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize n) override;
    int sync() override;

   private:
    // Hands on what is there; a character whose last bytes are to come waits unless this is the end.
    bool drain(bool is_end);

    std::ostream& target_;
    std::string pending_;
};

class SafeStream : public std::ostream {
   public:
    explicit SafeStream(std::ostream& target) : std::ostream(nullptr), buffer_(target) { rdbuf(&buffer_); }

   private:
    SafeBuffer buffer_;
};

}  // namespace clasp::cli
