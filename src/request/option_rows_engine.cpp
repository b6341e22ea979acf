#include "request/option_rows.h"

#include "base/cpu_share.h"
#include "request/cache_folder.h"

namespace clasp::request {

namespace {

Status set_cache(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.engine.cache_dir, cache_folder(value.text));
    return ok_status();
}

}  // namespace

std::vector<Row> router_rows() {
    return {
        {Scope::Router,
         {.name = "router",
          .type = OptionType::Choice,
          .value = "KIND",
          .fallback = "classifier",
          .help = "who decides: rules and classifier, rules alone, or a chat model",
          .choices = {"classifier", "rules", "llm"}},
         [](Settings& s, const Value& value) {
             s.router.kind = value.text;
             return ok_status();
         }},
        {Scope::Router,
         {.name = "router-model",
          .type = OptionType::File,
          .value = "FILE.gguf",
          .help = "chat model for --router llm"},
         [](Settings& s, const Value& value) {
             s.router.model = value.text;
             return ok_status();
         }},
        {Scope::Router,
         {.name = "router-timeout",
          .type = OptionType::Number,
          .value = "MS",
          .fallback = "10000",
          .help = "milliseconds that the chat model may take for a question, once it has read the list of "
                  "intents, before the classifier decides",
          .min = 1,
          .max = 3.6e6},
         [](Settings& s, const Value& value) {
             s.router.timeout_ms = value.number;
             return ok_status();
         }},
        {Scope::Router,
         {.name = "taxonomy",
          .type = OptionType::File,
          .value = "FILE.json",
          .help = "your own classes, intents, rules and examples"},
         [](Settings& s, const Value& value) {
             s.router.taxonomy = value.text;
             return ok_status();
         }},
        {Scope::Router,
         {.name = "classifier",
          .type = OptionType::File,
          .value = "FILE",
          .help = "a classifier written by 'route train' instead of the built-in one"},
         [](Settings& s, const Value& value) {
             s.router.classifier = value.text;
             return ok_status();
         }},
    };
}

std::vector<Row> generation_rows() {
    return {
        {Scope::Generation,
         {.name = "max-tokens",
          .type = OptionType::Integer,
          .value = "N",
          .fallback = "256",
          .help = "longest answer",
          .min = 1,
          .max = static_cast<double>(kMaxAnswerTokens)},
         [](Settings& s, const Value& value) {
             s.request.generation.max_tokens = static_cast<std::size_t>(value.integer);
             return ok_status();
         }},
        {Scope::Generation,
         {.name = "temperature",
          .type = OptionType::Number,
          .value = "T",
          .fallback = "0",
          .help = "0 takes the most likely token; higher values vary",
          .min = 0,
          .max = 100},
         [](Settings& s, const Value& value) {
             s.request.generation.temperature = value.number;
             return ok_status();
         }},
        {Scope::Generation,
         {.name = "top-p",
          .type = OptionType::Number,
          .value = "P",
          .fallback = "1",
          .help = "probability mass that sampling draws from",
          .min = 0.000001,
          .max = 1},
         [](Settings& s, const Value& value) {
             s.request.generation.top_p = value.number;
             return ok_status();
         }},
        {Scope::Generation,
         {.name = "seed",
          .type = OptionType::Integer,
          .value = "S",
          .fallback = "0",
          .help = "seed of sampling",
          .min = 0,
          .max = 4294967295.0},
         [](Settings& s, const Value& value) {
             s.request.generation.seed = static_cast<std::uint32_t>(value.integer);
             return ok_status();
         }},
        {Scope::Generation,
         {.name = "stop",
          .type = OptionType::Text,
          .value = "TEXT",
          .help = "text that ends the answer and is not part of it",
          .is_repeatable = true},
         [](Settings& s, const Value& value) {
             s.request.generation.stop.push_back(value.text);
             return ok_status();
         }},
    };
}

std::vector<Row> time_rows() {
    return {
        {Scope::Time,
         {.name = "max-seconds",
          .type = OptionType::Number,
          .value = "S",
          .help = "longest time for an answer, in seconds from its question; what is written by then is the "
                  "answer",
          .min = 0.001,
          .max = kMaxSeconds},
         [](Settings& s, const Value& value) {
             s.request.max_seconds = value.number;
             return ok_status();
         }},
    };
}

std::vector<Row> engine_rows() {
    return {
        {.scope = Scope::Memory,
         .option =
             {.name = "cache",
              .type = OptionType::File,
              .value = "DIR|auto",
              .help =
                  "folder that keeps vision layers, so that another question about an image skips the "
                  "encoder, and the keys and values of the text before it; it is made if need be; auto is "
                  "~/.cache/clasp/features",
              .group = OptionGroup::Performance},
         .set = set_cache,
         .about = About::Tokens},
        {.scope = Scope::Memory,
         .option = {.name = "cache-size",
                    .type = OptionType::Integer,
                    .value = "MIB",
                    .fallback = "8192",
                    .help = "MiB that --cache may take in its folder, the least recently used files going "
                            "first; 0 for no limit",
                    .group = OptionGroup::Performance,
                    .min = 0,
                    .max = 1 << 24},
         .set =
             [](Settings& s, const Value& value) {
                 s.engine.cache_bytes = static_cast<std::size_t>(value.integer) << 20U;
                 return ok_status();
             },
         .about = About::Tokens},
        {Scope::Memory,
         {.name = "cached-images",
          .type = OptionType::Integer,
          .value = "N",
          .fallback = "1",
          .help = "images whose vision layers stay in memory",
          .group = OptionGroup::Performance,
          .min = 0,
          .max = 1 << 20},
         [](Settings& s, const Value& value) {
             s.engine.cached_images = static_cast<std::size_t>(value.integer);
             return ok_status();
         }},
        {Scope::Memory,
         {.name = "image-cache",
          .type = OptionType::Integer,
          .value = "MIB",
          .fallback = "0",
          .help = "MiB for vision layers that stay in memory; 0 for no limit but --cached-images",
          .group = OptionGroup::Performance,
          .min = 0,
          .max = 1 << 24},
         [](Settings& s, const Value& value) {
             s.engine.cached_image_bytes = static_cast<std::size_t>(value.integer) << 20U;
             return ok_status();
         }},
        {Scope::Memory,
         {.name = "history-cache",
          .type = OptionType::Integer,
          .value = "MIB",
          .fallback = "0",
          .help = "MiB for keys and values that stay from one question to the next: the text before the "
                  "picture, its rows up to the first stage, and turns that --history reuse and auto go on "
                  "from",
          .group = OptionGroup::Performance,
          .min = 0,
          .max = 1 << 24},
         [](Settings& s, const Value& value) {
             s.engine.history_bytes = static_cast<std::size_t>(value.integer) << 20U;
             return ok_status();
         }},
        {Scope::Engine,
         {.name = "threads",
          .type = OptionType::Integer,
          .value = "N",
          .fallback = "0",
          .help = "threads, 0 for the processors that are free, at most 4 for each; the result is the same",
          .group = OptionGroup::Performance,
          .min = 0,
          .max = static_cast<double>(base::max_threads())},
         [](Settings& s, const Value& value) {
             s.engine.n_threads = static_cast<std::size_t>(value.integer);
             return ok_status();
         }},
        {Scope::Engine,
         {.name = "vision-weights",
          .type = OptionType::Choice,
          .value = "TYPE",
          .fallback = "auto",
          .help = "how the vision tower's matrices are kept",
          .group = OptionGroup::Performance,
          .choices = {"auto", "file", "i16", "f32", "f16", "bf16", "q8", "q4_0"}},
         [](Settings& s, const Value& value) {
             s.engine.vision_weights = value.text;
             return ok_status();
         }},
        {Scope::Engine,
         {.name = "kernels",
          .type = OptionType::Choice,
          .value = "WHOSE",
          .fallback = "ours",
          .help = "whose matrix products the decoder runs on the CPU, ours being faster",
          .group = OptionGroup::Performance,
          .choices = {"ours", "ggml"}},
         [](Settings& s, const Value& value) {
             s.engine.kernels = value.text;
             return ok_status();
         }},
        {Scope::Engine,
         {.name = "packed",
          .type = OptionType::File,
          .value = "DIR|auto|none",
          .fallback = "auto",
          .help =
              "folder that keeps the decoder's weights as its kernels want them, so that the next start is "
              "faster; it takes as much room as the model and is made if need be; auto is "
              "~/.cache/clasp/packed, for models of 256 MiB and more",
          .group = OptionGroup::Performance},
         [](Settings& s, const Value& value) {
             s.engine.packed = value.text;
             return ok_status();
         }},
        {.scope = Scope::Engine,
         .option = {.name = "no-gpu",
                    .help = "stay on the CPU even if ggml was built with a GPU",
                    .group = OptionGroup::Performance},
         .set =
             [](Settings& s, const Value& value) {
                 s.engine.use_gpu = value.is_on;
                 return ok_status();
             },
         .key = "gpu",
         .is_negated = true},
    };
}

}  // namespace clasp::request
