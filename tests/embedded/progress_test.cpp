// What Progress promises: phases in order, from 0 to the total, never falling, on the calling thread.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "clasp/engine.h"
#include "support/paths.h"

namespace clasp {
namespace {

using Phase = Progress::Phase;

void expect_sound(const std::vector<Progress>& heard, const std::vector<Phase>& phases) {
    std::vector<Phase> seen;
    for (std::size_t i = 0; i < heard.size(); ++i) {
        const bool is_first = i == 0 || heard[i - 1].phase != heard[i].phase;
        const bool is_last = i + 1 == heard.size() || heard[i + 1].phase != heard[i].phase;
        if (is_first) {
            seen.push_back(heard[i].phase);
            EXPECT_EQ(heard[i].done, 0.0);
        } else {
            EXPECT_GT(heard[i].done, heard[i - 1].done);
            EXPECT_EQ(heard[i].total, heard[i - 1].total);
        }
        if (is_last) {
            EXPECT_EQ(heard[i].done, heard[i].total);
        }
        EXPECT_GT(heard[i].total, 0.0);
    }
    EXPECT_EQ(seen, phases);
}

class EngineProgress : public testing::Test {
   protected:
    EngineOptions options() const {
        const std::string models = std::string(test::source_dir()) + "/models/";
        EngineOptions options;
        options.model = models + "clasp-tiny.gguf";
        options.mmproj = models + "clasp-tiny-mmproj.gguf";
        // One thread: several tests run at a time, and threads that wait for each other would spin.
        options.n_threads = 1;
        return options;
    }
    AskRequest request() const {
        AskRequest request;
        request.images = {{std::string(test::source_dir()) + "/examples/pictures/crosses.png", {}}};
        request.question = "How many yellow crosses are in the picture?";
        request.method = "clasp";
        request.use_fusion = false;
        request.generation.max_tokens = 2;
        return request;
    }
    ProgressSink listen(std::vector<Progress>& heard) const {
        return [&heard, caller = std::this_thread::get_id()](const Progress& progress) {
            EXPECT_EQ(std::this_thread::get_id(), caller);
            heard.push_back(progress);
        };
    }
};

TEST_F(EngineProgress, RunsFromNothingToAllInEveryPhase) {
    EngineOptions shared = options();
    shared.n_threads = 3;  // weights are converted by all of them; how often this one gets to tell is chance
    std::vector<Progress> loading;
    shared.on_progress = listen(loading);
    ASSERT_TRUE(Engine::load(shared).ok());
    expect_sound(loading, {Phase::Load});

    loading.clear();
    EngineOptions alone = options();
    alone.on_progress = listen(loading);
    const auto engine = Engine::load(alone);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    expect_sound(loading, {Phase::Load});
    EXPECT_GT(loading.size(), 5U);

    for (const char* method : {"clasp", "fastv", "tome", "divprune"}) {
        std::vector<Progress> heard;
        AskRequest asked = request();
        asked.method = method;
        asked.on_progress = listen(heard);
        bool has_text = false;
        asked.on_text = [&](std::string_view) { has_text = true; };
        asked.on_progress = [&, sink = asked.on_progress](const Progress& progress) {
            EXPECT_FALSE(has_text);
            sink(progress);
        };
        const auto answer = (*engine)->ask(asked);
        ASSERT_TRUE(answer.ok()) << answer.status().message();
        expect_sound(heard, {Phase::Encode, Phase::Prefill});
        EXPECT_GT(heard.size(), 20U) << method;
        // The same answer as without anybody listening.
        asked.on_progress = {};
        EXPECT_EQ((*engine)->ask(asked)->text, answer->text);
    }
}

TEST_F(EngineProgress, SeveralImagesCountOneByOne) {
    const auto engine = Engine::load(options());
    ASSERT_TRUE(engine.ok());
    std::vector<Progress> heard;
    AskRequest asked = request();
    asked.images.push_back(asked.images.front());
    asked.vanilla = true;
    asked.on_progress = listen(heard);
    ASSERT_TRUE((*engine)->ask(asked).ok());
    expect_sound(heard, {Phase::Encode, Phase::Prefill});
    EXPECT_EQ(heard.front().total, 2.0);
}

TEST_F(EngineProgress, ACancelledLoadStops) {
    std::atomic<bool> cancel{true};
    EngineOptions stopped = options();
    stopped.cancel = &cancel;
    EXPECT_EQ(Engine::load(stopped).status().code(), Code::Cancelled);
    cancel = false;
    stopped.on_progress = [&](const Progress& progress) { cancel = progress.done > 0.0; };
    EXPECT_EQ(Engine::load(stopped).status().code(), Code::Cancelled);
}

}  // namespace
}  // namespace clasp
