// Answers on disk as JSON Lines, one whole line per write, so that whatever kills a run loses at most the
// question it was thinking about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::eval {

// One answer of one variant.
struct AnswerRecord {
    std::string variant;  // variant_key()
    std::string label;
    std::string method;
    std::string budget;
    std::string item;  // Item::id
    std::string text;  // the model's answer
    std::size_t class_id = 0;
    double average_tokens = 0.0;  // visual tokens per decoder layer
    // Decoding and encoding the picture. Rows share that, and the one that comes first pays for all, unless
    // the method has an encoder of its own (it merges inside).
    double encode_ms = 0.0;
    bool has_own_encoder = false;
    double prefill_ms = 0.0;  // from there to the first token: fusing, choosing, reading the prompt
    double decode_ms = 0.0;
    std::size_t generated = 0;
    bool stopped_at_limit = false;
};

// The longest line, without its end: what is longer is neither written nor read.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20U;

std::string to_json_line(const AnswerRecord& record);  // ends with the newline
Result<AnswerRecord> parse_record(std::string_view line);

// Records by variant key, then by item id.
using RecordTable = std::map<std::string, std::map<std::string, AnswerRecord, std::less<>>, std::less<>>;

// All records of a file. A last line that a kill cut short is left out; any other line that is no record is
// corrupt, with its number, and so is a second answer to a question that differs from the first. A file that
// does not exist is empty.
Result<RecordTable> read_records(const std::string& path);
// The same for a file's text; messages name the line.
Result<RecordTable> parse_records(std::string_view text);

// Adds records of another run of the same variants; an answer that both have must be the same answer.
Status merge_records(const RecordTable& from, RecordTable& into);

// Appends to a file that no other process is appending to.
class ResultsWriter {
   public:
    // Creates the file if need be and cuts off a last line that has no end. Unavailable: the system's
    // reason, or another run holds the file. A file to which nothing was ever appended goes with its writer.
    static Result<ResultsWriter> open(const std::string& path);
    ~ResultsWriter();
    ResultsWriter(ResultsWriter&& other) noexcept;
    ResultsWriter& operator=(ResultsWriter&&) = delete;
    ResultsWriter(const ResultsWriter&) = delete;
    ResultsWriter& operator=(const ResultsWriter&) = delete;

    // The whole line or nothing. TooLarge: the record is longer than kMaxRecordBytes.
    Status append(const AnswerRecord& record);

   private:
    ResultsWriter(int file, std::string path) : file_(file), path_(std::move(path)) {}

    int file_ = -1;
    std::string path_;
    std::int64_t length_ = -1;  // bytes of whole lines; -1 until the file is ours
};

}  // namespace clasp::eval
