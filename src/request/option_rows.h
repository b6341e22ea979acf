// The rows of the option table, by what they are about. Their order is that of help.
#pragma once

#include <vector>

#include "request/option_table.h"

namespace clasp::request {

// Scope::Model
std::vector<Row> model_rows();
// Scope::Asking: what is kept, how finely pictures are seen, clips, questions that follow others
std::vector<Row> asking_rows();
std::vector<Row> detail_rows();
std::vector<Row> clip_rows();
std::vector<Row> history_rows();
// Scope::Router, Scope::Generation, Scope::Time
std::vector<Row> router_rows();
std::vector<Row> generation_rows();
std::vector<Row> time_rows();
// Scope::Memory, Scope::Engine
std::vector<Row> engine_rows();

}  // namespace clasp::request
