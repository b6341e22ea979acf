#include <cmath>

#include "base/suggest.h"
#include "base/text.h"
#include "clasp/schedule.h"
#include "select/schedule_published.h"

namespace clasp {
namespace {

using base::in_quotes;

Status bad_text(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

}  // namespace

Result<BudgetSpec> parse_budget(std::string_view text) {
    if (text == "none") return BudgetSpec{BudgetSpec::Kind::None, 0.0};
    if (text == "auto") return BudgetSpec{BudgetSpec::Kind::Auto, 0.0};
    const bool is_percent = !text.empty() && text.back() == '%';
    const auto value = base::parse_double(is_percent ? text.substr(0, text.size() - 1) : text);
    if (!value || *value <= 0.0 || (is_percent && *value > 100.0)) {
        return bad_text(
            "budget " + in_quotes(text) +
            " is not a number of tokens above 0, a percentage above 0 and at most 100%, 'none' or 'auto'");
    }
    return BudgetSpec{is_percent ? BudgetSpec::Kind::Percent : BudgetSpec::Kind::Tokens, *value};
}

std::string to_text(const BudgetSpec& budget) {
    switch (budget.kind) {
        case BudgetSpec::Kind::Tokens: return base::format_exact(budget.value);
        case BudgetSpec::Kind::Percent: return base::format_exact(budget.value) + "%";
        case BudgetSpec::Kind::None: return "none";
        case BudgetSpec::Kind::Auto: break;
    }
    return "auto";
}

std::vector<std::string_view> schedule_names() {
    std::vector<std::string_view> names;
    for (const scheduling::PublishedSchedule& schedule : scheduling::kPublished)
        names.push_back(schedule.name);
    return names;
}

Result<std::string> find_schedule_name(std::string_view name) {
    const std::vector<std::string_view> names = schedule_names();
    for (const std::string_view known : names) {
        if (base::is_same_name(known, name)) return std::string(known);
    }
    return Status(Code::NotFound, "there is no schedule " + in_quotes(name) +
                                      base::did_you_mean(name, names) + "; there are " + base::join(names));
}

Result<std::vector<Stage>> parse_stages(std::string_view text) {
    std::vector<Stage> stages;
    for (const std::string_view piece : base::split(text, ',')) {
        const std::size_t colon = piece.find(':');
        const auto layer = base::parse_size(piece.substr(0, colon));
        const auto keep =
            colon == std::string_view::npos ? std::nullopt : base::parse_size(piece.substr(colon + 1));
        if (!layer || !keep)
            return bad_text("schedule piece " + in_quotes(piece) + " is not LAYER:COUNT, such as 2:300");
        if (*keep == 0)
            return bad_text("schedule piece " + in_quotes(piece) + " keeps no token; the least is 1");
        if (!stages.empty() && *layer <= stages.back().layer) {
            return bad_text("schedule piece " + in_quotes(piece) +
                            " is not at a later layer than the piece before it");
        }
        if (!stages.empty() && *keep > stages.back().keep) {
            return bad_text("schedule piece " + in_quotes(piece) +
                            " keeps more tokens than the piece before it");
        }
        stages.push_back({*layer, *keep});
    }
    return stages;
}

std::string to_text(const std::vector<Stage>& stages) {
    std::string text;
    for (const Stage& stage : stages) {
        text += (text.empty() ? "" : ",") + std::to_string(stage.layer) + ":" + std::to_string(stage.keep);
    }
    return text;
}

Result<std::vector<std::size_t>> parse_stage_layers(std::string_view text) {
    std::vector<std::size_t> layers;
    for (const std::string_view piece : base::split(text, ',')) {
        const auto layer = base::parse_size(piece);
        if (!layer) return bad_text("stage " + in_quotes(piece) + " is not a decoder layer counted from 0");
        if (!layers.empty() && *layer <= layers.back()) {
            return bad_text("stage " + in_quotes(piece) +
                            " is not at a later layer than the stage before it");
        }
        layers.push_back(*layer);
    }
    return layers;
}

Result<std::vector<std::size_t>> parse_stage_shape(std::string_view text) {
    std::vector<std::size_t> shape;
    for (const std::string_view piece : base::split(text, ',')) {
        const auto proportion = base::parse_size(piece);
        if (!proportion) return bad_text("proportion " + in_quotes(piece) + " is not a whole number");
        shape.push_back(*proportion);
    }
    return shape;
}

}  // namespace clasp
