// clasp-vlm schedule: how many visual tokens each decoder layer processes under a budget.
#include <iomanip>
#include <string>

#include "base/text.h"
#include "clasp/schedule.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace clasp::cli {

namespace {

constexpr double kMaxTokens = 1 << 20;
constexpr double kMaxLayers = 1024;

Result<ScheduleRequest> read_request(const Arguments& arguments) {
    ScheduleRequest request;
    request.n_visual = static_cast<std::size_t>(arguments.integer("tokens"));
    request.n_layers = static_cast<std::size_t>(arguments.integer("layers"));
    if (arguments.text("stage-mode") == "after") request.stage_mode = StageMode::After;
    if (const auto stages = arguments.text_if("stages")) {
        CLASP_ASSIGN_OR_RETURN(request.stage_layers, parse_stage_layers(*stages));
    }
    if (const auto shape = arguments.text_if("shape")) {
        CLASP_ASSIGN_OR_RETURN(request.shape, parse_stage_shape(*shape));
    }
    if (const auto schedule = arguments.text_if("schedule")) {
        if (schedule->find(':') == std::string::npos) {
            CLASP_ASSIGN_OR_RETURN(request.named, find_schedule_name(*schedule));
        } else {
            CLASP_ASSIGN_OR_RETURN(request.forced, parse_stages(*schedule));
        }
        return request;
    }
    CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(base::lower(arguments.text("budget"))));
    if (request.budget.kind == BudgetSpec::Kind::Auto) {
        return Status(
            Code::InvalidArgument,
            "--budget auto needs a model to measure; a schedule takes a number, a percentage or none");
    }
    return request;
}

Status check(const Arguments& arguments) {
    const bool has_budget = arguments.is_given("budget");
    if (has_budget == arguments.is_given("schedule")) {
        return {Code::InvalidArgument, has_budget ? "--budget and --schedule exclude each other"
                                                  : "one of --budget and --schedule is required"};
    }
    return read_request(arguments).status();
}

Json flops_json(const Flops& flops) {
    return {{"projections", flops.projections},
            {"attention", flops.attention},
            {"ffn", flops.ffn},
            {"head", flops.head},
            {"total", flops.total()}};
}

Json as_json(const Schedule& schedule, const ScheduleCost& cost) {
    Json stages = Json::array();
    for (const Stage& stage : schedule.stages)
        stages.push_back({{"layer", stage.layer}, {"keep", stage.keep}});
    return {{"stages", stages},
            {"average", schedule.average},
            {"flops_ratio", cost.flops_ratio},
            {"entering", schedule.n_entering},
            {"final", schedule.n_final},
            {"source", source_name(schedule.source)},
            {"per_layer", schedule.per_layer},
            {"flops",
             {{"prefill", flops_json(cost.prefill)},
              {"prefill_unpruned", flops_json(cost.prefill_unpruned)},
              {"decode", flops_json(cost.decode)},
              {"decode_unpruned", flops_json(cost.decode_unpruned)}}},
            {"note", schedule.note}};
}

void print(const Schedule& schedule, const ScheduleCost& cost, Console& console) {
    console.out << "layer  visual tokens from there on\n";
    const bool starts_at_once = !schedule.stages.empty() && schedule.stages.front().layer == 0;
    if (!starts_at_once) console.out << std::setw(5) << 0 << "  " << schedule.n_entering << '\n';
    for (const Stage& stage : schedule.stages)
        console.out << std::setw(5) << stage.layer << "  " << stage.keep << '\n';
    console.out << "average " << fixed(schedule.average, 1) << " per layer (" << source_name(schedule.source)
                << "), prefill " << fixed(cost.prefill.total() / 1e12, 2) << " of "
                << fixed(cost.prefill_unpruned.total() / 1e12, 2) << " TFLOP ("
                << fixed(100.0 * cost.flops_ratio, 1) << " %)\n";
    if (!schedule.note.empty()) console.out << schedule.note << '\n';
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const ScheduleRequest request, read_request(arguments));
    CLASP_ASSIGN_OR_RETURN(const Schedule schedule, make_schedule(request));
    DecoderShape shape = default_decoder_shape(request.n_layers);
    shape.width = static_cast<std::size_t>(arguments.integer("width"));
    shape.ffn_width = static_cast<std::size_t>(arguments.integer("ffn-width"));
    shape.n_heads = static_cast<std::size_t>(arguments.integer("heads"));
    shape.n_kv_heads = arguments.is_given("kv-heads")
                           ? static_cast<std::size_t>(arguments.integer("kv-heads"))
                           : shape.n_heads;
    shape.head_width = shape.width / shape.n_heads;
    if (shape.head_width * shape.n_heads != shape.width) {
        return {Code::InvalidArgument, "--width " + std::to_string(shape.width) +
                                           " is not a multiple of --heads " + std::to_string(shape.n_heads)};
    }
    if (shape.n_kv_heads > shape.n_heads || shape.n_heads % shape.n_kv_heads != 0) {
        return {Code::InvalidArgument, "--heads " + std::to_string(shape.n_heads) +
                                           " is not a multiple of --kv-heads " +
                                           std::to_string(shape.n_kv_heads)};
    }
    CLASP_ASSIGN_OR_RETURN(const ScheduleCost cost,
                           schedule_cost(schedule, shape, request.n_visual,
                                         static_cast<std::size_t>(arguments.integer("text-tokens")),
                                         static_cast<std::size_t>(arguments.integer("generated"))));
    if (arguments.flag("json")) {
        write_json(console, as_json(schedule, cost));
    } else {
        print(schedule, cost, console);
    }
    return ok_status();
}

}  // namespace

Command schedule_command() {
    return {
        .name = "schedule",
        .summary = "Turn a budget into tokens per decoder layer, with its cost",
        .options =
            {
                {.name = "tokens",
                 .type = OptionType::Integer,
                 .value = "N",
                 .help = "visual tokens that enter the decoder",
                 .min = 1,
                 .max = kMaxTokens,
                 .is_required = true},
                {.name = "layers",
                 .type = OptionType::Integer,
                 .value = "D",
                 .help = "decoder layers",
                 .min = 1,
                 .max = kMaxLayers,
                 .is_required = true},
                {.name = "budget",
                 .type = OptionType::Text,
                 .value = "R|P%|none",
                 .help = "average visual tokens per decoder layer, or per cent of all"},
                {.name = "schedule",
                 .type = OptionType::Text,
                 .value = "SPEC",
                 .help = "instead of a budget: stages such as 2:300,6:200,15:110, or paper-192, paper-128, "
                         "paper-64"},
                {.name = "stages",
                 .type = OptionType::Text,
                 .value = "LAYERS",
                 .help = "decoder layers that prune, such as 2,6,15"},
                {.name = "shape",
                 .type = OptionType::Text,
                 .value = "PROPORTIONS",
                 .help = "proportions of the counts at --stages, such as 16,12,9 (default: as published)"},
                {.name = "stage-mode",
                 .type = OptionType::Choice,
                 .value = "MODE",
                 .fallback = "before",
                 .help = "whether a stage's own layer already runs on the kept tokens",
                 .choices = {"before", "after"}},
                {.name = "text-tokens",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "0",
                 .help = "text tokens, for the cost",
                 .min = 0,
                 .max = kMaxTokens},
                {.name = "generated",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "0",
                 .help = "tokens generated, for the cost of decoding",
                 .min = 0,
                 .max = kMaxTokens},
                {.name = "width",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "4096",
                 .help = "decoder width, for the cost",
                 .min = 1,
                 .max = kMaxTokens},
                {.name = "ffn-width",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "11008",
                 .help = "width of the gated feed-forward layer, for the cost",
                 .min = 1,
                 .max = kMaxTokens},
                {.name = "heads",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "32",
                 .help = "attention heads, for the cost",
                 .min = 1,
                 .max = kMaxTokens},
                {.name = "kv-heads",
                 .type = OptionType::Integer,
                 .value = "N",
                 .help = "key and value heads, for the cost (default: as many as heads)",
                 .min = 1,
                 .max = kMaxTokens},
            },
        .check = check,
        .run = run,
    };
}

}  // namespace clasp::cli
