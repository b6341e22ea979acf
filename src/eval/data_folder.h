// Finding things in a data folder. The official archives and LLaVA's evaluation package put the same files
// into different places; loaders name the places they know, in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::eval {

// The path below `folder`; `name` may be empty.
std::string in_folder(const std::string& folder, std::string_view name);

bool is_file(const std::string& path);
bool is_folder(const std::string& path);

// The first of these files that is there. Not_found names the folder and all of them.
Result<std::string> find_file(const std::string& folder, const std::vector<std::string>& names);

// The first of these folders that is there, else the first: pictures need not be there to score answers.
std::string find_image_folder(const std::string& folder, const std::vector<std::string>& names);

}  // namespace clasp::eval
