#include "engine/pair_check.h"

#include "base/text.h"

namespace clasp::engine {

namespace {

// Room for the template, a question and an answer. Less makes a model that refuses almost every request.
constexpr std::size_t kTextTokens = 256;

}  // namespace

Status check_pair(const TextSide& text, const VisionSide& vision) {
    const std::string text_name = base::path_in_quotes(text.path);
    const std::string vision_name = base::path_in_quotes(vision.path);
    if (vision.output_width != text.width) {
        return {Code::InvalidArgument, "the two files do not belong together: " + vision_name +
                                           " gives tokens of width " + std::to_string(vision.output_width) +
                                           ", " + text_name + " takes width " + std::to_string(text.width)};
    }
    if (vision.n_branches != text.n_deepstack) {
        return {Code::InvalidArgument, "the two files do not belong together: " + vision_name + " gives " +
                                           std::to_string(vision.n_branches) +
                                           " further rows per token for the first blocks, " + text_name +
                                           " takes " + std::to_string(text.n_deepstack)};
    }
    if (vision.n_tokens + kTextTokens > text.context_length) {
        return {Code::InvalidArgument, "the two files do not belong together: a picture has " +
                                           std::to_string(vision.n_tokens) + " tokens by " + vision_name +
                                           " and what is said about it needs " + std::to_string(kTextTokens) +
                                           ", but " + text_name + " has room for " +
                                           std::to_string(text.context_length) + " in all"};
    }
    return ok_status();
}

}  // namespace clasp::engine
