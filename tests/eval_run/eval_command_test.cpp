// The eval and calibrate commands over a small model with random weights: files, resuming, shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "../cli/run_program.h"
#include "clasp/policy.h"
#include "methods/method.h"
#include "support/bmp.h"
#include "support/json.h"
#include "support/needs_ffmpeg.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace clasp::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string picture(unsigned seed) {
    return clasp::test::make_bmp(40, 40, [seed](std::uint32_t i) { return (i * (seed + 3) / 5) % 256; });
}

class EvalCommand : public ::testing::Test {
   protected:
    static void SetUpTestSuite() {
        root() = std::string(clasp::test::scratch_dir()) + "/eval-command-" + std::to_string(getpid());
        fs::create_directories(root() + "/data");
        clasp::test::RandomLlama text;
        text.n_layers = 8;
        text.width = 96;
        text.n_heads = 3;
        text.n_kv_heads = 3;
        text.vocabulary_file =
            std::string(clasp::test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
        ASSERT_TRUE(clasp::test::write_random_llama(root() + "/text.gguf", text));
        clasp::test::MmprojSpec vision;
        vision.image_size = 112;
        vision.n_blocks = 23;
        std::ofstream mmproj(root() + "/mmproj.gguf", std::ios::binary);
        clasp::test::write_random_mmproj(vision, mmproj);
        std::ofstream questions(root() + "/data/questions.jsonl");
        for (unsigned i = 0; i < 6; ++i) {
            const std::string name = std::to_string(i / 2) + ".bmp";
            std::ofstream(root() + "/data/" + name, std::ios::binary) << picture(i / 2);
            questions << base::Json({{"image", name},
                                     {"question", "How many cups are there?"},
                                     {"answers", {"two"}},
                                     {"class_id", i % 2}})
                      << '\n';
        }
    }
    static void TearDownTestSuite() { fs::remove_all(root()); }

    static std::string& root() {
        static std::string path;
        return path;
    }
    // A command on the suite's model, with its own words first.
    static std::vector<std::string> on_model(std::vector<std::string> own) {
        own.insert(own.end(), {"--model", root() + "/text.gguf", "--mmproj", root() + "/mmproj.gguf",
                               "--threads", "1", "--json"});
        return own;
    }
    static std::vector<std::string> words(const std::string& out, const std::vector<std::string>& more) {
        std::vector<std::string> all =
            on_model({"eval", "jsonl", "--data", root() + "/data", "--methods", "clasp,random", "--budgets",
                      "none,20", "--max-tokens", "3"});
        if (!out.empty()) all.insert(all.end(), {"--out", root() + "/" + out});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    static std::vector<std::string> lines(const std::string& folder) {
        std::ifstream file(root() + "/" + folder + "/results.jsonl");
        std::vector<std::string> all;
        for (std::string line; std::getline(file, line);) all.push_back(line);
        return all;
    }
};

TEST_F(EvalCommand, WritesResultsSummaryAndReport) {
    const Outcome outcome = run(words("run", {}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = test::parsed(outcome.out);
    ASSERT_EQ(json["rows"].size(), 4U);  // two methods at two budgets
    EXPECT_EQ(json["rows"][0]["budget"], "none");
    EXPECT_DOUBLE_EQ(json["rows"][0]["loyalty"].get<double>().value(), 1.0);
    EXPECT_EQ(lines("run").size(), 18U);  // the unpruned model once
    std::ifstream summary(root() + "/run/summary.json");
    EXPECT_EQ(test::parsed(summary)["rows"], json["rows"]);
    for (const char* name : {"report.html", "report.md", "run.json"}) {
        EXPECT_GT(fs::file_size(root() + "/run/" + name), 100U) << name;
    }
    std::ifstream report(root() + "/run/report.md");
    const std::string markdown((std::istreambuf_iterator<char>(report)), {});
    EXPECT_THAT(markdown, HasSubstr("clasp-vlm eval jsonl --data " + root() + "/data"));
    EXPECT_THAT(run(words("run", {})).err, HasSubstr("--resume"));
}

TEST_F(EvalCommand, ResumesATornRunToTheSameResults) {
    ASSERT_EQ(run(words("whole", {})).code, 0);
    fs::create_directories(root() + "/torn");
    fs::copy_file(root() + "/whole/run.json", root() + "/torn/run.json");
    const std::vector<std::string> all = lines("whole");
    std::ofstream torn(root() + "/torn/results.jsonl");
    for (std::size_t i = 0; i < 7; ++i) torn << all[i] << '\n';
    torn << all[7].substr(0, 20);
    torn.close();
    const Outcome outcome = run(words("torn", {"--resume"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> resumed = lines("torn");
    ASSERT_EQ(resumed.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto a = test::parsed(all[i]);
        const auto b = test::parsed(resumed[i]);
        EXPECT_EQ(a["question_id"], b["question_id"]);
        EXPECT_EQ(a["variant"], b["variant"]);
        EXPECT_EQ(a["text"], b["text"]);
    }
    // Nothing is left to ask, and another model's answers are not taken for this one's.
    ASSERT_EQ(run(words("torn", {"--resume"})).code, 0);
    EXPECT_EQ(lines("torn").size(), all.size());
    std::vector<std::string> longer = words("torn", {"--resume"});
    std::replace(longer.begin(), longer.end(), std::string("3"), std::string("4"));
    EXPECT_THAT(run(longer).err, HasSubstr("do not belong together"));
}

// The sets of videos on disk as their authors publish them, with a file of each kind in the place of theirs.
struct VideoSet {
    const char* benchmark;
    const char* folder;
    const char* videos;
};

class EvalClips : public EvalCommand, public ::testing::WithParamInterface<VideoSet> {
   protected:
    static std::string data(const std::string& path) {
        return std::string(clasp::test::source_dir()) + "/" + path;
    }
    // Question i is about video i, whose name has no ending; the last one is not there.
    static std::string write_set(const std::vector<std::string>& files) {
        const std::string folder = root() + "/" + GetParam().benchmark;
        const std::string set = folder + "/" + GetParam().folder;
        const std::string videos = set + "/" + GetParam().videos + "/";
        fs::create_directories(videos);
        std::ofstream questions(set + "/test_q.json");
        std::ofstream answers(set + "/test_a.json");
        for (std::size_t i = 0; i <= files.size(); ++i) {
            const std::string name = "clip" + std::to_string(i);
            if (i < files.size()) {
                fs::copy_file(data(files[i]), videos + name + fs::path(files[i]).extension().string());
            }
            questions << (i == 0 ? "[" : ",") << R"({"video_name":")" << name
                      << R"(","question":"what is it","question_id":"q)" << i << R"("})";
            answers << (i == 0 ? "[" : ",") << R"({"answer":"x","question_id":"q)" << i << R"("})";
        }
        questions << "]";
        answers << "]";
        return folder;
    }
};

TEST_P(EvalClips, AsksAboutFilesOfEveryKind) {
    CLASP_NEEDS_FFMPEG();
    const std::string seeds = "fuzz/seeds/clip/";
    const std::string folder = write_set({seeds + "small.mp4", seeds + "small.avi", seeds + "small.mkv",
                                          "tests/data/images/anim_dispose_background.gif"});
    const std::string out = std::string("clips-") + GetParam().benchmark;
    const Outcome outcome =
        run(on_model({"eval", GetParam().benchmark, "--data", folder, "--methods", "clasp", "--budgets",
                      "none,64", "--max-tokens", "2", "--out", root() + "/" + out}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("1 questions could not be asked"));
    const auto json = test::parsed(outcome.out);
    EXPECT_EQ(json["missing_images"], 1);
    ASSERT_EQ(json["rows"].size(), 2U);
    for (const auto& row : json["rows"]) EXPECT_EQ(row["answered"], 4);
    std::multiset<std::string> asked;
    for (const std::string& line : lines(out)) {
        const auto result = test::parsed(line);
        asked.insert(result["question_id"].get<std::string>().value());
        const double n_tokens = result["average_tokens"].get<double>().value();
        const bool is_unpruned = result["budget"] == "none";
        EXPECT_NEAR(n_tokens, is_unpruned ? 5 * 64 : 64, is_unpruned ? 0 : 2) << "each clip has five frames";
    }
    EXPECT_EQ(asked, (std::multiset<std::string>{"q0", "q0", "q1", "q1", "q2", "q2", "q3", "q3"}));
}

INSTANTIATE_TEST_SUITE_P(Sets, EvalClips,
                         ::testing::Values(VideoSet{"tgif-qa", "GPT_Zero_Shot_QA/TGIF_Zero_Shot_QA", "mp4"},
                                           VideoSet{"msvd-qa", "MSVD_Zero_Shot_QA", "videos"},
                                           VideoSet{"msrvtt-qa", "MSRVTT_Zero_Shot_QA", "videos/all"}),
                         [](const auto& chosen) {
                             const std::string name = chosen.param.benchmark;
                             return name.substr(0, name.find('-'));
                         });

TEST_F(EvalCommand, ShardsMergeToTheWhole) {
    const Outcome whole = run(words("", {}));
    ASSERT_EQ(whole.code, 0) << whole.err;
    ASSERT_EQ(run(words("part1", {"--shard", "1/2"})).code, 0);
    ASSERT_EQ(run(words("part2", {"--shard", "2/2"})).code, 0);
    const Outcome merged =
        run({"eval", "merge", root() + "/part1", root() + "/part2", "--out", root() + "/merged", "--json"});
    ASSERT_EQ(merged.code, 0) << merged.err;
    const auto a = test::parsed(whole.out);
    const auto b = test::parsed(merged.out);
    ASSERT_EQ(a["rows"].size(), b["rows"].size());
    for (std::size_t i = 0; i < a["rows"].size(); ++i) {
        for (const char* field : {"method", "budget", "score", "loyalty", "ci95", "per_class", "answered"}) {
            EXPECT_EQ(a["rows"][i][field], b["rows"][i][field]) << field;
        }
    }
    // Once more into the same folder: nothing stands there twice.
    const auto bytes = fs::file_size(root() + "/merged/results.jsonl");
    const Outcome again =
        run({"eval", "merge", root() + "/part1", root() + "/part2", "--out", root() + "/merged", "--resume"});
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(fs::file_size(root() + "/merged/results.jsonl"), bytes);
}

TEST_F(EvalCommand, AblationsRunByName) {
    std::vector<std::string> all = words("", {});
    all[1] = "ablation";
    all.insert(all.begin() + 2, "iterations");
    all.insert(all.end(), {"--benchmark", "jsonl", "--methods", "clasp", "--budgets", "20", "--limit", "2"});
    std::erase(all, "clasp,random");
    std::erase(all, "none,20");
    all.erase(std::find(all.begin(), all.end(), "--methods"));
    all.erase(std::find(all.begin(), all.end(), "--budgets"));
    const Outcome outcome = run(all);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(test::parsed(outcome.out)["rows"].size(), 6U);
}

TEST_F(EvalCommand, MissingPicturesAreCountedAndWrongUsageIsSaid) {
    fs::copy(root() + "/data", root() + "/gaps");
    fs::remove(root() + "/gaps/1.bmp");
    std::vector<std::string> all = words("", {});
    all[3] = root() + "/gaps";
    const Outcome outcome = run(all);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(test::parsed(outcome.out)["missing_images"], 2);
    EXPECT_THAT(outcome.err, HasSubstr("2 questions could not be asked"));

    EXPECT_EQ(run({"eval", "jsonl", "--model", "x.gguf", "--mmproj", "y.gguf"}).code, 2);
    EXPECT_EQ(run({"eval", "merge", "a"}).code, 2);
    EXPECT_EQ(run({"eval", "ablation", "--data", "d"}).code, 2);
}

TEST_F(EvalCommand, AllMethodsStandWithAndWithoutMassesAndRefusalsAreSaid) {
    std::vector<std::string> all = words("all", {"--mass", "both", "--limit", "1"});
    *std::ranges::find(all, "clasp,random") = "all";
    const Outcome outcome = run(all);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = test::parsed(outcome.out);
    std::set<std::string> labels;
    for (const auto& row : json["rows"]) labels.insert(row["label"].get<std::string>().value());
    for (const char* label : {"none", "random", "random + masses", "clasp+", "tome"}) {
        EXPECT_TRUE(labels.contains(label)) << label;
    }
    EXPECT_FALSE(labels.contains("clasp+ + masses"));
    EXPECT_FALSE(labels.contains("tome + masses"));
    for (const methods::Method& method : methods::all_methods()) {
        const std::string refusal = std::string(method.name) + " at budget 20 is left out: ";
        EXPECT_NE(labels.contains(std::string(method.name)), outcome.err.find(refusal) != std::string::npos)
            << method.name;
    }
}

TEST_F(EvalCommand, CompareShowsEveryMethodBesideTheOriginalModel) {
    const std::string map = root() + "/compare.png";
    std::vector<std::string> all = on_model({"compare", root() + "/data/0.bmp", "How many cups are there?",
                                             "--budget", "20", "--max-tokens", "3", "--map", map});
    const Outcome outcome = run(all);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = test::parsed(outcome.out);
    EXPECT_EQ(json["rows"].size(), methods::all_methods().size());
    const auto n_tokens = json["vanilla"]["tokens"]["entering"].get<std::size_t>().value();
    std::size_t answered = 0;
    for (const auto& row : json["rows"]) {
        if (row.contains("error")) {
            EXPECT_THAT(row["error"].get<std::string>().value(), ::testing::Not(::testing::IsEmpty()));
            continue;
        }
        ++answered;
        EXPECT_LT(row["tokens"]["average"].get<double>().value(), static_cast<double>(n_tokens))
            << row["method"];
        const auto cosine = row["agreement"]["logit_cosine"].get<double>().value();
        EXPECT_GE(cosine, -1.0 - 1e-9);
        EXPECT_LE(cosine, 1.0 + 1e-9);
        EXPECT_EQ(row["agreement"]["same_answer"].get<bool>().value(),
                  row["answer"] == json["vanilla"]["answer"]);
    }
    EXPECT_GE(answered, 20U);  // the others say why not: a grid or a depth they do not fit
    EXPECT_GT(fs::file_size(map), 1000U);

    all.back() = "--methods";
    all.emplace_back("clasp,nonsense");
    const Outcome refused = run(all);
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err, HasSubstr("nonsense"));
}

TEST_F(EvalCommand, CalibrateWritesAPolicyThatAskTakes) {
    const std::string policy = root() + "/policy.json";
    // The search starts from the model's own policy, which is no profile.
    Policy own = *find_profile("llava");
    own.classes.front().split = own.classes.front().split > 0.5 ? 0.35 : 0.65;
    ASSERT_NE(policy_hash(own), policy_hash(*find_profile("llava")));
    std::ofstream(root() + "/text-policy.json") << to_json(own);
    const std::vector<std::string> all =
        on_model({"calibrate", "--benchmark", "jsonl", "--data", root() + "/data", "--budget", "20", "--out",
                  policy, "--samples-per-class", "3", "--max-tokens", "2"});
    const Outcome outcome = run(all);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = test::parsed(outcome.out);
    EXPECT_EQ(json["classes"].size(), 9U);
    const auto read = read_policy(policy);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(policy_hash(*read), json["hash"]);
    EXPECT_THAT(read->provenance, HasSubstr("model_hash"));
    EXPECT_EQ(test::parsed(read->provenance)["start_hash"], policy_hash(own));
    EXPECT_TRUE(fs::exists(policy + ".calibration/search.html"));
    EXPECT_EQ(run(all).code, 1);  // the folder holds a search
    std::vector<std::string> again = all;
    again.push_back("--resume");
    const Outcome resumed = run(again);
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(test::parsed(resumed.out)["asked"], 0);
    EXPECT_EQ(test::parsed(resumed.out)["hash"], json["hash"]);
    fs::remove(root() + "/text-policy.json");
}

TEST_F(EvalCommand, AnIncompleteSetIsNotMergedInSilence) {
    ASSERT_EQ(run(words("half", {"--shard", "1/2"})).code, 0);
    const std::vector<std::string> merge = {"eval", "merge", root() + "/half", "--out",
                                            root() + "/incomplete"};
    const Outcome refused = run(merge);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("has no answer to 2 of 6 questions"));
    EXPECT_THAT(refused.err, HasSubstr("--partial"));
    EXPECT_FALSE(fs::exists(root() + "/incomplete/summary.json"));
    std::vector<std::string> partial = merge;
    partial.emplace_back("--partial");
    const Outcome counted = run(partial);
    EXPECT_EQ(counted.code, 0) << counted.err;
    EXPECT_THAT(counted.err, HasSubstr("answered 4 of 6 questions"));
    EXPECT_EQ(run(words("", {"--partial"})).code, 2);
}

TEST_F(EvalCommand, QuestionsThatCouldNotBeAskedAreNoGapInAMerge) {
    fs::copy(root() + "/data", root() + "/holes");
    fs::remove(root() + "/holes/0.bmp");  // the first shard has another picture
    for (const char* shard : {"1/2", "2/2"}) {
        std::vector<std::string> part = words(std::string("holes-") + shard[0], {"--shard", shard});
        part[3] = root() + "/holes";
        ASSERT_EQ(run(part).code, 0);
    }
    const Outcome merged = run({"eval", "merge", root() + "/holes-1", root() + "/holes-2", "--out",
                                root() + "/holes-all", "--json"});
    ASSERT_EQ(merged.code, 0) << merged.err;
    EXPECT_EQ(test::parsed(merged.out)["missing_images"], 2);
}

TEST_F(EvalCommand, OptionsThatItsWordsLeaveWithoutEffectAreRefused) {
    const std::string data = root() + "/data";
    const auto refusal = [](const std::vector<std::string>& words) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        return outcome.err;
    };
    EXPECT_THAT(refusal({"eval", "merge", data, "--out", root() + "/m", "--methods", "random"}),
                HasSubstr("'eval merge' asks no model; --methods has no effect with it"));
    EXPECT_THAT(refusal({"eval", "report", data, "--out", root() + "/m", "--max-tokens", "3"}),
                HasSubstr("--max-tokens has no effect"));
    EXPECT_THAT(refusal({"eval", "jsonl", "--data", data, "--benchmark", "pope"}),
                HasSubstr("--benchmark goes with 'eval ablation'"));
    EXPECT_THAT(refusal({"eval", "ablation", "seeds", "--data", data, "--calibration-sizes", "9"}),
                HasSubstr("--calibration-sizes goes with 'eval ablation calibration'"));
}

TEST_F(EvalCommand, AnAblationTakesOptionsOrRefusesThem) {
    const auto ablation = [](const std::string& name, const std::vector<std::string>& more) {
        std::vector<std::string> all =
            on_model({"eval", "ablation", name, "--benchmark", "jsonl", "--data", root() + "/data",
                      "--budgets", "20", "--max-tokens", "3", "--limit", "2"});
        all.insert(all.end(), more.begin(), more.end());
        return run(all);
    };
    EXPECT_THAT(ablation("masses", {"--mass", "none"}).err, HasSubstr("varies what --mass would fix"));
    EXPECT_THAT(ablation("seeds", {"--select-seed", "3"}).err, HasSubstr("--select-seed"));
    EXPECT_THAT(ablation("components", {"--no-fusion"}).err, HasSubstr("--no-fusion"));
    EXPECT_THAT(ablation("router-robustness", {"--force-errors", "0.5"}).err, HasSubstr("--force-errors"));
    EXPECT_NE(ablation("iterations", {"--mass", "both"}).code, 0);
    EXPECT_THAT(ablation("masses", {"--methods", "random"}).err,
                HasSubstr("varies what --methods would fix"));
    EXPECT_THAT(ablation("iterations", {"--methods", "clasp,random"}).err,
                HasSubstr("an ablation takes one method, not 'clasp,random'"));
    const auto keys = [](const Outcome& outcome) {
        std::vector<std::string> all;
        const auto json = test::parsed(outcome.out);
        for (const auto& row : json["rows"]) all.push_back(row["variant"].get<std::string>().value());
        return all;
    };
    const Outcome plain = ablation("iterations", {});
    ASSERT_EQ(plain.code, 0) << plain.err;
    for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
             {"--mass", "nearest"}, {"--no-fusion"}, {"--select-seed", "7"}}) {
        const Outcome other = ablation("iterations", option);
        ASSERT_EQ(other.code, 0) << other.err;
        EXPECT_EQ(keys(other).front(), keys(plain).front());  // the unpruned model
        for (std::size_t i = 1; i < keys(plain).size(); ++i)
            EXPECT_NE(keys(other)[i], keys(plain)[i]) << option[0];
    }
    // Options that a preset's own settings stand beside.
    const auto second_key = [&](const std::string& name, const std::vector<std::string>& more) {
        const Outcome outcome = ablation(name, more);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.code == 0 ? keys(outcome).at(1) : std::string();
    };
    EXPECT_NE(second_key("iterations", {"--methods", "random"}),
              second_key("iterations", {"--methods", "random:seed=3"}));
    EXPECT_NE(second_key("router-robustness", {}), second_key("router-robustness", {"--stress-seed", "7"}));
}

TEST_F(EvalCommand, AModelBringsItsPolicyByNameAndByPath) {
    const auto policy_of = [](const std::vector<std::string>& words) -> std::string {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return test::parsed(outcome.out)["policy"]["name"].get<std::string>().value();
    };
    const std::string picture = std::string(clasp::test::source_dir()) + "/examples/pictures/crosses.png";
    const std::vector<std::string> embedded = {"ask",       picture, "How many crosses are there?",
                                               "--threads", "1",     "--json"};
    EXPECT_EQ(policy_of(embedded), "tiny");
    const std::string models = std::string(clasp::test::source_dir()) + "/models/";
    std::vector<std::string> by_path = embedded;
    by_path.insert(by_path.end(),
                   {"--model", models + "clasp-tiny.gguf", "--mmproj", models + "clasp-tiny-mmproj.gguf"});
    EXPECT_EQ(policy_of(by_path), "tiny");
    std::vector<std::string> named = embedded;
    named.insert(named.end(), {"--policy", "llava"});
    EXPECT_EQ(policy_of(named), "llava");
    EXPECT_EQ(policy_of(on_model({"ask", root() + "/data/0.bmp", "How many cups are there?", "--budget", "20",
                                  "--max-tokens", "1"})),
              "llava");
}

}  // namespace
}  // namespace clasp::cli
