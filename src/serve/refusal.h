// Why a request is not answered, as clients read it: an HTTP status, a type and a code that never change
// their spelling, and a sentence for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "clasp/status.h"
#include "serve/http.h"

namespace clasp::serve {

struct Refusal {
    int status = 400;
    std::string type = "invalid_request_error";
    std::string code;
    std::string message;
    std::string param = {};                  // the field that caused it, as clasp.budget
    base::Json more = base::Json::object();  // further members of the error
    int retry_after_s = 0;                   // 0: no such header
};

// Nothing: all is well.
using Check = std::optional<Refusal>;

#define CLASP_RETURN_IF_REFUSED(expression)                            \
    do {                                                               \
        if (auto clasp_refusal_ = (expression)) return clasp_refusal_; \
    } while (false)

// What is wrong with a picture, without the words of the library that decodes it.
std::string picture_fault(const Status& status);
// A field of the request cannot be what it is: 400.
Refusal bad_field(std::string code, std::string param, std::string message);
// What the engine and the parsers refuse: 400, or 500 with a fixed text where it is our own fault.
Refusal refusal_of(const Status& status, const std::string& request_id, std::string param = {});
// What a status alone says, for errors that the HTTP library or a limit caused.
Refusal refusal_of(int status, const std::string& request_id);

base::Json error_json(const Refusal& refusal);
// {"type": "error", "error", "request_id"}
base::Json anthropic_error(const Refusal& refusal, const std::string& request_id);
// In OpenAI's form, in Ollama's or in Anthropic's, which alone has the request's id.
enum class ErrorForm : std::uint8_t { OpenAi, Ollama, Anthropic };
HttpReply error_reply(const Refusal& refusal, ErrorForm form = ErrorForm::OpenAi,
                      const std::string& request_id = {});

}  // namespace clasp::serve
