#include "eval/table.h"

#include <algorithm>

#include "base/text.h"
#include "eval/plain_text.h"

namespace clasp::eval {

std::string Cell::text() const {
    return has_quotes ? replace_all(raw, "\"\"", "\"") : std::string(raw);
}

Result<Cell> TableReader::read_cell() {
    if (at_ < text_.size() && text_[at_] == '"') {
        const std::size_t begin = ++at_;
        while (true) {
            const std::size_t quote = text_.find('"', at_);
            if (quote == std::string_view::npos) {
                return Status(Code::Corrupt,
                              "line " + std::to_string(row_line_) + ": a quote is never closed");
            }
            at_ = quote + 1;
            if (at_ >= text_.size() || text_[at_] != '"') {
                const std::string_view raw = text_.substr(begin, quote - begin);
                line_ += static_cast<std::size_t>(std::count(raw.begin(), raw.end(), '\n'));
                return Cell{raw, begin, true};
            }
            ++at_;
        }
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
    std::string_view raw = text_.substr(begin, at_ - begin);
    if (raw.ends_with('\r') && (at_ == text_.size() || text_[at_] == '\n')) raw.remove_suffix(1);
    return Cell{raw, begin, false};
}

Result<std::vector<Cell>> TableReader::read_row() {
    row_line_ = line_;
    std::vector<Cell> cells;
    while (true) {
        CLASP_ASSIGN_OR_RETURN(Cell cell, read_cell());
        cells.push_back(cell);
        if (at_ < text_.size() && text_[at_] == separator_) {
            ++at_;
            continue;
        }
        if (at_ < text_.size() && text_[at_] == '\r') ++at_;
        if (at_ < text_.size() && text_[at_] != '\n') {
            return Status(Code::Corrupt,
                          "line " + std::to_string(row_line_) + ": text follows a closing quote");
        }
        ++at_;
        ++line_;
        return cells;
    }
}

Result<TableReader> TableReader::open(std::string_view text, char separator) {
    TableReader reader(text, separator);
    if (text.starts_with("\xEF\xBB\xBF")) reader.at_ = 3;  // a byte-order mark
    if (reader.at_ >= text.size()) return Status(Code::Corrupt, "the table is empty");
    CLASP_ASSIGN_OR_RETURN(const std::vector<Cell> cells, reader.read_row());
    for (const Cell& cell : cells) {
        std::string name = cell.text();
        if (reader.column(name)) {
            return Status(Code::Corrupt,
                          "the column " + base::in_quotes(name) + " stands twice in the header");
        }
        reader.names_.push_back(std::move(name));
    }
    return reader;
}

std::optional<std::size_t> TableReader::column(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
}

Result<std::optional<std::vector<Cell>>> TableReader::next() {
    while (at_ < text_.size()) {
        CLASP_ASSIGN_OR_RETURN(std::vector<Cell> cells, read_row());
        if (cells.size() == 1 && cells[0].raw.empty() && names_.size() > 1) continue;
        if (cells.size() != names_.size()) {
            return Status(Code::Corrupt, "line " + std::to_string(row_line_) + " has " +
                                             std::to_string(cells.size()) + " cells, the header has " +
                                             std::to_string(names_.size()));
        }
        return std::optional(std::move(cells));
    }
    return std::optional<std::vector<Cell>>();
}

}  // namespace clasp::eval
