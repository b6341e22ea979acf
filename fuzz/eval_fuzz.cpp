// Answer files, recorded judgements, tables, base64 and the answers themselves. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "eval/benchmark.h"
#include "eval/table.h"
#include "eval/vqa_accuracy.h"

namespace {

void expect(bool condition) {
    if (!condition) std::abort();
}

void fuzz_table(std::string_view text, char separator) {
    auto table = clasp::eval::TableReader::open(text, separator);
    if (!table) return;
    std::size_t last_line = 0;
    while (true) {
        const auto row = table->next();
        if (!row || !*row) return;
        expect(table->line() > last_line);
        last_line = table->line();
        for (const clasp::eval::Cell& cell : **row) {
            expect(text.substr(cell.offset, cell.raw.size()) == cell.raw);
            expect(cell.text().size() <= cell.raw.size());
        }
    }
}

// Normalised text is words with single spaces between them.
void fuzz_answer(std::string_view text) {
    for (const std::string& answer : {clasp::eval::normalise_v2(text), clasp::eval::normalise_m4c(text)}) {
        expect(answer.find('\n') == std::string::npos && answer.find("  ") == std::string::npos);
        expect(!answer.starts_with(' ') && !answer.ends_with(' '));
    }
    for (const clasp::eval::Benchmark& benchmark : clasp::eval::benchmarks()) {
        if (benchmark.judge != nullptr) (void)benchmark.judge->is_readable(text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 8) {
        case 0: (void)clasp::eval::parse_predictions(rest); break;
        case 1: (void)clasp::eval::parse_replies(rest); break;
        case 2: fuzz_table(rest, '\t'); break;
        case 3: fuzz_table(rest, ','); break;
        case 4: (void)clasp::base::decode_base64(rest); break;
        case 5:
            for (const clasp::eval::Benchmark& benchmark : clasp::eval::benchmarks()) {
                if (benchmark.judge != nullptr) (void)benchmark.judge->parse_official(rest);
            }
            break;
        default: fuzz_answer(rest); break;
    }
    return 0;
}
