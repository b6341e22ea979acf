// Tables as text: tab- or comma-separated, with a header, cells in quotes where they need them. A cell in
// quotes may hold separators, line ends and doubled quotes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::eval {

struct Cell {
    std::string_view raw;    // as it stands in the text, without the outer quotes
    std::size_t offset = 0;  // of `raw` in the text
    bool has_quotes = false;

    [[nodiscard]] std::string text() const;
};

class TableReader {
   public:
    // Borrows `text`. Corrupt when there is no header or a column name stands twice.
    static Result<TableReader> open(std::string_view text, char separator);

    [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;

    // The next row, or nothing at the end. Corrupt names the line of a row with another number of cells
    // than the header, or with a quote that is never closed. Blank lines are skipped.
    Result<std::optional<std::vector<Cell>>> next();

    // Line on which the row that next() returned begins, from 1.
    [[nodiscard]] std::size_t line() const { return row_line_; }

   private:
    TableReader(std::string_view text, char separator) : text_(text), separator_(separator) {}
    Result<std::vector<Cell>> read_row();
    Result<Cell> read_cell();

    std::string_view text_;
    char separator_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t row_line_ = 1;
    std::vector<std::string> names_;
};

}  // namespace clasp::eval
