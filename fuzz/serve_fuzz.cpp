// Bodies of requests as the server's routes read them: OpenAI's three, llama-server's, Anthropic's and
// Ollama's, up to what the engine would get.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "clasp/policy.h"
#include "request/media_file.h"
#include "request/option_table.h"
#include "request/picture_url.h"
#include "serve/anthropic_request.h"
#include "serve/chat_request.h"
#include "serve/completion_request.h"
#include "serve/fields.h"
#include "serve/ollama_request.h"
#include "serve/responses_request.h"

namespace {

struct Fixture {
    clasp::serve::ServeOptions options;
    clasp::serve::ModelCard card;
    clasp::Policy policy;
    clasp::serve::HttpRequest http;

    Fixture() {
        options.settings = clasp::request::default_settings();
        options.model_id = card.id = "tiny";
        card.info.context_length = card.n_context = 2048;
        policy = *clasp::find_profile("llava");
        http.method = "POST";
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Fixture kFixture;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Names of pictures: what comes through is what was checked.
    if (const auto url = clasp::request::read_picture_url(text, {"good.example"})) {
        if (!url->text().starts_with("https://good.example/")) std::abort();
    }
    if (const auto path = clasp::request::media_path(text, "/srv/media")) {
        const std::string around = "/" + *path + "/";
        if (around.find("/../") != std::string::npos || around.starts_with("//")) std::abort();
    }
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
    clasp::serve::CompletionRequest completion;
    (void)clasp::serve::read_completion(body, kFixture.http, context, 512, completion);
    clasp::serve::ChatRequest text_completion;
    (void)clasp::serve::read_openai_completion(body, kFixture.http, context, 512, text_completion);
    clasp::serve::ResponsesRequest responses;
    (void)clasp::serve::read_responses(body, kFixture.http, context, responses);
    clasp::serve::ChatRequest messages;
    (void)clasp::serve::read_anthropic(body, kFixture.http, context, messages);
    return 0;
}
