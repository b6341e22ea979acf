// Bodies of requests as the server's routes read them: OpenAI's and Ollama's, up to what the engine would
// get.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "clasp/policy.h"
#include "request/option_table.h"
#include "serve/chat_request.h"
#include "serve/fields.h"
#include "serve/ollama_request.h"

namespace {

struct Fixture {
    clasp::serve::ServeOptions options;
    clasp::serve::ModelCard card;
    clasp::Policy policy;
    clasp::serve::HttpRequest http;

    Fixture() {
        options.settings = clasp::request::default_settings();
        options.model_id = card.id = "tiny";
        card.info.context_length = 2048;
        policy = *clasp::find_profile("llava");
        http.method = "POST";
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Fixture kFixture;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    clasp::base::Json body;
    if (clasp::serve::read_body(text, kFixture.options.http, kFixture.options.limits, body)) return 0;
    const clasp::serve::ChatContext context = {kFixture.options, kFixture.card, kFixture.policy};
    clasp::serve::ChatRequest openai;
    (void)clasp::serve::read_openai_chat(body, kFixture.http, context, openai);
    bool is_empty = false;
    clasp::serve::ChatRequest chat;
    (void)clasp::serve::read_ollama_chat(body, kFixture.http, context, chat, is_empty);
    clasp::serve::ChatRequest generate;
    (void)clasp::serve::read_ollama_generate(body, kFixture.http, context, generate, is_empty);
    return 0;
}
