// The page about JSON output, read as data: which fields it lists for which command.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace clasp::test {

class JsonPage {
   public:
    // docs/reference/json.md. A section is a heading; its fields are what stands in backticks in the first
    // column of its tables. A row whose text links to another section ("all fields of [ask](#ask)") stands
    // for that section's fields too.
    static JsonPage read();
    static JsonPage parse(const std::string& text);

    [[nodiscard]] bool has_section(const std::string& section) const { return sections_.contains(section); }

    // The fields of an output that the section does not list, as the page would write them. An unknown
    // section lists nothing.
    [[nodiscard]] std::vector<std::string> undocumented(const std::string& section,
                                                        const base::Json& output) const;

   private:
    using Path = std::vector<std::string>;  // "stages[].layer" is stages, [], layer

    static Path parse_path(const std::string& text);

    std::map<std::string, std::vector<Path>> sections_;
};

}  // namespace clasp::test
