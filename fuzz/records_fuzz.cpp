// Any bytes as the files of a run's folder: its description, one record, or a file of records. The first byte
// chooses. What is read is written and read again the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "eval/results_file.h"
#include "eval/run_folder.h"
#include "require.h"

namespace {

using clasp::fuzz::require;

void fuzz_run(std::string_view text) {
    const auto run = clasp::eval::parse_run(text);
    if (!run.ok()) {
        require(!run.status().message().empty());
        return;
    }
    const std::string written = clasp::eval::to_json(*run);
    const auto again = clasp::eval::parse_run(written);
    require(again.ok() && clasp::eval::to_json(*again) == written);
    require(clasp::eval::check_same_run(*run, *again).ok());
}

void fuzz_record(std::string_view text) {
    const auto record = clasp::eval::parse_record(text);
    if (!record.ok()) {
        require(!record.status().message().empty());
        return;
    }
    const std::string line = clasp::eval::to_json_line(*record);
    const auto again = clasp::eval::parse_record(line);
    require(again.ok() && clasp::eval::to_json_line(*again) == line);
}

void fuzz_records(std::string_view text) {
    const auto table = clasp::eval::parse_records(text);
    if (!table.ok()) {
        require(!table.status().message().empty());
        return;
    }
    clasp::eval::RecordTable merged = *table;
    require(clasp::eval::merge_records(*table, merged).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 4) {
        case 0: fuzz_run(rest); break;
        case 1: fuzz_record(rest); break;
        default: fuzz_records(rest); break;
    }
    return 0;
}
