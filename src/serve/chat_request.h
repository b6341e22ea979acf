// A request of any of the APIs as this server understands it: what to ask the engine, and how to reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "request/settings.h"
#include "serve/fields.h"
#include "serve/http.h"
#include "serve/model_card.h"
#include "serve/options.h"
#include "serve/refusal.h"

namespace clasp::serve {

// What of the kept tokens a reply lists.
enum class MapKind : std::uint8_t { None, Final, Stages };

struct ChatRequest {
    AskRequest ask;                   // borrows from pictures
    std::list<std::string> pictures;  // encoded bytes
    bool has_max_tokens = false;
    bool streams = false;
    bool wants_usage = false;     // in a stream: a chunk for it
    bool wants_progress = false;  // in a stream: chunks before the first word
    std::size_t n_choices = 1;
    // Of the reply's clasp object:
    bool reports = true;
    MapKind map = MapKind::None;
    std::string budget_by = "default";  // or "tag", "header", "body"
};

struct ChatContext {
    const ServeOptions& options;
    const ModelCard& card;
    const Policy& policy;  // the engine's
};

// ---- Parts that all APIs share ----

// Whether the model may be called that; the tag behind its own name ("tiny:64") as a clasp object, null for
// none.
Check read_model(const std::string& model, const ChatContext& context, base::Json& tag);
Check no_such_model(const std::string& model, const std::string& id);
// The server's defaults under the tag, the headers and the body's object, which may be null.
Check read_clasp(const base::Json& tag, const HttpRequest& http, const base::Json* body,
                 const ChatContext& context, request::Settings& settings, ChatRequest& chat);
// "max_tokens" and the like, by the names that an API has for them; the first that is there counts.
Check read_max_tokens(const Fields& fields, const std::vector<std::string_view>& names, ChatRequest& chat,
                      GenerationOptions& generation);
Check read_sampling(const Fields& fields, GenerationOptions& generation);
// The messages, the last of them the question, and what the settings say, into chat.ask.
Check read_conversation(const base::Json& messages, const ChatContext& context,
                        const request::Settings& settings, ChatRequest& chat);

// ---- OpenAI's chat completions ----

Check read_openai_chat(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                       ChatRequest& chat);

}  // namespace clasp::serve
