#include "route/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "route/embedded.h"
#include "route/hash.h"

namespace clasp::route {
namespace {

using testing::HasSubstr;

Model small_model() {
    Model model({"one", "two"}, {3, 70000, 4000000000u}, {10, -20, 0, 5, 127, -128}, 0.5f);
    model.set_calibration({2.0f, 0.25f, 0.75f});
    return model;
}

// The same bytes with a valid checksum again.
std::string resealed(std::string bytes) {
    bytes.resize(bytes.size() - 8);
    const std::uint64_t hash = hash_bytes(bytes);
    for (unsigned i = 0; i < 8; ++i) bytes.push_back(static_cast<char>((hash >> (8 * i)) & 0xFFu));
    return bytes;
}

TEST(Model, ScoresAreSumsOfRows) {
    const Model model = small_model();
    std::vector<float> logits(2);
    const std::vector<Feature> features = {{3, 1.0f}, {4000000000u, 0.5f}, {99, 7.0f}};
    model.score(features, logits);
    EXPECT_FLOAT_EQ(logits[0], 0.5f * (10.0f + 0.5f * 127.0f));
    EXPECT_FLOAT_EQ(logits[1], 0.5f * (-20.0f - 0.5f * 128.0f));
    const std::vector<float> p = model.probabilities(features);
    EXPECT_NEAR(p[0] + p[1], 1.0f, 1e-6f);
    EXPECT_NEAR(p[1], 1.0f / (1.0f + std::exp((logits[0] - logits[1]) / 2.0f)), 1e-6f);
    EXPECT_FLOAT_EQ(model.weight(70000, 1), 2.5f);
    EXPECT_FLOAT_EQ(model.weight(70001, 1), 0.0f);
}

TEST(Model, NothingKnownIsEven) {
    const std::vector<float> p = small_model().probabilities({});
    EXPECT_FLOAT_EQ(p[0], 0.5f);
}

TEST(Model, SurvivesTheRoundTrip) {
    const Lexicon& lexicon = Lexicon::builtin();
    const std::string bytes = small_model().save(lexicon);
    const auto loaded = Model::load(bytes, lexicon);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded->save(lexicon), bytes);
    EXPECT_EQ(loaded->calibration().threshold, 0.25f);
    EXPECT_EQ(loaded->calibration().default_threshold, 0.75f);
    EXPECT_EQ(loaded->intent_names(), small_model().intent_names());
}

TEST(Model, EveryDamagedByteAndEveryCutIsNoticed) {
    const Lexicon& lexicon = Lexicon::builtin();
    const std::string bytes = small_model().save(lexicon);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
        EXPECT_FALSE(Model::load(damaged, lexicon).ok()) << i;
        EXPECT_FALSE(Model::load(std::string_view(bytes).substr(0, i), lexicon).ok()) << i;
    }
}

TEST(Model, WrongFieldsAreNamedEvenWithAGoodChecksum) {
    const Lexicon& lexicon = Lexicon::builtin();
    const std::string bytes = small_model().save(lexicon);
    const auto with = [&](std::size_t at, char value) {
        std::string changed = bytes;
        changed[at] = value;
        return Model::load(resealed(changed), lexicon).status();
    };
    EXPECT_EQ(with(8, 99).code(), Code::Unsupported);                                 // feature version
    EXPECT_EQ(with(12, static_cast<char>(bytes[12] + 1)).code(), Code::Unsupported);  // lexicon
    EXPECT_THAT(with(20, 0).message(), HasSubstr("0 intents"));
    EXPECT_THAT(with(26, 127).message(), HasSubstr("features"));
    EXPECT_THAT(with(24, 2).message(), HasSubstr("bytes of weights"));
    EXPECT_THAT(with(31, static_cast<char>(0xBF)).message(), HasSubstr("out of range"));  // negative step
    EXPECT_THAT(with(56, 100).message(), HasSubstr("cut off"));                           // length of a name
    EXPECT_THAT(with(66, 127).message(), HasSubstr("ascending"));
}

TEST(EmbeddedModel, LoadsAndIsSmall) {
    const auto model = Model::load(embedded_model(), Lexicon::builtin());
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_LT(embedded_model().size(), 1000000u);
    EXPECT_EQ(model->intent_names().size(), 15u);
}

}  // namespace
}  // namespace clasp::route
