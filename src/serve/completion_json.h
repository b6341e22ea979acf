// The whole answer in llama-server's own form: the reply of /completion, and what "__verbose" has in others.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/service.h"

namespace clasp::serve {

struct CompletionForm {
    std::string_view model;
    std::string_view prompt;  // as text; pictures are marks
    bool has_text = true;     // false at the end of a stream, which had the text and the tokens before
    bool wants_tokens = false;
};
base::Json completion_json(const RunningChat& chat, const CompletionForm& form);

base::Json ids_json(const std::vector<WrittenToken>& tokens);

}  // namespace clasp::serve
