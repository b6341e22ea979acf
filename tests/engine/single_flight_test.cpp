// Requests that want the same thing encoded at the same time.
#include "engine/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine_fixture.h"

namespace clasp {
namespace {

using engine::FeatureCache;
using engine::FeatureKey;
using engine::SharedGroup;
using engine::SharedLayers;
using engine::SingleFlight;

const FeatureKey kKey(64, 'a');

bool any(const SharedGroup& /*layers*/) {
    return true;
}

TEST(SingleFlight, OneEncodesAndTheOthersGetWhatItGives) {
    SingleFlight flights;
    auto first = flights.join(kKey, any, nullptr);
    ASSERT_TRUE(first.ok());
    ASSERT_NE(first->mine, nullptr);
    const SharedGroup layers = {std::make_shared<const model::VisionLayers>()};
    std::atomic<int> n_got{0};
    std::vector<std::thread> others;
    for (int i = 0; i < 4; ++i) {
        others.emplace_back([&] {
            const auto ticket = flights.join(kKey, any, nullptr);
            if (ticket.ok() && (ticket->layers == layers || ticket->mine != nullptr)) ++n_got;
        });
    }
    first->mine->land(layers);
    first->mine.reset();
    for (std::thread& other : others) other.join();
    EXPECT_EQ(n_got, 4);
}

TEST(SingleFlight, OtherKeysDoNotWait) {
    SingleFlight flights;
    const auto first = flights.join(kKey, any, nullptr);
    const auto other = flights.join(FeatureKey(64, 'b'), any, nullptr);
    EXPECT_NE(other->mine, nullptr);
}

TEST(SingleFlight, WhenTheFirstFailsAnotherTakesOver) {
    SingleFlight flights;
    auto first = flights.join(kKey, any, nullptr);
    std::atomic<bool> took_over{false};
    std::thread second([&] {
        const auto ticket = flights.join(kKey, any, nullptr);
        took_over = ticket.ok() && ticket->mine != nullptr;
    });
    first->mine.reset();  // cancelled: nothing landed
    second.join();
    EXPECT_TRUE(took_over);
}

TEST(SingleFlight, WhatIsNotEnoughIsEncodedAgain) {
    SingleFlight flights;
    auto first = flights.join(kKey, any, nullptr);
    std::atomic<bool> took_over{false};
    std::thread second([&] {
        const auto ticket = flights.join(
            kKey, [](const SharedGroup&) { return false; }, nullptr);
        took_over = ticket.ok() && ticket->mine != nullptr;
    });
    first->mine->land({std::make_shared<const model::VisionLayers>()});
    first->mine.reset();
    second.join();
    EXPECT_TRUE(took_over);
}

TEST(SingleFlight, OneWhoWaitsCanBeCancelled) {
    SingleFlight flights;
    const auto first = flights.join(kKey, any, nullptr);
    const std::atomic<bool> cancel{true};
    EXPECT_EQ(flights.join(kKey, any, &cancel).status().code(), Code::Cancelled);
}

TEST(FeatureCache, ThePiecesOfAPictureStayAndGoTogether) {
    FeatureCache cache(2, "", {});
    const auto layers = [] {
        auto made = std::make_shared<model::VisionLayers>();
        made->shape.patches = {1, 1};
        made->width = 1;
        made->layers.push_back({0, {1.0F}});
        return SharedLayers(std::move(made));
    };
    const auto key = [](char name) { return FeatureKey(64, name); };
    for (const char name : {'a', 'b', 'c'}) cache.store(key(name), layers(), "first");
    cache.store(key('d'), layers(), "second");
    for (const char name : {'a', 'b', 'c', 'd'}) EXPECT_NE(cache.find(key(name), {0}), nullptr) << name;
    cache.store(key('e'), layers(), "third");
    for (const char name : {'a', 'b', 'c'}) EXPECT_EQ(cache.find(key(name), {0}), nullptr) << name;
    EXPECT_NE(cache.find(key('d'), {0}), nullptr);
}

TEST(FeatureCache, ReadersAndWritersOnManyThreads) {
    FeatureCache cache(1, "", {});
    std::vector<std::thread> threads;
    std::atomic<int> n_wrong{0};
    for (std::size_t layer = 0; layer < 4; ++layer) {
        threads.emplace_back([&, layer] {
            for (int round = 0; round < 200; ++round) {
                auto made = std::make_shared<model::VisionLayers>();
                made->shape.patches = {2, 2};
                made->width = 1;
                made->layers.push_back({layer, std::vector<float>(4, static_cast<float>(layer))});
                cache.store(kKey, std::move(made));
                const SharedLayers found = cache.find(kKey, {});
                if (found == nullptr) continue;
                for (const model::LayerOutput& output : found->layers) {
                    if (output.values != std::vector<float>(4, static_cast<float>(output.layer))) ++n_wrong;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(n_wrong, 0);
}

TEST_F(EngineTest, RequestsForOnePictureAtTheSameTimeEncodeItOnce) {
    auto engine =
        Engine::load({.model = text_path(), .mmproj = vision_path(), .n_threads = 1, .cached_images = 1});
    ASSERT_TRUE(engine.ok());
    std::vector<double> encode_ms(4, -1.0);
    std::vector<std::vector<float>> logits(encode_ms.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < encode_ms.size(); ++i) {
        threads.emplace_back([&, i] {
            if (const auto answer = (*engine)->ask(request()); answer.ok()) {
                encode_ms[i] = answer->timings.encode_ms;
                logits[i] = answer->logits;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count_if(encode_ms.begin(), encode_ms.end(), [](double ms) { return ms > 0.0; }), 1);
    EXPECT_EQ(std::count(encode_ms.begin(), encode_ms.end(), 0.0), 3);
    for (const std::vector<float>& mine : logits) EXPECT_EQ(mine, logits.front());
}

}  // namespace
}  // namespace clasp
