#include "engine/prefill_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/graph_inputs.h"

namespace clasp::engine {
namespace {

// The places of a visual part that lost tokens before the decoder.
Status check_places(const PromptPart& part, std::size_t n_rows, const std::string& name) {
    if (!part.places.empty() && part.places.size() != n_rows) {
        return {Code::InvalidArgument, name + " has " + std::to_string(part.places.size()) + " places for " +
                                           std::to_string(n_rows) + " tokens"};
    }
    for (const std::int32_t place : part.places) {
        if (place < 0 || place >= part.n_unpruned) {
            return {Code::InvalidArgument,
                    name + " has place " + std::to_string(place) + " of " + std::to_string(part.n_unpruned)};
        }
    }
    if (!part.masses.empty() && part.masses.size() != n_rows) {
        return {Code::InvalidArgument, name + " has " + std::to_string(part.masses.size()) + " masses for " +
                                           std::to_string(n_rows) + " tokens"};
    }
    if ((!part.lines.empty() && part.lines.size() != n_rows) ||
        (!part.is_carried.empty() && part.is_carried.size() != n_rows)) {
        return {Code::InvalidArgument,
                name + " has lines for another number of tokens than " + std::to_string(n_rows)};
    }
    for (const float mass : part.masses) {
        if (!std::isfinite(mass) || mass <= 0.0F) {
            return {Code::InvalidArgument, name + " has a mass that is not positive"};
        }
    }
    if (!part.offsets.empty() && part.offsets.size() != n_rows) {
        return {Code::InvalidArgument, name + " has positions for " + std::to_string(part.offsets.size()) +
                                           " tokens, not for " + std::to_string(n_rows)};
    }
    for (const model::Position& offset : part.offsets) {
        const auto [least, most] = std::minmax_element(offset.planes.begin(), offset.planes.end());
        if (*least < 0 || *most >= part.n_positions) {
            return {Code::InvalidArgument,
                    name + " has a token outside its " + std::to_string(part.n_positions) + " positions"};
        }
    }
    return ok_status();
}

Status check_additions(const PromptPart& part, std::size_t n_deepstack, const std::string& name) {
    if (!part.additions.empty() && part.additions.size() != n_deepstack * part.embeddings.size()) {
        return {Code::InvalidArgument, name + " brings " + std::to_string(part.additions.size()) +
                                           " floats for later blocks, not " +
                                           std::to_string(n_deepstack * part.embeddings.size())};
    }
    const bool is_finite =
        std::all_of(part.additions.begin(), part.additions.end(), [](float x) { return std::isfinite(x); });
    if (is_finite) return ok_status();
    return {Code::InvalidArgument, name + " brings a value for later blocks that is not finite"};
}

// Of row i of a part that begins at position `start`.
model::Position position_in(const PromptPart& part, std::size_t i, std::int32_t start) {
    if (!part.offsets.empty()) return model::shifted(part.offsets[i], start);
    return model::text_position(start +
                                (part.places.empty() ? static_cast<std::int32_t>(i) : part.places[i]));
}

// Positions that a part of n rows takes.
std::int32_t extent_of(const PromptPart& part, std::size_t n) {
    if (!part.offsets.empty()) return part.n_positions;
    return part.places.empty() ? static_cast<std::int32_t>(n) : part.n_unpruned;
}

Status check_length(std::size_t n_rows, std::int32_t room, std::int32_t context_length) {
    if (room < 0) return {Code::InvalidArgument, "the room for generation is negative"};
    const auto limit = static_cast<std::size_t>(context_length);
    if (n_rows + static_cast<std::size_t>(room) > limit) {
        return {Code::TooLarge, "the prompt has " + std::to_string(n_rows) + " tokens and " +
                                    std::to_string(room) + " more may follow, but the model's context is " +
                                    std::to_string(limit)};
    }
    return ok_status();
}

Status check_reference(const PrefillStage& stage, bool is_first, std::span<const LiveRow> rows) {
    const std::string at_layer = " of the stage at layer " + std::to_string(stage.layer);
    if (stage.needs.asks_attention() && stage.reference.empty()) {
        return {Code::InvalidArgument,
                "the stage at layer " + std::to_string(stage.layer) + " asks for attention of no token"};
    }
    for (const std::int32_t token : stage.reference) {
        const std::string name = "reference token " + std::to_string(token) + at_layer;
        if (token < 0 || static_cast<std::size_t>(token) >= rows.size()) {
            return {Code::InvalidArgument, name + " is not in the prompt"};
        }
        const LiveRow& row = rows[static_cast<std::size_t>(token)];
        if (!is_first && (row.visual_index >= 0 || row.line != kNoLine)) {
            return {Code::InvalidArgument,
                    name + " belongs to an image, whose tokens only the first stage can ask"};
        }
    }
    return ok_status();
}

Status check_stages(const PrefillRequest& request, std::span<const LiveRow> rows, std::int32_t n_layers) {
    std::int32_t previous = -1;
    for (const PrefillStage& stage : request.stages) {
        const std::int32_t last = stage.mode == StageMode::After ? n_layers - 2 : n_layers - 1;
        if (stage.layer <= previous || stage.layer > last) {
            return {Code::InvalidArgument, "stage layer " + std::to_string(stage.layer) + " is not above " +
                                               std::to_string(previous) + " and at most " +
                                               std::to_string(last)};
        }
        previous = stage.layer;
        CLASP_RETURN_IF_ERROR(check_reference(stage, &stage == &request.stages.front(), rows));
    }
    if (!request.stages.empty() && !request.selector) {
        return {Code::InvalidArgument, "there are stages, but no selector"};
    }
    return ok_status();
}

}  // namespace

Status check_parts(std::span<const PromptPart> parts, const model::TextConfig& config) {
    const auto width = static_cast<std::size_t>(config.width);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const PromptPart& part = parts[i];
        const std::string name = "part " + std::to_string(i) + " of the prompt";
        if (part.tokens.empty() == part.embeddings.empty()) {
            return {Code::InvalidArgument, name + " must be either tokens or embeddings"};
        }
        for (const std::int32_t token : part.tokens) {
            if (token < 0 || token >= config.vocabulary) {
                return {Code::InvalidArgument, name + " has token " + std::to_string(token) +
                                                   ", but the vocabulary has " +
                                                   std::to_string(config.vocabulary)};
            }
        }
        if (part.embeddings.size() % width != 0) {
            return {Code::InvalidArgument, name + " has " + std::to_string(part.embeddings.size()) +
                                               " floats, not a multiple of the width " +
                                               std::to_string(width)};
        }
        const auto bad = std::find_if(part.embeddings.begin(), part.embeddings.end(),
                                      [](float x) { return !std::isfinite(x); });
        if (bad != part.embeddings.end()) {
            const auto row = static_cast<std::size_t>(bad - part.embeddings.begin()) / width;
            return {Code::InvalidArgument, "visual token " + std::to_string(row) + " in " + name +
                                               " has an entry that is not finite"};
        }
        CLASP_RETURN_IF_ERROR(check_places(part, part.embeddings.size() / width, name));
        CLASP_RETURN_IF_ERROR(check_additions(part, static_cast<std::size_t>(config.n_deepstack), name));
    }
    if (parts.empty()) return {Code::InvalidArgument, "the prompt is empty"};
    return ok_status();
}

std::vector<LiveRow> rows_of_parts(const PrefillRequest& request, std::size_t width) {
    std::vector<LiveRow> rows;
    std::int32_t n_visual = 0;
    std::int32_t image = -1;
    std::int32_t start = 0;  // where the part begins in the unpruned prompt
    for (const PromptPart& part : request.parts) {
        const std::size_t n = part.tokens.empty() ? part.embeddings.size() / width : part.tokens.size();
        if (part.tokens.empty()) ++image;
        start += part.n_lost_before;
        for (std::size_t i = 0; i < n; ++i) {
            LiveRow row;
            row.sequence_index = static_cast<std::int32_t>(rows.size());
            row.position = request.positions == PositionMode::Compact
                               ? model::text_position(row.sequence_index)
                               : position_in(part, i, start);
            row.is_carried = part.is_text_of_image || (!part.is_carried.empty() && part.is_carried[i] != 0);
            if (!part.lines.empty()) row.line = part.lines[i];
            if (part.tokens.empty()) row.image = image;
            if (part.tokens.empty() && !row.is_carried) row.visual_index = n_visual++;
            if (!part.masses.empty()) row.mass = part.masses[i];
            rows.push_back(row);
        }
        start += extent_of(part, n);
    }
    return rows;
}

Status check_prompt(const PrefillRequest& request, std::span<const LiveRow> rows,
                    const model::TextConfig& config) {
    CLASP_RETURN_IF_ERROR(check_stages(request, rows, config.n_layers));
    const std::int32_t end = model::next_position(positions_of(rows), config.rope);
    // Planes of positions may count fewer than there are rows.
    const std::size_t length = std::max(rows.size(), static_cast<std::size_t>(end));
    return check_length(length, request.room, config.context_length);
}

}  // namespace clasp::engine
