// A table of a page of the documents, read as data.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "support/paths.h"

namespace clasp::test {

using PageTable = std::vector<std::vector<std::string>>;  // rows of cells, the header first

// "| a | b |" -> {"a", "b"}.
inline std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    for (std::size_t at = line.find('|'); at != std::string::npos;) {
        const std::size_t end = line.find('|', at + 1);
        if (end == std::string::npos) break;
        std::string cell = line.substr(at + 1, end - at - 1);
        const std::size_t first = cell.find_first_not_of(' ');
        cell = first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1);
        cells.push_back(std::move(cell));
        at = end;
    }
    return cells;
}

// The table whose header begins with these words, without the line below its header; empty when there is
// none.
inline PageTable page_table(const std::string& page, const std::string& header) {
    std::ifstream file(std::string(source_dir()) + "/" + page);
    PageTable table;
    for (std::string line; std::getline(file, line);) {
        const bool is_row = line.starts_with("|");
        if (table.empty() ? line.starts_with(header) : is_row && !line.starts_with("|---")) {
            table.push_back(cells_of(line));
        } else if (!table.empty() && !is_row) {
            break;
        }
    }
    return table;
}

}  // namespace clasp::test
