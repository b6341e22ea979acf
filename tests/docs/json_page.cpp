#include "json_page.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "support/paths.h"

namespace clasp::test {

namespace {

const std::string kElement = "[]";

// "{layer}" stands for any name.
bool is_any_name(const std::string& part) {
    return part.starts_with('{');
}

using Visit = std::function<void(const std::vector<std::string>& path, bool is_empty)>;

// Every value that is no object, and lists of such values, with the way to it.
void each_field(const base::Json& value, std::vector<std::string>& path, const Visit& visit) {
    const auto go_into = [&](const std::string& part, const base::Json& inner) {
        path.push_back(part);
        each_field(inner, path, visit);
        path.pop_back();
    };
    const bool has_objects = value.is_array() && std::any_of(value.begin(), value.end(),
                                                             [](const auto& e) { return e.is_object(); });
    if (value.is_object() && !value.empty()) {
        for (const auto& [key, inner] : value.items()) go_into(key, inner);
    } else if (has_objects) {
        for (const auto& inner : value) go_into(kElement, inner);
    } else {
        visit(path, value.empty());  // null is empty too
    }
}

std::string as_text(const std::vector<std::string>& path) {
    std::string text;
    for (const std::string& part : path) {
        if (!text.empty() && part != kElement) text += '.';
        text += part;
    }
    return text;
}

}  // namespace

JsonPage::Path JsonPage::parse_path(const std::string& text) {
    Path path;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, '.');) {
        const bool is_list = part.ends_with(kElement);
        if (is_list) part.resize(part.size() - kElement.size());
        path.push_back(part);
        if (is_list) path.push_back(kElement);
    }
    return path;
}

JsonPage JsonPage::parse(const std::string& text) {
    static const std::regex kField("`([^`]+)`");
    static const std::regex kSameAs(R"(all fields of \[[^\]]*\]\(#([^)]+)\))");
    struct Same {
        std::string section;
        Path prefix;
        std::string other;
    };
    JsonPage page;
    std::vector<Same> same;
    std::string section;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("##")) section = line.substr(line.find_first_not_of("# "));
        if (!line.starts_with("| `")) continue;
        const std::string names = line.substr(0, line.find('|', 1));
        for (auto it = std::sregex_iterator(names.begin(), names.end(), kField); it != std::sregex_iterator();
             ++it) {
            const Path path = parse_path((*it)[1]);
            page.sections_[section].push_back(path);
            std::smatch link;
            if (std::regex_search(line, link, kSameAs)) same.push_back({section, path, link[1]});
        }
    }
    for (const Same& entry : same) {
        const std::vector<Path> inner = page.sections_[entry.other];
        for (const Path& path : inner) {
            Path whole = entry.prefix;
            whole.insert(whole.end(), path.begin(), path.end());
            page.sections_[entry.section].push_back(std::move(whole));
        }
    }
    return page;
}

JsonPage JsonPage::read() {
    std::ifstream file(std::string(source_dir()) + "/docs/reference/json.md");
    std::ostringstream text;
    text << file.rdbuf();
    return parse(text.str());
}

std::vector<std::string> JsonPage::undocumented(const std::string& section, const base::Json& output) const {
    const auto listed = sections_.find(section);
    std::set<std::string> missing;
    Path at;
    each_field(output, at, [&](const Path& path, bool is_empty) {
        const auto lists = [&](const Path& known) {
            // Of an empty list or object the page may list what would be in it.
            if (known.size() < path.size() || (known.size() > path.size() && !is_empty)) return false;
            return std::equal(
                path.begin(), path.end(), known.begin(),
                [](const std::string& a, const std::string& b) { return a == b || is_any_name(b); });
        };
        const bool is_listed =
            listed != sections_.end() && std::any_of(listed->second.begin(), listed->second.end(), lists);
        if (!is_listed) missing.insert(as_text(path));
    });
    return {missing.begin(), missing.end()};
}

}  // namespace clasp::test
