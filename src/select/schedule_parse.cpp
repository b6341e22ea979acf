#include <cmath>

#include "base/text.h"
#include "clasp/schedule.h"

namespace clasp {
namespace {

using base::in_quotes;

Status bad(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

}  // namespace

Result<BudgetSpec> parse_budget(std::string_view text) {
    if (text == "none") return BudgetSpec{BudgetSpec::Kind::None, 0.0};
    if (text == "auto") return BudgetSpec{BudgetSpec::Kind::Auto, 0.0};
    const bool is_percent = !text.empty() && text.back() == '%';
    const auto value = base::parse_double(is_percent ? text.substr(0, text.size() - 1) : text);
    if (!value || *value <= 0.0 || (is_percent && *value > 100.0)) {
        return bad(
            "budget " + in_quotes(text) +
            " is not a number of tokens above 0, a percentage above 0 and at most 100%, 'none' or 'auto'");
    }
    return BudgetSpec{is_percent ? BudgetSpec::Kind::Percent : BudgetSpec::Kind::Tokens, *value};
}

Result<std::vector<Stage>> parse_stages(std::string_view text) {
    std::vector<Stage> stages;
    for (const std::string_view piece : base::split(text, ',')) {
        const std::size_t colon = piece.find(':');
        const auto layer = base::parse_size(piece.substr(0, colon));
        const auto keep =
            colon == std::string_view::npos ? std::nullopt : base::parse_size(piece.substr(colon + 1));
        if (!layer || !keep)
            return bad("schedule piece " + in_quotes(piece) + " is not LAYER:COUNT, such as 2:300");
        if (*keep == 0) return bad("schedule piece " + in_quotes(piece) + " keeps no token; the least is 1");
        if (!stages.empty() && *layer <= stages.back().layer) {
            return bad("schedule piece " + in_quotes(piece) +
                       " is not at a later layer than the piece before it");
        }
        if (!stages.empty() && *keep > stages.back().keep) {
            return bad("schedule piece " + in_quotes(piece) + " keeps more tokens than the piece before it");
        }
        stages.push_back({*layer, *keep});
    }
    return stages;
}

Result<std::vector<std::size_t>> parse_stage_layers(std::string_view text) {
    std::vector<std::size_t> layers;
    for (const std::string_view piece : base::split(text, ',')) {
        const auto layer = base::parse_size(piece);
        if (!layer) return bad("stage " + in_quotes(piece) + " is not a decoder layer counted from 0");
        if (!layers.empty() && *layer <= layers.back()) {
            return bad("stage " + in_quotes(piece) + " is not at a later layer than the stage before it");
        }
        layers.push_back(*layer);
    }
    return layers;
}

Result<std::vector<std::size_t>> parse_stage_shape(std::string_view text) {
    std::vector<std::size_t> shape;
    for (const std::string_view piece : base::split(text, ',')) {
        const auto proportion = base::parse_size(piece);
        if (!proportion) return bad("proportion " + in_quotes(piece) + " is not a whole number");
        shape.push_back(*proportion);
    }
    return shape;
}

}  // namespace clasp
