// What a client may cost, every figure an option of `serve` or a constant here. Each is checked before memory
// is taken for what exceeds it.
#pragma once

#include <chrono>
#include <cstddef>

namespace clasp::serve {

struct HttpLimits {
    std::size_t max_line_bytes = std::size_t{8} << 10U;     // request line, or one header with its name
    std::size_t max_header_bytes = std::size_t{16} << 10U;  // all of them
    std::size_t max_headers = 64;
    std::size_t max_body_bytes = std::size_t{32} << 20U;
    std::chrono::milliseconds header_time{10'000};  // from a request's first byte to the blank line
    std::chrono::milliseconds body_time{10'000};    // and one second more for each 64 KiB
    std::chrono::milliseconds longest_body_time{60'000};
    std::chrono::milliseconds idle_time{15'000};    // between requests of a connection
    std::chrono::milliseconds write_stall{30'000};  // a reader that takes nothing
    std::size_t max_connections = 256;
    std::size_t max_connections_per_address = 32;
    std::size_t max_requests_per_connection = 1000;
};

struct RequestLimits {
    std::size_t max_json_depth = 32;
    std::size_t max_keys = 256;  // of one object
    std::size_t max_messages = 256;
    std::size_t max_parts = 64;                          // of a message
    std::size_t max_text_bytes = std::size_t{1} << 20U;  // of all messages
    std::size_t max_images = 16;
    std::size_t max_image_bytes = std::size_t{20} << 20U;
    std::size_t max_pixels = 100'000'000;  // of all pictures of a request
    std::size_t max_output_tokens = 4096;
    std::size_t usual_output_tokens = 0;  // what a request gets that names no limit; 0: the most
    std::size_t max_choices = 4;          // n
    std::size_t max_queue = 64;           // requests that wait
    std::size_t max_queue_bytes = std::size_t{512} << 20U;
    std::size_t max_per_client = 8;                        // that wait or run
    std::chrono::milliseconds max_wait{600'000};           // in the queue
    std::chrono::milliseconds max_request{3'600'000};      // from arrival to the last word
    std::size_t max_output_bytes = std::size_t{1} << 20U;  // written, but not yet taken by the client
    std::chrono::milliseconds max_stall{30'000};           // with that much waiting

    [[nodiscard]] std::size_t output_tokens_unasked() const {
        return usual_output_tokens > 0 ? usual_output_tokens : max_output_tokens;
    }
};

}  // namespace clasp::serve
