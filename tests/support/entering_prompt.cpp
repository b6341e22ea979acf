#include "support/entering_prompt.h"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

namespace clasp::test {

namespace {

template <typename T>
T must(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::abort();
}

}  // namespace

EnteringPrompt enter_prompt(const std::string& text_path, const std::string& vision_path,
                            const std::vector<std::string>& pictures, const std::string& words,
                            const Mix& mix) {
    EnteringPrompt entering;
    const auto compute = must(model::Compute::create({.n_threads = 1, .use_gpu = false}));
    entering.text = must(model::TextModel::load(text_path, compute, {.repack = false}));
    model::VisionOptions options = {.weights = model::VisionWeights::F32};
    options.outside = {.path = vision_path, .text = entering.text->handle()};
    auto vision = model::VisionModel::load(vision_path, options, compute);
    if (!vision.ok()) {  // another library keeps them as they are
        options.weights = model::VisionWeights::Auto;
        vision = model::VisionModel::load(vision_path, options, compute);
    }
    entering.vision = must(std::move(vision));
    const auto session = must(model::VisionSession::create(entering.vision));
    Message message = {Message::Role::User, {}};
    std::vector<ImageSource> sources;
    for (const std::string& picture : pictures) {
        sources.push_back({{}, picture});
        message.parts.push_back({"", sources.back()});
    }
    message.parts.push_back({words});
    const auto planned = must(engine::plan_pictures(sources, *entering.vision, {}, nullptr));
    engine::VisualRequest seeing;
    seeing.mix = mix.empty() ? Mix{{entering.vision->info().feature_layer, 1.0}} : mix;
    entering.seen = must(engine::prepare_images(planned, seeing, *session, nullptr));
    entering.prompt = must(engine::build_prompt(*entering.text, std::span(&message, 1),
                                                {.words = entering.vision->info().words}));
    std::int32_t next_line = 0;
    for (const engine::SeenImage& image : entering.seen.images) {
        entering.images.push_back(
            must(engine::arrange_image(image, false, *entering.vision, *entering.text, next_line)));
        entering.n_visual += image.plan.layout.n_tokens();
    }
    std::int32_t place = 0;
    for (const engine::PromptPiece& piece : entering.prompt.pieces) {
        if (piece.image >= 0) {
            const engine::ArrangedImage& image = entering.images[static_cast<std::size_t>(piece.image)];
            entering.parts.insert(entering.parts.end(), image.parts.begin(), image.parts.end());
            place += static_cast<std::int32_t>(image.n_rows);
            continue;
        }
        entering.parts.push_back({.tokens = piece.tokens});
        entering.question.clear();
        for (std::size_t i = 0; i < piece.tokens.size(); ++i) entering.question.push_back(place++);
    }
    return entering;
}

std::string words_of(const EnteringPrompt& entering) {
    std::string words;
    for (const engine::PromptPart& part : entering.parts) {
        for (const std::int32_t token : part.tokens) words += entering.text->piece(token, true);
        if (!part.embeddings.empty()) words += "#";
    }
    return words;
}

}  // namespace clasp::test
