// Which of the models that come with the program answers when nobody names one.
#include <gtest/gtest.h>

#include <string>

#include "request/model_choice.h"
#include "request/option_table.h"
#include "support/paths.h"

namespace clasp::request {
namespace {

// Clips go to the model for clips, where there is one and nobody names another.
TEST(ModelChoice, WhatIsShownChoosesAmongTheModelsThatComeAlong) {
    const std::string images = std::string(test::source_dir()) + "/tests/data/images/";
    const ImageSource clip = {.path = images + "anim_tiny.gif", .bytes = {}};
    const ImageSource picture = {.path = std::string(test::source_dir()) + "/examples/pictures/crosses.png",
                                 .bytes = {}};
    ImageSource frames;
    frames.frames = {picture.path, picture.path};
    Settings settings = default_settings();
    EXPECT_EQ(usual_model(settings, true), "tiny") << "a question in text";
    settings.request.images = {picture};
    EXPECT_EQ(usual_model(settings, true), "tiny");
    for (const ImageSource& moving : {clip, frames, ImageSource{.path = images, .bytes = {}}}) {
        settings.request.images = {picture, moving};
        EXPECT_EQ(usual_model(settings, true), "tiny-video");
        EXPECT_EQ(usual_model(settings, false), "tiny") << "it did not come along";
    }
    settings.given.insert("model");
    EXPECT_EQ(usual_model(settings, true), "tiny");
    settings.given.clear();
    settings.request.images = {{.path = images + "there-is-none.mp4", .bytes = {}}};
    EXPECT_EQ(usual_model(settings, true), "tiny") << "opening says what is wrong";
}

}  // namespace
}  // namespace clasp::request
