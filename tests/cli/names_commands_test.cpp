// methods and policy as a user runs them, and names however they are typed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "clasp/policy.h"
#include "methods/method.h"
#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using base::Json;
using testing::HasSubstr;

TEST(MethodsCommand, ListsWhatTheRegistryHas) {
    const Outcome listed = run({"methods"});
    ASSERT_EQ(listed.code, 0) << listed.err;
    const Json all = test::parsed(run({"methods", "--json"}).out)["methods"];
    ASSERT_EQ(all.size(), methods::all_methods().size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const methods::Method& method = methods::all_methods()[i];
        EXPECT_EQ(all[i]["name"], method.name);
        EXPECT_THAT(listed.out, HasSubstr(std::string(method.summary)));
        EXPECT_FALSE(all[i]["acts"].empty()) << method.name;
        EXPECT_TRUE(all[i]["drops"] == true || all[i]["merges"] == true) << method.name;
        EXPECT_EQ(all[i]["options"].size(), method.options.size());
    }
}

TEST(MethodsCommand, TellsWhereAMethodActsAndItsOptions) {
    const Json fastv = test::parsed(run({"methods", "FastV", "--json"}).out);
    EXPECT_EQ(fastv["name"], "fastv");
    EXPECT_EQ(fastv["acts"], Json::array({"decoder"}));
    EXPECT_EQ(fastv["decoder_layers"], Json::array({1}));
    EXPECT_EQ(fastv["when"], "after");
    EXPECT_EQ(fastv["merges"], false);
    EXPECT_EQ(fastv["options"][0]["choices"], Json::array({"paper", "code"}));
    EXPECT_EQ(fastv["options"][1]["min"], 1);
    EXPECT_THAT(fastv["paper"].get<std::string>().value(), HasSubstr("ECCV"));
    const Json tome = test::parsed(run({"methods", "tome", "--json"}).out);
    EXPECT_EQ(tome["acts"], Json::array({"inside the encoder"}));
    EXPECT_EQ(tome["drops"], false);
    EXPECT_EQ(tome["merges"], true);
    EXPECT_TRUE(test::parsed(run({"methods", "random", "--json"}).out)["paper"].is_null());
    EXPECT_THAT(run({"methods", "fastv"}).out, HasSubstr("decoder, after layer 1 of 32"));
    const Outcome text = run({"methods", "holov"});
    EXPECT_THAT(
        text.out,
        HasSubstr("chunks: runs of patches that share the budget (whole number from 1 to 4096; default 16)"));
}

TEST(MethodsCommand, UnknownNamesAreWrongUsage) {
    const Outcome result = run({"methods", "fastvv"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("did you mean 'fastv'?"));
}

TEST(PolicyCommand, ListsAndShowsProfiles) {
    const Json all = test::parsed(run({"policy", "list", "--json"}).out)["policies"];
    ASSERT_EQ(all.size(), profile_names().size());
    EXPECT_EQ(all[0]["hash"], policy_hash(*find_profile("llava")));
    const Outcome shown = run({"policy", "show", "LLaVA"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.out, to_json(*find_profile("llava")));
    EXPECT_EQ(test::parsed(run({"policy", "show", "llava", "--json"}).out), test::parsed(shown.out));
    // That of a model which comes with the program, as reports name it.
    const base::Json own = test::parsed(run({"policy", "show", "tiny"}).out);
    EXPECT_EQ(own["name"], "tiny");
    EXPECT_EQ(own["method"], "clasp+");
}

TEST(PolicyCommand, ChecksFiles) {
    const std::string path = std::string(test::scratch_dir()) + "/checked-policy.json";
    std::ofstream(path) << to_json(*find_profile("llava"));
    const Outcome good = run({"policy", "check", path, "--json"});
    ASSERT_EQ(good.code, 0) << good.err;
    EXPECT_EQ(test::parsed(good.out)["valid"], true);
    EXPECT_EQ(test::parsed(good.out)["hash"], policy_hash(*find_profile("llava")));
    EXPECT_THAT(run({"policy", "check", path}).out, HasSubstr("a valid policy, llava"));

    Policy policy = *find_profile("llava");
    policy.method = "magic";
    std::ofstream(path) << to_json(policy);
    EXPECT_EQ(run({"policy", "check", path}).code, 1);
    EXPECT_THAT(run({"policy", "check", path}).err, HasSubstr("there is no method 'magic'"));
    std::ofstream(path) << "{}";
    const Outcome bad = run({"policy", "check", path, "--json"});
    EXPECT_EQ(bad.code, 1);
    EXPECT_EQ(test::parsed(bad.out)["error"]["code"], "invalid_argument");
    EXPECT_EQ(run({"policy", "check", "absent.json"}).code, 1);
}

TEST(PolicyCommand, WrongUsage) {
    EXPECT_EQ(run({"policy"}).code, 2);
    EXPECT_EQ(run({"policy", "lst"}).code, 2);
    EXPECT_THAT(run({"policy", "lst"}).err, HasSubstr("did you mean 'list'?"));
    EXPECT_EQ(run({"policy", "list", "llava"}).code, 2);
    EXPECT_EQ(run({"policy", "show"}).code, 2);
    EXPECT_EQ(run({"policy", "check"}).code, 2);
    const Outcome result = run({"policy", "show", "lava"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("did you mean 'llava'?"));
}

TEST(Names, BenchmarksAreSuggested) {
    const Outcome result = run({"eval", "sceens", "--data", ".", "--answers", "a.jsonl"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("did you mean 'scenes'?"));
}

TEST(Names, ClassesAndPoliciesOfFuse) {
    const std::vector<std::string> fuse = {"fuse", "--layer", "5=absent.npy", "--out", "f.npy"};
    const auto outcome = [&](std::vector<std::string> more) {
        more.insert(more.begin(), fuse.begin(), fuse.end());
        return run(more);
    };
    EXPECT_EQ(outcome({"--class", "99"}).code, 2);
    EXPECT_EQ(outcome({"--class", "cuonting"}).code, 2);
    EXPECT_THAT(outcome({"--class", "cuonting"}).err, HasSubstr("did you mean 'Counting'?"));
    EXPECT_EQ(outcome({"--class", "5", "--policy", "nosuch"}).code, 2);
    EXPECT_EQ(outcome({"--weights", "nonsense"}).code, 2);
    // Right in itself, and then the file is not there.
    EXPECT_EQ(outcome({"--class", "TEXT", "--policy", "LLAVA"}).code, 1);
}

}  // namespace
}  // namespace clasp::cli
