#include "request/option_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/cpu_share.h"
#include "base/suggest.h"
#include "base/text.h"
#include "clasp/policy.h"
#include "clasp/schedule.h"
#include "request/cache_folder.h"

namespace clasp::request {

namespace {

// Far beyond what any decoder reads; what a model makes of a limit, its tower says.
constexpr double kMaxPictureTokens = 1 << 20;
constexpr double kMaxTiles = 1024;

Status set_budget(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.request.budget, parse_budget(base::lower(value.text)));
    return ok_status();
}

Status set_schedule(Settings& s, const Value& value) {
    if (value.text.find(':') == std::string::npos) {
        CLASP_ASSIGN_OR_RETURN(s.request.schedule_name, find_schedule_name(value.text));
    } else {
        CLASP_ASSIGN_OR_RETURN(s.request.forced_stages, parse_stages(value.text));
    }
    return ok_status();
}

Status set_mass(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.request.mass, parse_mass(value.text));
    return ok_status();
}

// A policy that is named also mixes its layers for methods that do not mix by themselves.
Status set_policy(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.request.policy,
                           s.may_read_files ? load_policy(value.text) : find_profile(value.text));
    if (!s.is_given("no-fusion")) s.request.use_fusion = true;
    return ok_status();
}

Status set_cache(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.engine.cache_dir, cache_folder(value.text));
    return ok_status();
}

std::vector<Row> model_rows() {
    return {
        {Scope::Model,
         {.name = "model",
          .type = OptionType::Text,
          .value = "NAME|FILE",
          .fallback = "tiny",
          .help = "a model that comes with the program, or a text GGUF file"},
         [](Settings& s, const Value& value) {
             s.model = value.text;
             return ok_status();
         }},
        {Scope::Model,
         {.name = "mmproj",
          .type = OptionType::File,
          .value = "FILE",
          .help = "the vision GGUF file of --model FILE"},
         [](Settings& s, const Value& value) {
             s.mmproj = value.text;
             return ok_status();
         }},
    };
}

std::vector<Row> asking_rows() {
    return {
        {.scope = Scope::Asking,
         .option = {.name = "budget",
                    .type = OptionType::Text,
                    .value = "N|P%|none|auto",
                    .fallback = "33%",
                    .help = "visual tokens per decoder layer on average, or per cent of all; auto prunes "
                            "only where it "
                            "pays"},
         .set = set_budget,
         .takes_number = true},
        {Scope::Asking,
         {.name = "budget-kind",
          .type = OptionType::Choice,
          .value = "KIND",
          .fallback = "average",
          .help = "what the budget counts: visual tokens per decoder layer on average, those that enter the "
                  "decoder, or those left in the end",
          .choices = {"average", "entering", "final"}},
         [](Settings& s, const Value& value) {
             s.request.budget_kind = value.text;
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "schedule",
          .type = OptionType::Text,
          .value = "SPEC",
          .help =
              "instead of a budget: stages such as 2:300,6:200,15:110, or paper-192, paper-128, paper-64"},
         set_schedule},
        {Scope::Asking,
         {.name = "method",
          .type = OptionType::Text,
          .value = "NAME",
          .help = "how tokens are chosen; 'clasp-vlm methods' lists them (default: the policy's)"},
         [](Settings& s, const Value& value) {
             s.request.method = value.text;
             return ok_status();
         }},
        {.scope = Scope::Asking,
         .option = {.name = "method-option",
                    .type = OptionType::Text,
                    .value = "NAME=VALUE",
                    .help = "an option of the method, such as faithful=paper; 'clasp-vlm methods NAME' lists "
                            "them",
                    .is_repeatable = true},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.method_options.push_back(value.text);
                 return ok_status();
             },
         .key = "method_options"},
        {Scope::Asking,
         {.name = "position-mode",
          .type = OptionType::Choice,
          .value = "MODE",
          .fallback = "official",
          .help = "positions of kept tokens: as in the method's official code, the original ones, or 0, 1, "
                  "2, ... "
                  "anew",
          .choices = {"official", "keep", "compact"}},
         [](Settings& s, const Value& value) {
             s.request.position_mode = value.text;
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "mass",
          .type = OptionType::Choice,
          .value = "RULE",
          .help = "what dropped tokens leave to their nearest survivor (default: the method's)",
          .choices = {"none", "nearest"}},
         set_mass},
        {Scope::Asking,
         {.name = "policy",
          .type = OptionType::Text,
          .value = "NAME|FILE",
          .help = "profile or policy file with the settings per class; naming one also mixes its vision "
                  "layers "
                  "for methods that do not mix by themselves (default: the model's own, or that of its "
                  "vision tower)"},
         set_policy},
        {.scope = Scope::Asking,
         .option = {.name = "class",
                    .type = OptionType::Text,
                    .value = "ID|NAME",
                    .help = "class of the question, instead of the router's: a number, a name or its first "
                            "word"},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.class_choice = value.text;
                 return ok_status();
             },
         .takes_number = true},
        {.scope = Scope::Asking,
         .option = {.name = "no-fusion", .help = "read only the vision layer that the original model reads"},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.use_fusion = value.is_on;
                 return ok_status();
             },
         .key = "fusion",
         .is_negated = true},
        {Scope::Asking,
         {.name = "vanilla", .help = "no fusion and no pruning: what the original model computes"},
         [](Settings& s, const Value& value) {
             s.request.vanilla = value.is_on;
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "compat",
          .type = OptionType::Choice,
          .value = "WHOSE",
          .fallback = "original",
          .help = "whose numbers: the original model's, or llama.cpp's for side-by-side tests",
          .choices = {"original", "llama.cpp"}},
         [](Settings& s, const Value& value) {
             s.request.compat = value.text == "original" ? Compat::Original : Compat::LlamaCpp;
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "image-min-tokens",
          .type = OptionType::Integer,
          .value = "N",
          .help = "visual tokens of a picture at least, of models that take pictures of any size; smaller "
                  "pictures are enlarged (default: as the model's authors have it)",
          .min = 1,
          .max = kMaxPictureTokens},
         [](Settings& s, const Value& value) {
             s.request.detail.min_tokens = static_cast<std::size_t>(value.integer);
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "image-max-tokens",
          .type = OptionType::Integer,
          .value = "N",
          .help =
              "visual tokens of a picture at most, of models that take pictures of any size; larger "
              "pictures are reduced (default: as the model's authors have it: a photograph of 4000 x 3000 "
              "pixels is 15301 tokens to Qwen2.5-VL)",
          .min = 1,
          .max = kMaxPictureTokens},
         [](Settings& s, const Value& value) {
             s.request.detail.max_tokens = static_cast<std::size_t>(value.integer);
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "image-tokens",
          .type = OptionType::Choice,
          .value = "NAME",
          .fallback = "default",
          .help = "both limits by name: the authors' own, or those behind the paper's figures (1280 to 16384 "
                  "for Qwen2.5-VL)",
          .choices = {"default", "paper"}},
         [](Settings& s, const Value& value) {
             s.request.detail.preset = value.text == "default" ? "" : value.text;
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "max-tiles",
          .type = OptionType::Integer,
          .value = "N",
          .help = "tiles that a picture is cut into at most, of models that take as many as fit (default: as "
                  "the file says)",
          .min = 1,
          .max = kMaxTiles},
         [](Settings& s, const Value& value) {
             s.request.detail.max_tiles = static_cast<std::size_t>(value.integer);
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "merge",
          .type = OptionType::Choice,
          .value = "NAME",
          .help =
              "order of the tokens of LLaVA-NeXT's tiles: row by row over all of them without padding and "
              "with line breaks (spatial_unpad), the same with padding and without line breaks (spatial: "
              "2880 tokens of most photographs, which papers count), or tile by tile (flat) (default: as "
              "the file says)",
          .choices = {"spatial_unpad", "spatial", "flat"}},
         [](Settings& s, const Value& value) {
             s.request.detail.tile_merge = value.text;
             return ok_status();
         }},
        {Scope::Asking,
         {.name = "select-seed",
          .type = OptionType::Integer,
          .value = "S",
          .fallback = "0",
          .help = "seed of methods that draw, and of the clustering's start (0: deterministic)",
          .min = 0,
          .max = 9e15},
         [](Settings& s, const Value& value) {
             s.request.select_seed = static_cast<std::uint64_t>(value.integer);
             return ok_status();
         }},
    };
}

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

std::vector<Row> engine_rows() {
    return {
        {Scope::Memory,
         {.name = "cache",
          .type = OptionType::File,
          .value = "DIR|auto",
          .help = "folder that keeps vision layers, so that another question about an image skips the "
                  "encoder; it "
                  "is made if need be; auto is ~/.cache/clasp/features",
          .group = OptionGroup::Performance},
         set_cache},
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
          .choices = {"auto", "file", "i16", "f32", "f16", "bf16", "q8_0", "q4_0"}},
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

std::string with_underscores(std::string_view name) {
    std::string text(name);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

}  // namespace

std::span<const Row> option_table() {
    static const std::vector<Row> kTable = [] {
        std::vector<Row> table;
        for (auto rows : {model_rows(), asking_rows(), router_rows(), generation_rows(), engine_rows()}) {
            table.insert(table.end(), rows.begin(), rows.end());
        }
        for (Row& row : table) {
            if (row.key.empty()) row.key = with_underscores(row.option.name);
        }
        return table;
    }();
    return kTable;
}

const Row* find_row(std::string_view name) {
    for (const Row& row : option_table()) {
        if (row.option.name == name) return &row;
    }
    return nullptr;
}

std::vector<Option> options_of(Scope scope) {
    std::vector<Option> options;
    for (const Row& row : option_table()) {
        if (row.scope == scope) options.push_back(row.option);
    }
    return options;
}

Option option_named(std::string_view name) {
    const Row* row = find_row(name);
    CLASP_CHECK(row != nullptr);
    return row->option;
}

std::string spelled(std::string_view name, Caller caller) {
    if (caller == Caller::CommandLine) return "--" + std::string(name);
    const Row* row = find_row(name);
    return row != nullptr ? row->key : with_underscores(name);
}

Settings default_settings() {
    Settings settings;
    for (const Row& row : option_table()) {
        if (row.option.fallback.empty()) continue;
        const auto value = read_text(row.option, row.option.name, row.option.fallback);
        CLASP_CHECK(value.ok());
        CLASP_CHECK(row.set(settings, *value).ok());
    }
    return settings;
}

Status set_option(Settings& settings, std::span<const Scope> scopes, std::string_view key,
                  std::string_view text) {
    std::vector<std::string_view> keys;
    for (const Row& row : option_table()) {
        if (std::find(scopes.begin(), scopes.end(), row.scope) == scopes.end()) continue;
        keys.emplace_back(row.key);
        if (row.key != key) continue;
        CLASP_ASSIGN_OR_RETURN(const Value value, read_text(row.option, row.key, text));
        CLASP_RETURN_IF_ERROR(row.set(settings, value));
        settings.given.emplace(row.option.name);
        return ok_status();
    }
    return {Code::NotFound, "there is no option " + base::in_quotes(key) + base::did_you_mean(key, keys) +
                                "; there are " + base::join(keys)};
}

}  // namespace clasp::request
