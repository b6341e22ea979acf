// Policies in memory and on disk: profiles, mixes, classes, round trips, hashes.
#include "clasp/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/sha256.h"
#include "clasp/classes.h"
#include "support/paths.h"

namespace clasp {
namespace {

void expect_same(const Policy& a, const Policy& b) {
    EXPECT_EQ(to_json(a), to_json(b));
    EXPECT_EQ(policy_hash(a), policy_hash(b));
    EXPECT_EQ(a.classes.size(), b.classes.size());
}

// A policy that uses every field away from its default.
Policy unusual() {
    Policy policy;
    policy.name = "my-policy_1.0";
    policy.description = "Zwei Klassen, \"frei\" gew\xc3\xa4hlt";
    policy.model_family = "tiny";
    policy.n_vision_layers = 40;
    policy.tau = 0.7;
    policy.default_class = 0;
    policy.method = "clasp+";
    policy.mass = MassRule::Nearest;
    policy.reference_tokens = ReferenceTokens::Raters;
    policy.stage_mode = StageMode::After;
    policy.iterations = 9;
    policy.stage_layers = {1, 4};
    policy.provenance = R"({"b":[1,2.5,null],"seed":7,"tool":"calibrate"})";
    PolicyClass first;
    first.name = "everything";
    first.weights = {{2, 0.1}, {11, 0.9}};
    first.split = 0.25;
    PolicyClass second;
    second.name = "rest";
    second.scores = {{0, -1.5}, {39, 0.1}};
    second.split = 1.0;
    policy.classes = {first, second};
    return policy;
}

TEST(Profiles, LlavaHasTheNumbersOfThePapersTable) {
    const Policy policy = *find_profile("llava");
    const Mix mixes[] = {
        {{5, 0.2}, {15, 0.3}, {22, 0.5}},
        {{5, 0.2}, {22, 0.8}},
        {{5, 0.2}, {22, 0.8}},
        {{20, 0.2}, {22, 0.8}},
        {{14, 0.2}, {17, 0.3}, {22, 0.5}},
        {{5, 0.2}, {15, 0.3}, {22, 0.5}},
        {{12, 0.2}, {15, 0.3}, {19, 0.5}},
        {{3, 0.2}, {12, 0.3}, {18, 0.5}},
        {{20, 0.2}, {22, 0.8}},
    };
    const double splits[] = {0.8, 0.4, 0.7, 0.7, 0.7, 0.6, 0.8, 0.2, 0.9};
    ASSERT_EQ(policy.classes.size(), 9u);
    for (std::size_t c = 0; c < 9; ++c) {
        EXPECT_EQ(policy.classes[c].name, kClassNames[c]);
        EXPECT_EQ(policy.classes[c].split, splits[c]);
        EXPECT_EQ(*mix_for(policy, c), mixes[c]) << "class " << c << ", bit for bit";
    }
    EXPECT_EQ(policy.default_class, 8u);
    EXPECT_EQ(policy.tau, 1.0);
    EXPECT_EQ(policy.n_vision_layers, 24u);
    EXPECT_EQ(policy.mass, MassRule::None);
    EXPECT_EQ(policy.iterations, 5u);
    EXPECT_EQ(required_depth(*mix_for(policy, 7)), 19u) << "class 7 needs 19 of 24 blocks";
    EXPECT_EQ(required_depth(*mix_for(policy, 0)), 23u);
    EXPECT_EQ(required_depth({}), 0u);
}

TEST(Profiles, QwenHasTheNumbersOfThePapersTable) {
    const Policy policy = *find_profile("qwen2.5-vl");
    const Mix mixes[] = {
        {{9, 0.2}, {22, 0.3}, {31, 0.5}},
        {{9, 0.2}, {31, 0.8}},
        {{9, 0.2}, {31, 0.8}},
        {{28, 0.2}, {31, 0.8}},
        {{21, 0.2}, {24, 0.3}, {31, 0.5}},
        {{9, 0.2}, {22, 0.3}, {31, 0.5}},
        {{18, 0.2}, {22, 0.3}, {28, 0.5}},
        {{6, 0.2}, {18, 0.3}, {26, 0.5}},
        {{29, 0.2}, {31, 0.8}},
    };
    const Policy llava = *find_profile("llava");
    for (std::size_t c = 0; c < 9; ++c) {
        EXPECT_EQ(*mix_for(policy, c), mixes[c]) << "class " << c;
        EXPECT_EQ(policy.classes[c].split, llava.classes[c].split) << "splits are the same for all models";
    }
    EXPECT_EQ(policy.n_vision_layers, 32u);
    EXPECT_EQ(policy.model_family, "qwen2.5-vl");
}

TEST(Profiles, BaselinesAndAblationsChangeOneThingEach) {
    const Policy llava = *find_profile("llava");
    const Policy fusion_only = *find_profile("fusion-only");
    const Policy ratio_only = *find_profile("ratio-only");
    const Policy penultimate = *find_profile("penultimate");
    for (std::size_t c = 0; c < 9; ++c) {
        EXPECT_EQ(*mix_for(fusion_only, c), *mix_for(llava, c));
        EXPECT_EQ(fusion_only.classes[c].split, 0.9);
        EXPECT_EQ(*mix_for(ratio_only, c), (Mix{{22, 1.0}}));
        EXPECT_EQ(ratio_only.classes[c].split, llava.classes[c].split);
        EXPECT_EQ(*mix_for(penultimate, c), (Mix{{22, 1.0}}));
        EXPECT_EQ(penultimate.classes[c].split, 0.9);
        const double third = 1.0 / 3.0;
        EXPECT_EQ(*mix_for(*find_profile("static-2-17-23"), c), (Mix{{2, third}, {17, third}, {23, third}}));
        EXPECT_EQ(*mix_for(*find_profile("static-2-17-22"), c), (Mix{{2, third}, {17, third}, {22, third}}));
        const Mix uniform = *mix_for(*find_profile("uniform"), c);
        ASSERT_EQ(uniform.size(), 23u);
        EXPECT_EQ(uniform[0], (LayerWeight{0, 1.0 / 23.0}));
        EXPECT_EQ(uniform[22], (LayerWeight{22, 1.0 / 23.0}));
    }
}

TEST(Profiles, AllAreValidAndSurviveARoundTrip) {
    std::vector<std::string> hashes;
    for (const std::string_view name : profile_names()) {
        const Policy policy = *find_profile(name);
        EXPECT_EQ(policy.name, name);
        EXPECT_TRUE(validate(policy).ok()) << validate(policy).message();
        const auto again = parse_policy(to_json(policy));
        ASSERT_TRUE(again.ok()) << again.status().message();
        expect_same(policy, *again);
        hashes.push_back(policy_hash(policy));
    }
    std::sort(hashes.begin(), hashes.end());
    EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end()) << "no two profiles are the same";
    EXPECT_EQ(
        find_profile("nope").status().message(),
        "there is no profile 'nope'; there are llava, qwen2.5-vl, uniform, penultimate, static-2-17-23, "
        "static-2-17-22, fusion-only, ratio-only");
}

TEST(PolicyFile, EveryFieldSurvivesARoundTrip) {
    const Policy policy = unusual();
    ASSERT_TRUE(validate(policy).ok()) << validate(policy).message();
    const auto again = parse_policy(to_json(policy));
    ASSERT_TRUE(again.ok()) << again.status().message();
    expect_same(policy, *again);
    EXPECT_EQ(again->name, policy.name);
    EXPECT_EQ(again->description, policy.description);
    EXPECT_EQ(again->model_family, "tiny");
    EXPECT_EQ(again->n_vision_layers, 40u);
    EXPECT_EQ(again->tau, 0.7);
    EXPECT_EQ(again->method, "clasp+");
    EXPECT_EQ(again->mass, MassRule::Nearest);
    EXPECT_EQ(again->reference_tokens, ReferenceTokens::Raters);
    EXPECT_EQ(again->stage_mode, StageMode::After);
    EXPECT_EQ(again->iterations, 9u);
    EXPECT_EQ(again->stage_layers, policy.stage_layers);
    EXPECT_EQ(again->provenance, policy.provenance);
    EXPECT_EQ(again->classes[0].weights, policy.classes[0].weights);
    EXPECT_EQ(again->classes[1].scores[1].layer, 39u);
    EXPECT_EQ(again->classes[1].scores[0].score, -1.5);
    Policy forced = unusual();
    forced.stage_layers.clear();
    forced.forced_stages = {{2, 300}, {6, 200}};
    EXPECT_EQ(parse_policy(to_json(forced))->forced_stages, forced.forced_stages);
    Policy shaped = unusual();
    shaped.stage_shape.assign(shaped.stage_layers.size(), 3);
    EXPECT_EQ(parse_policy(to_json(shaped))->stage_shape, shaped.stage_shape);
    EXPECT_NE(policy_hash(shaped), policy_hash(policy));
    Policy named = unusual();
    named.stage_layers = {1, 2, 3};
    named.schedule_name = "paper-64";
    EXPECT_EQ(parse_policy(to_json(named))->schedule_name, "paper-64");
}

TEST(PolicyFile, DefaultsNeedNotBeWritten) {
    const auto policy = parse_policy(R"({"clasp_policy": 1, "name": "p", "default_class": 0,
        "classes": [{"id": 0, "name": "all", "weights": {"22": 1}, "split": 1}]})");
    ASSERT_TRUE(policy.ok()) << policy.status().message();
    EXPECT_EQ(policy->method, "clasp");
    EXPECT_EQ(policy->mass, MassRule::None);
    EXPECT_EQ(policy->reference_tokens, ReferenceTokens::Instruction);
    EXPECT_EQ(policy->stage_mode, StageMode::Before);
    EXPECT_EQ(policy->iterations, 5u);
    EXPECT_EQ(policy->tau, 1.0);
    EXPECT_TRUE(policy->stage_layers.empty());
}

TEST(PolicyHash, IsTheDigestOfTheCompactBehaviour) {
    const auto policy = parse_policy(R"({"clasp_policy": 1, "name": "p", "default_class": 0,
        "classes": [{"id": 0, "name": "all", "weights": {"22": 0.5, "5": 0.5}, "split": 1}]})");
    ASSERT_TRUE(policy.ok()) << policy.status().message();
    EXPECT_EQ(
        policy_hash(*policy),
        base::sha256_hex(
            R"({"clasp_policy":1,"model":{"family":"","vision_layers":0},"method":"clasp","mass":"none",)"
            R"("reference_tokens":"instruction","stage_mode":"before","iterations":5,"schedule":{},)"
            R"("tau":1.0,"default_class":0,"classes":[{"id":0,"name":"all","weights":{"5":0.5,"22":0.5},)"
            R"("split":1.0}]})"));
}

TEST(PolicyHash, ChangesWithBehaviourAndWithNothingElse) {
    const Policy policy = unusual();
    const std::string hash = policy_hash(policy);
    EXPECT_EQ(hash.size(), 64u);
    Policy other = policy;
    other.name = "other";
    other.description.clear();
    other.provenance.clear();
    std::swap(other.classes[0].weights[0], other.classes[0].weights[1]);
    EXPECT_EQ(policy_hash(other), hash) << "names, provenance and the order of layers do not matter";
    const auto differs = [&](auto change) {
        Policy changed = policy;
        change(changed);
        EXPECT_NE(policy_hash(changed), hash);
    };
    differs([](Policy& p) { p.tau = std::nextafter(p.tau, 1.0); });
    differs([](Policy& p) { p.classes[0].split = 0.26; });
    differs([](Policy& p) { p.classes[0].weights[0].weight = 0.100001; });
    differs([](Policy& p) { p.classes[1].scores[0].layer = 1; });
    differs([](Policy& p) { p.classes[1].name = "other"; });
    differs([](Policy& p) { p.default_class = 1; });
    differs([](Policy& p) { p.mass = MassRule::None; });
    differs([](Policy& p) { p.reference_tokens = ReferenceTokens::Last; });
    differs([](Policy& p) { p.stage_mode = StageMode::Before; });
    differs([](Policy& p) { p.iterations = 5; });
    differs([](Policy& p) { p.method = "fastv"; });
    differs([](Policy& p) { p.stage_layers = {1, 5}; });
    differs([](Policy& p) { p.schedule_name = "paper-64"; });
    differs([](Policy& p) { p.model_family = "other"; });
    differs([](Policy& p) { p.n_vision_layers = 0; });
}

TEST(PolicyFile, ReadsAndWritesFiles) {
    const std::string path = (std::filesystem::path(test::scratch_dir()) / "policy.json").string();
    const Policy policy = unusual();
    ASSERT_TRUE(write_policy(policy, path).ok());
    const auto again = load_policy(path);
    ASSERT_TRUE(again.ok()) << again.status().message();
    expect_same(policy, *again);
    EXPECT_EQ(load_policy("llava")->name, "llava");
    EXPECT_EQ(
        load_policy("absent.json").status().message(),
        "'absent.json' is neither a file nor one of the profiles llava, qwen2.5-vl, uniform, penultimate, "
        "static-2-17-23, static-2-17-22, fusion-only, ratio-only");
    EXPECT_EQ(load_policy("absent.json").status().code(), Code::NotFound);
    Policy broken = policy;
    broken.tau = 0.0;
    EXPECT_FALSE(write_policy(broken, path).ok());
    EXPECT_TRUE(read_policy(path).ok()) << "the file is still the old one";
    const std::string bad = (std::filesystem::path(test::scratch_dir()) / "bad.json").string();
    std::FILE* file = std::fopen(bad.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("{", file);
    std::fclose(file);
    const auto status = load_policy(bad).status();
    EXPECT_EQ(status.code(), Code::Corrupt);
    EXPECT_EQ(status.message().find("'" + bad.substr(0, 20)), 0u) << status.message();
}

TEST(Profiles, AreFoundInAnyCaseAndSuggested) {
    EXPECT_EQ(find_profile("LLaVA")->name, "llava");
    EXPECT_NE(find_profile("lava").status().message().find("did you mean 'llava'?"), std::string::npos);
    EXPECT_NE(load_policy("qwen2.5vl").status().message().find("did you mean 'qwen2.5-vl'?"),
              std::string::npos);
}

TEST(PolicyClasses, AFirstWordOfTwoNamesIsNoName) {
    Policy policy = *find_profile("llava");
    policy.classes[0].name = "Text in pictures";
    EXPECT_EQ(find_class(policy, "text").status().code(), Code::NotFound);
}

TEST(PolicyClasses, AreFoundByIdAndName) {
    const Policy policy = *find_profile("llava");
    EXPECT_EQ(*find_class(policy, "5"), 5u);
    EXPECT_EQ(*find_class(policy, "Counting"), 5u);
    EXPECT_EQ(*find_class(policy, "text / SYMBOL recognition"), 2u);
    EXPECT_EQ(*find_class(policy, "TEXT"), 2u);  // the first word, if it is one name's alone
    EXPECT_EQ(*find_class(policy, "spatial"), 4u);
    EXPECT_EQ(find_class(policy, "9").status().code(), Code::NotFound);
    EXPECT_NE(find_class(policy, "cuonting").status().message().find("did you mean 'Counting'?"),
              std::string::npos);
    // The first word is what people type, so it is what they mistype.
    EXPECT_NE(find_class(policy, "txt").status().message().find("did you mean 'Text'?"), std::string::npos);
    EXPECT_NE(find_class(policy, "spacial").status().message().find("did you mean 'Spatial'?"),
              std::string::npos);
    EXPECT_EQ(find_class(unusual(), "poetry").status().message(),
              "policy 'my-policy_1.0' has no class 'poetry'; there are 0 to 1: everything, rest");
    EXPECT_EQ(mix_for(unusual(), 2).status().message(),
              "class 2 is not one of the 2 classes of policy 'my-policy_1.0'");
}

TEST(PolicyClasses, TauSharpensMixes) {
    Policy policy = unusual();
    policy.tau = 2.0;
    const Mix mix = *mix_for(policy, 0);
    EXPECT_NEAR(mix[0].weight, 0.01 / 0.82, 1e-12);
    EXPECT_NEAR(mix[1].weight, 0.81 / 0.82, 1e-12);
    const Mix scored = *mix_for(policy, 1);
    EXPECT_NEAR(scored[1].weight, 1.0 / (1.0 + std::exp(2.0 * -1.6)), 1e-12);
}

TEST(PolicySchedule, FillsARequest) {
    Policy policy = *find_profile("llava");
    const BudgetSpec budget{BudgetSpec::Kind::Tokens, 192};
    EXPECT_EQ(make_schedule(schedule_request(policy, 576, 32, budget))->source, ScheduleSource::Published);
    policy.schedule_name = "paper-64";
    EXPECT_EQ(make_schedule(schedule_request(policy, 576, 32, budget))->n_final, 17u)
        << "the policy's counts win";
    EXPECT_EQ(make_schedule(schedule_request(policy, 576, 32, {BudgetSpec::Kind::None, 0}))->n_final, 576u)
        << "none always means none";
    policy = unusual();
    const ScheduleRequest request = schedule_request(policy, 100, 12, budget);
    EXPECT_EQ(request.stage_layers, policy.stage_layers);
    EXPECT_EQ(request.stage_mode, StageMode::After);
}

TEST(PolicyWords, ReadBackAsWritten) {
    for (const MassRule mass : {MassRule::None, MassRule::Nearest})
        EXPECT_EQ(*parse_mass(mass_name(mass)), mass);
    for (const StageMode mode : {StageMode::Before, StageMode::After}) {
        EXPECT_EQ(*parse_stage_mode(stage_mode_name(mode)), mode);
    }
    for (const ReferenceTokens tokens : {ReferenceTokens::Last, ReferenceTokens::Instruction,
                                         ReferenceTokens::Post, ReferenceTokens::Raters}) {
        EXPECT_EQ(*parse_reference(reference_name(tokens)), tokens);
    }
    EXPECT_EQ(parse_mass("some").status().message(), "mass 'some' is not one of none, nearest");
    EXPECT_EQ(parse_reference("first").status().message(),
              "reference_tokens 'first' is not one of last, instruction, post, raters");
    EXPECT_EQ(parse_stage_mode("during").status().message(),
              "stage_mode 'during' is not one of before, after");
}

}  // namespace
}  // namespace clasp
