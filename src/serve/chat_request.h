// A request of any of the APIs as this server understands it: what to ask the engine, and how to reply.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
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

// Clients give up on a stream in which nothing comes.
inline constexpr std::chrono::seconds kSilence{15};

struct ChatRequest {
    AskRequest ask;                   // borrows from pictures
    std::list<std::string> pictures;  // encoded bytes
    bool has_max_tokens = false;
    bool streams = false;
    bool wants_usage = false;     // in a stream: a chunk for it
    bool wants_progress = false;  // in a stream: chunks before the first word
    bool wants_tokens = false;    // in a stream: pieces that are tokens, with what is known of them
    bool wants_timings = false;   // in a stream: timings in every piece
    bool is_verbose = false;      // "__verbose" in the reply: the prompt and the settings as they were used
    // In a stream: after so much silence a sign of life; nothing: none ever.
    std::optional<std::chrono::seconds> silence = kSilence;
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
// What the bodies of most APIs begin with: model, stream, tools, clasp. chat.ask.generation gets the server's
// defaults.
Check read_head(const Fields& fields, const HttpRequest& http, const ChatContext& context,
                request::Settings& settings, ChatRequest& chat);
// Tools are refused, unless there are none or the server ignores them.
Check check_tools(const Fields& fields, const ChatContext& context);
// Fields that would change the answer and cannot be honoured, unless they say what happens anyway.
Check check_unsupported(const Fields& fields);
// Pictures by their headers: each, and all together. place: the field that has them.
Check check_pictures(const std::list<std::string>& pictures, const RequestLimits& limits,
                     const std::string& place);
// The messages, the last of them the question or the beginning of its answer, and what the settings say, into
// chat.ask.
Check read_conversation(const base::Json& messages, const ChatContext& context,
                        const request::Settings& settings, ChatRequest& chat);

// stream_options and n, of OpenAI's chat and text completions.
Check read_stream_options(const Fields& fields, const ChatContext& context, ChatRequest& chat);

// ---- OpenAI's chat completions ----

Check read_openai_chat(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                       ChatRequest& chat);

}  // namespace clasp::serve
