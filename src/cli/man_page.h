// The manual page, made from the option table.
#pragma once

#include <string>

namespace clasp::cli {

std::string table_as_man_page();

}  // namespace clasp::cli
