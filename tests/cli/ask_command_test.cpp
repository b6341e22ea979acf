// ask, compare, inspect and cache as a user runs them, with the embedded model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "clasp/image.h"
#include "cli/interrupt.h"
#include "run_program.h"
#include "support/gguf_writer.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

const std::string kQuestion = "How many yellow crosses are in the picture?";

std::string picture() {
    return std::string(test::source_dir()) + "/examples/pictures/crosses.png";
}

std::string file_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

// A folder of its own, empty.
std::string fresh_folder() {
    const fs::path folder =
        fs::path(test::scratch_dir()) /
        (std::string("ask-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
    return folder.string();
}

std::vector<std::string> ask(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"ask", picture(), kQuestion, "--threads", "1"});
    return more;
}

// The embedded model's policy has masses: they come with its own method, and with no other by itself.
TEST(Ask, WhatRanIsSaidBesideTheFigures) {
    EXPECT_THAT(run(ask({"--budget", "64"})).err, HasSubstr("(classifier), clasp+: 576 visual tokens"));
    EXPECT_THAT(run(ask({"--budget", "64", "--method", "fastv"})).err, HasSubstr(", fastv: 576"));
    EXPECT_THAT(run(ask({"--budget", "64", "--method", "fastv", "--mass", "nearest"})).err,
                HasSubstr(", fastv + masses: 576"));
    EXPECT_THAT(run(ask({"--vanilla"})).err, HasSubstr(", nothing pruned: 576"));
}

TEST(Ask, AnAnswerMayTakeSoLong) {
    // The picture alone takes longer than a thousandth of a second.
    const Outcome late = run(ask({"--max-seconds", "0.001"}));
    EXPECT_EQ(late.code, 1);
    EXPECT_THAT(late.err, HasSubstr("the deadline passed before the answer began"));
    EXPECT_EQ(run(ask({"--max-seconds", "86400"})).out, run(ask()).out);
    const Outcome never = run(ask({"--max-seconds", "0"}));
    EXPECT_EQ(never.code, 2);
    EXPECT_THAT(never.err, HasSubstr("--max-seconds takes a number from 0.001 to 86400, not '0'"));
}

TEST(Bench, SaysWhatRanAndWhatItCouldNotDo) {
    const std::vector<std::string> once = {"bench", "--repeats", "1", "--generate", "1", "--threads", "1"};
    const auto bench = [&once](std::vector<std::string> more) {
        more.insert(more.begin(), once.begin(), once.end());
        return run(more);
    };
    const Outcome own = bench({"--budgets", "64"});
    EXPECT_THAT(own.out, HasSubstr("\nclasp+  64 "));
    EXPECT_THAT(own.out, Not(HasSubstr("nan")));
    const Outcome named = bench({"--budgets", "50", "--method", "vtw", "--json"});
    const Json row = test::parsed(named.out)["rows"][0];
    EXPECT_EQ(row["label"], "vtw");
    EXPECT_EQ(row["notes"][1], "the budget asks for 50 visual tokens per layer on average, this run had 36");
    EXPECT_THAT(bench({"--budgets", "50", "--method", "vtw"}).err, HasSubstr("note: 50: the budget asks"));
}

TEST(Compare, WithoutASingleAnswerItFails) {
    const std::vector<std::string> words = {"compare", picture(), kQuestion, "--budget", "24", "--methods"};
    const auto compare = [&words](const std::string& methods) {
        std::vector<std::string> all = words;
        all.push_back(methods);
        return run(all);
    };
    const Outcome none = compare("fastv,dart");
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("method 'fastv' cannot reach"));
    EXPECT_EQ(none.out, "");
    EXPECT_EQ(compare("fastv,clasp").code, 0);
}

TEST(Ask, ValuesThatCannotBeAreWrongUsage) {
    const std::vector<std::vector<std::string>> cases = {{"--budget", "-3"},
                                                         {"--schedule", "nonsense"},
                                                         {"--schedule", "2:300,x"},
                                                         {"--schedule", "paper-7"},
                                                         {"--policy", "nosuch"},
                                                         {"--method", "nosuch"},
                                                         {"--class", "nosuch"},
                                                         {"--model", "nosuch"},
                                                         {"--method-option", "x"},
                                                         {"--method", "fastv", "--method-option", "layer=0"},
                                                         {"--mass", "nearest", "--method", "tome"}};
    for (const auto& more : cases) {
        const Outcome result = run(ask(more));
        EXPECT_EQ(result.code, 2) << more[0] << " " << more[1] << ": " << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
    EXPECT_THAT(run(ask({"--method", "fasttv"})).err, HasSubstr("did you mean 'fastv'?"));
    EXPECT_THAT(run(ask({"--model", "tny"})).err, HasSubstr("did you mean 'tiny'?"));
    EXPECT_EQ(run({"compare", picture(), kQuestion, "--methods", "clasp,nosuch"}).code, 2);
    EXPECT_EQ(run({"bench", "--budgets", "none,x"}).code, 2);
    EXPECT_EQ(run({"bench", "--question", " "}).code, 2);
    EXPECT_THAT(run(ask({"--max-tokens", "0"})).err, HasSubstr("from 1 to 1048576, not '0'"));
    EXPECT_EQ(run({"eval", "scenes", "--data", ".", "--methods", "nosuch"}).code, 2);
    EXPECT_EQ(run({"eval", "nosuch", "--data", "."}).code, 2);
    EXPECT_EQ(run({"eval", "scenes", "--data", ".", "--methods", "clasp,tome", "--mass", "nearest"}).code, 2);
    EXPECT_EQ(run({"eval", "scenes", "--data", ".", "--shard", "x"}).code, 2);
    EXPECT_EQ(
        run({"calibrate", "--data", ".", "--out", "p.json", "--budget", "64", "--method", "nosuch"}).code, 2);
    EXPECT_EQ(run({"ask", "no-such-picture.png", kQuestion}).code, 1);
}

// Before a model is loaded for it, which may take half a minute: the one named here would not load at all.
TEST(Ask, APictureThatIsNotThereIsSaidFirst) {
    const std::string broken = fresh_folder() + "/broken.gguf";
    std::ofstream(broken) << "no model";
    const std::string absent = fs::path(broken).replace_filename("absent.png").string();
    const std::vector<std::string> model = {"-m", broken, "-M", broken};
    for (std::vector<std::string> words : {std::vector<std::string>{"ask", absent, "How many?"},
                                           {"ask", picture(), absent, "How many?"},
                                           {"ask", picture(), absent, "How many?", "--as-clip"},
                                           {"compare", absent, "How many?"},
                                           {"bench", "--image", absent}}) {
        words.insert(words.end(), model.begin(), model.end());
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 1) << words[0];
        EXPECT_THAT(result.err, HasSubstr("absent.png': No such file")) << words[0];
        EXPECT_THAT(result.err, Not(HasSubstr("quotation marks"))) << words[0];
    }
    EXPECT_THAT(run({"ask", picture(), "How", "many", "are there?"}).err,
                HasSubstr("cannot open 'How': No such file or directory; a question of several words goes in "
                          "quotation marks"));
}

TEST(Ask, SwappedAndMissingQuestionsAreRecognised) {
    for (const char* command : {"ask", "compare"}) {
        const Outcome swapped = run({command, "How many?", picture()});
        EXPECT_EQ(swapped.code, 2);
        EXPECT_THAT(swapped.err, HasSubstr("picture and question are swapped"));
        EXPECT_EQ(run({command, "How many?", "absent.jpg"}).code, 2);
        EXPECT_THAT(run({command, picture(), picture()}).err, HasSubstr("the question is missing"));
        EXPECT_THAT(run({command, picture(), "absent.jpg"}).err, HasSubstr("the question is missing"));
        for (const char* blank : {"", "   ", "\t\n"}) {
            const Outcome result = run({command, picture(), blank});
            EXPECT_EQ(result.code, 2);
            EXPECT_THAT(result.err, AnyOf(HasSubstr("question is blank"), HasSubstr("question is empty")));
        }
    }
    const std::string blanks = fresh_folder() + "/my photo.png";
    fs::copy_file(picture(), blanks);
    EXPECT_THAT(run({"ask", "How many?", blanks}).err, HasSubstr("picture and question are swapped"));
    // A question may well speak of a file.
    EXPECT_THAT(run({"ask", "absent.png", "What is a.png?"}).err, Not(HasSubstr("swapped")));
}

TEST(Ask, StopTextsEndTheAnswer) {
    const Json whole = test::parsed(run(ask({"--json"})).out);
    const std::string answer = whole["answer"].get<std::string>().value();
    ASSERT_FALSE(answer.empty());
    const Outcome stopped = run(ask({"--json", "--stop", "never said", "--stop", answer}));
    ASSERT_EQ(stopped.code, 0) << stopped.err;
    EXPECT_EQ(test::parsed(stopped.out)["answer"], "");
    EXPECT_EQ(test::parsed(stopped.out)["stopped"], "stop_text");
}

TEST(Ask, AQuestionAloneIsInText) {
    const Outcome result = run({"ask", kQuestion, "--threads", "1", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const Json json = test::parsed(result.out);
    EXPECT_EQ(json["tokens"]["visual"], 0);
    EXPECT_EQ(json["stages"].size(), 0U);
    EXPECT_EQ(json["mix"].size(), 0U);
    EXPECT_EQ(json["method"], "none");
    EXPECT_EQ(json["budget"]["reason"], "there is no picture");
    // A file needs no vision file for it, and says so; for a picture it needs one.
    const std::string model = std::string(test::source_dir()) + "/models/clasp-tiny.gguf";
    const Outcome alone = run({"ask", kQuestion, "-t", "1", "-m", model});
    ASSERT_EQ(alone.code, 0) << alone.err;
    EXPECT_EQ(alone.out, json["answer"].get<std::string>().value() + "\n");
    EXPECT_THAT(alone.err, HasSubstr("note: the model was loaded without a vision file"));
    EXPECT_THAT(alone.err, HasSubstr("text only: "));
    const Outcome seeing = run({"ask", picture(), kQuestion, "-m", model});
    EXPECT_EQ(seeing.code, 2);
    EXPECT_THAT(seeing.err, HasSubstr("--model with a file needs --mmproj with its vision file"));
    // Options about pictures say nothing about it, and a lone picture is no question.
    for (const std::vector<std::string>& about : {std::vector<std::string>{"--budget", "64"},
                                                  {"--method", "fastv"},
                                                  {"--no-fusion"},
                                                  {"--compat", "llama.cpp"},
                                                  {"--map", "map.png"},
                                                  {"--cache", "layers"},
                                                  {"--policy", "llava"}}) {
        std::vector<std::string> words = {"ask", kQuestion};
        words.insert(words.end(), about.begin(), about.end());
        const Outcome refused = run(words);
        EXPECT_EQ(refused.code, 2) << about[0];
        EXPECT_THAT(refused.err, HasSubstr(about[0]));
    }
    EXPECT_FALSE(fs::exists("map.png"));
    for (const std::string& lone : {picture(), std::string("absent.jpg"), std::string("-")}) {
        const Outcome missing = run({"ask", lone}, {.input = "x"});
        EXPECT_EQ(missing.code, 2) << lone;
        EXPECT_THAT(missing.err, HasSubstr("the question is missing"));
    }
    EXPECT_EQ(run({"ask"}).code, 2);
    EXPECT_EQ(run({"compare", kQuestion}).code, 2);
}

TEST(Ask, LetterCaseDoesNotMatter) {
    const Outcome result =
        run(ask({"--method", "FastV", "--class", "COUNTING", "--budget", "NONE", "--json"}));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(test::parsed(result.out)["class"]["name"], "Counting");
    const Outcome named = run(ask({"--method", "FastV", "--class", "text", "-b", "128", "-j"}));
    ASSERT_EQ(named.code, 0) << named.err;
    EXPECT_EQ(test::parsed(named.out)["method"], "fastv");
    EXPECT_EQ(test::parsed(named.out)["class"]["name"], "Text / symbol recognition");
}

TEST(Ask, ReadsAPictureFromStandardInput) {
    const std::string map = fresh_folder() + "/map.png";
    const Outcome piped =
        run({"ask", "-", kQuestion, "-t", "1", "--map", map}, {.input = file_bytes(picture())});
    ASSERT_EQ(piped.code, 0) << piped.err;
    EXPECT_EQ(piped.out, run(ask()).out);
    EXPECT_TRUE(load_image(map).ok());

    EXPECT_EQ(run({"ask", "-", "-", kQuestion}, {.input = "x"}).code, 2);
    const Outcome typed = run({"ask", "-", kQuestion}, {.input_is_terminal = true});
    EXPECT_EQ(typed.code, 2);
    EXPECT_THAT(typed.err, HasSubstr("terminal"));
    EXPECT_EQ(run({"compare", "-", kQuestion}, {.input_is_terminal = true}).code, 2);
    const Outcome nothing = run({"ask", "-", kQuestion});
    EXPECT_EQ(nothing.code, 1);
    EXPECT_THAT(nothing.err, HasSubstr("standard input is empty"));
    const Outcome much =
        run({"ask", "-", kQuestion}, {.input = std::string((std::size_t{20} << 20U) + 1, 'x')});
    EXPECT_EQ(much.code, 1);
    EXPECT_THAT(much.err, HasSubstr("limit"));
}

// Below each other, each with the marks of its own tokens; nothing else fits a clip's map.
TEST(Ask, AMapShowsAllPictures) {
    const std::string folder = fresh_folder();
    const auto map_of = [&](std::vector<std::string> pictures, const std::string& name) {
        std::vector<std::string> words = {"ask"};
        words.insert(words.end(), pictures.begin(), pictures.end());
        words.insert(words.end(), {kQuestion, "-t", "1", "--max-tokens", "1", "--budget", "none", "--map",
                                   folder + "/" + name});
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 0) << result.err;
        auto map = load_image(folder + "/" + name);
        EXPECT_TRUE(map.ok());
        return map.ok() ? std::move(*map) : Image();
    };
    const std::string other =
        std::string(test::source_dir()) + "/tests/data/images/exif_flower_bigendian_8.jpg";
    const Image first = map_of({picture()}, "first.png");
    const Image both = map_of({picture(), other}, "both.png");
    const Image turned = map_of({other, picture()}, "turned.png");
    EXPECT_GT(both.height, first.height + 100);
    EXPECT_EQ(both.height, turned.height);
    EXPECT_NE(both.rgb, turned.rgb);

    const std::string moving = std::string(test::source_dir()) + "/tests/data/images/anim_tiny.gif";
    const Outcome mixed =
        run({"ask", moving, picture(), kQuestion, "-t", "1", "--map", folder + "/mixed.png"});
    EXPECT_EQ(mixed.code, 2);
    EXPECT_THAT(mixed.err, HasSubstr("a map is of one clip, or of pictures alone"));
}

TEST(Ask, MapsComeAsPngOrJpeg) {
    const std::string folder = fresh_folder();
    for (const auto& [name, format] : {std::pair("map.png", ImageFormat::Png),
                                       {"map.JPG", ImageFormat::Jpeg},
                                       {"map.jpeg", ImageFormat::Jpeg}}) {
        const Outcome result = run(ask({"--map", folder + "/" + name}));
        ASSERT_EQ(result.code, 0) << result.err;
        const auto drawn = load_image(folder + "/" + name);
        ASSERT_TRUE(drawn.ok()) << drawn.status().message();
        EXPECT_EQ(drawn->format, format);
        EXPECT_FALSE(drawn->is_partial);
    }
    EXPECT_EQ(run(ask({"--map", folder + "/map.svg"})).code, 2);
}

TEST(Ask, AMapDoesNotReplaceThePicture) {
    const std::string mine = fresh_folder() + "/mine.png";
    fs::copy_file(picture(), mine);
    const std::string link = fs::path(mine).replace_filename("link.png").string();
    fs::create_symlink(mine, link);
    for (const char* command : {"ask", "compare"}) {
        for (const std::string& map : {mine, link}) {
            const Outcome result = run({command, mine, kQuestion, "--map", map});
            EXPECT_EQ(result.code, 2) << command;
            EXPECT_THAT(result.err, HasSubstr("is a picture that is asked about")) << command;
        }
    }
    EXPECT_EQ(file_bytes(mine), file_bytes(picture()));
}

std::string clip() {
    return std::string(test::source_dir()) + "/tests/data/images/anim_tiny.gif";
}

TEST(Ask, MapsThatCannotBeDrawnAreRefusedBeforeAnythingIsAsked) {
    const std::string folder = fresh_folder();
    const Outcome still = run(ask({"--map", folder + "/map.webp"}));
    EXPECT_EQ(still.code, 2);
    EXPECT_THAT(still.err, HasSubstr("only clips have one"));
    const Outcome side_by_side = run({"compare", clip(), kQuestion, "--map", folder + "/map.png"});
    EXPECT_EQ(side_by_side.code, 2);
    EXPECT_THAT(side_by_side.err, HasSubstr("not drawn side by side"));
    EXPECT_EQ(still.out + side_by_side.out, "");
}

// Eight frames are the rule where the model's authors have none, and three fit into this one's context.
TEST(Ask, ClipsSayWhichFramesWereSeenAndHaveMapsOverTime) {
    const std::string folder = fresh_folder();
    for (const char* name : {"map.png", "map.webp"}) {
        const std::string path = folder + "/" + name;
        const Outcome outcome = run({"ask", clip(), "What moves?", "-m", "tiny", "--threads", "1", "--frames",
                                     "2", "--budget", "64", "--max-tokens", "2", "--map", path, "--json"});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const Json json = test::parsed(outcome.out);
        EXPECT_EQ(json["video"]["steps"], 2U);
        EXPECT_EQ(json["video"]["frames"].size(), 2U);
        EXPECT_EQ(json["video"]["total_frames"], 24U);
        EXPECT_EQ(json["video"]["kept_per_step"].size(), 2U);
        EXPECT_EQ(json["tokens"]["visual"], 2U * 576U);
        const std::string map = file_bytes(path);
        const auto decoded = decode_image({reinterpret_cast<const std::uint8_t*>(map.data()), map.size()});
        ASSERT_TRUE(decoded.ok()) << decoded.status().message();
        EXPECT_GT(decoded->width, 300);
    }
    const Outcome part =
        run({"ask", clip(), "What moves?", "-m", "tiny", "--threads", "1", "--fps", "4", "--start", "0.5",
             "--end", "1.5", "--split-time", "even", "--max-tokens", "2", "--json"});
    ASSERT_EQ(part.code, 0) << part.err;
    const std::size_t n_frames = test::parsed(part.out)["video"]["frames"].size();
    EXPECT_GE(n_frames, 3U) << "four a second, the last one may lie behind the end";
    EXPECT_LE(n_frames, 4U);
}

TEST(Ask, PicturesAreFramesIfTheUserSaysSo) {
    const Outcome outcome = run({"ask", picture(), picture(), "What moves?", "--as-clip", "-m", "tiny",
                                 "--threads", "1", "--max-tokens", "2", "--fps", "4", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json video = test::parsed(outcome.out)["video"];
    EXPECT_EQ(video["seconds"][1], 0.25);
    EXPECT_EQ(video["fps"], 4.0);
    EXPECT_EQ(video["duration"], 0.5);
    EXPECT_EQ(run({"ask", "-", "What moves?", "--as-clip"}).code, 2);
    std::vector<std::string> many(18, picture());
    many.insert(many.begin(), "ask");
    many.emplace_back("What moves?");
    EXPECT_THAT(run(many).err, HasSubstr("at most 16 images"));
}

TEST(Ask, OptionsOfClipsNeedOne) {
    EXPECT_THAT(run(ask({"--frames", "3"})).err, HasSubstr("there is no clip"));
    EXPECT_EQ(run(ask({"--start", "3", "--end", "2"})).code, 2);
    EXPECT_EQ(run({"ask", "What is it?", "--fps", "2"}).code, 2);
    EXPECT_THAT(run({"ask", clip(), "What moves?", "-m", "tiny", "--frames", "2", "--threads", "1",
                     "--method", "divprune", "--split-time", "even"})
                    .err,
                HasSubstr("chooses before the decoder"));
    EXPECT_THAT(run(ask({"--map", fresh_folder() + "/map.webp"})).err, HasSubstr("only clips have one"));
}

// llama.cpp does not turn pictures: with its numbers a map shows what it saw, whatever the Exif block says.
TEST(Ask, AMapShowsThePictureAsTheModelSawIt) {
    const std::string folder = fresh_folder();
    std::string turned =
        file_bytes(std::string(test::source_dir()) + "/tests/data/images/exif_flower_bigendian_8.jpg");
    std::string plain = turned;
    plain.replace(plain.find("Exif"), 4, "none");
    const auto map_of = [&](const std::string& bytes, const std::string& compat) {
        const std::string path = folder + "/map.png";
        const Outcome result =
            run({"ask", "-", kQuestion, "-t", "1", "--compat", compat, "--map", path}, {.input = bytes});
        EXPECT_EQ(result.code, 0) << result.err;
        return file_bytes(path);
    };
    EXPECT_EQ(map_of(turned, "llama.cpp"), map_of(plain, "llama.cpp"));
    EXPECT_NE(map_of(turned, "original"), map_of(plain, "original"));
}

TEST(Ask, TheCacheIsMadeAndSaysHitOrMiss) {
    const std::string folder = fresh_folder() + "/made/on/demand";
    const Outcome first = run(ask({"--cache", folder}));
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("cache: miss"));
    EXPECT_THAT(first.err, HasSubstr("text before the picture: miss"));
    const Outcome second = run(ask({"--cache", folder}));
    EXPECT_THAT(second.err, HasSubstr("cache: hit"));
    EXPECT_THAT(second.err, HasSubstr("text before the picture: hit"));
    EXPECT_EQ(second.out, first.out);
    EXPECT_EQ(test::parsed(run(ask({"--cache", folder, "--json"})).out)["cache"], "hit");
    EXPECT_TRUE(test::parsed(run(ask({"--json"})).out)["cache"].is_null());
    EXPECT_THAT(run(ask({"--cache", folder, "--method", "tome"})).err, HasSubstr("cache: not used"));

    // Only files of ours are listed and removed.
    std::ofstream(folder + "/notes.txt") << "mine";
    std::ofstream(folder + "/" + std::string(64, 'a') + ".features") << "not written by us";
    const Json listed = test::parsed(run({"cache", "list", "--cache", folder, "--json"}).out);
    ASSERT_EQ(listed["files"].size(), 2U) << "layers and the text before the picture";
    EXPECT_GT(listed["files"][0]["bytes"].get<int>().value(), 1000);
    EXPECT_GE(listed["files"][0]["age_seconds"].get<double>().value(), 0.0);
    EXPECT_THAT(run({"cache", "list", "--cache", folder}).out, HasSubstr("2 files, "));
    const Outcome cleared = run({"cache", "clear", "--cache", folder});
    EXPECT_EQ(cleared.code, 0) << cleared.err;
    EXPECT_THAT(cleared.out, HasSubstr("removed 2 files"));
    EXPECT_TRUE(fs::exists(folder + "/notes.txt"));
    EXPECT_TRUE(fs::exists(folder + "/" + std::string(64, 'a') + ".features"));
    EXPECT_EQ(test::parsed(run({"cache", "list", "--cache", folder, "--json"}).out)["count"], 0);
    EXPECT_EQ(run({"cache", "list", "--cache", folder + "/absent"}).code, 1);
    EXPECT_EQ(run({"cache", "list", "--cache", folder + "/notes.txt"}).code, 1);
    EXPECT_EQ(run({"cache", "empty"}).code, 2);
}

TEST(Ask, AutoIsTheUsualCacheFolder) {
    const std::string home = fresh_folder();
    setenv("XDG_CACHE_HOME", home.c_str(), 1);
    EXPECT_EQ(test::parsed(run({"cache", "list", "--json"}).out)["count"], 0);
    EXPECT_FALSE(fs::exists(home + "/clasp"));
    ASSERT_EQ(run(ask({"--cache", "auto"})).code, 0);
    EXPECT_TRUE(fs::exists(home + "/clasp/features"));
    EXPECT_EQ(test::parsed(run({"cache", "clear", "--json"}).out)["count"], 2);
    unsetenv("XDG_CACHE_HOME");
}

TEST(Ask, ShowsProgressOnATerminalOnly) {
    const Outcome piped = run(ask());
    EXPECT_THAT(piped.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(piped.err, Not(HasSubstr("loading")));
    const Outcome shown = run(ask(), {.on_terminal = true});
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.out, piped.out);
    const std::size_t loading = shown.err.find("\rloading the model");
    const std::size_t looking = shown.err.find("\rlooking at the picture");
    const std::size_t reading = shown.err.find("\rreading the question");
    const std::size_t gone = shown.err.rfind("\r\x1b[K");
    ASSERT_NE(reading, std::string::npos);
    EXPECT_LT(loading, looking);
    EXPECT_LT(looking, reading);
    // The line is taken away before anything else is said, and nothing of it remains.
    ASSERT_NE(gone, std::string::npos);
    EXPECT_LT(reading, gone);
    EXPECT_THAT(shown.err.substr(gone + 4), Not(HasSubstr("\x1b")));
    EXPECT_THAT(shown.err.substr(gone + 4), HasSubstr("visual tokens"));
    // A failure clears it too.
    const std::string broken = fresh_folder() + "/broken.png";
    std::ofstream(broken) << "no picture";
    const Outcome failed = run({"ask", broken, kQuestion}, {.on_terminal = true});
    EXPECT_EQ(failed.code, 1);
    EXPECT_THAT(failed.err, HasSubstr("\r\x1b[Kclasp-vlm ask: "));
}

// Damaged files of a cache are a warning while the model loads or the picture is looked at: a line of its
// own, not the end of the line of progress.
TEST(Ask, WarningsTakeTheLineOfProgressAway) {
    const std::string folder = fresh_folder();
    const std::vector<std::vector<std::string>> commands = {
        ask({"--cache", folder}), {"chat", picture(), "--cache", folder, "--threads", "1"}};
    for (const std::vector<std::string>& words : commands) {
        const Surroundings around = {.on_terminal = true, .input = kQuestion + "\n"};
        ASSERT_EQ(run(words, around).code, 0);
        std::size_t n_files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (!entry.is_regular_file()) continue;
            fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
            ++n_files;
        }
        ASSERT_GT(n_files, 0U);
        const Outcome shown = run(words, around);
        ASSERT_EQ(shown.code, 0) << shown.err;
        std::size_t n_warnings = 0;
        for (std::size_t at = shown.err.find("warning: "); at != std::string::npos;
             at = shown.err.find("warning: ", at + 1)) {
            ++n_warnings;
            const std::string before = shown.err.substr(0, at);
            EXPECT_TRUE(before.ends_with("\r\x1b[K") || before.ends_with('\n')) << before;
        }
        EXPECT_GE(n_warnings, 1U) << shown.err;
    }
}

TEST(Ask, InterruptsEndWith130) {
    const auto interrupted_by = [](int signal_number) {
        interrupted();
        std::raise(signal_number);
        const Outcome result = run(ask());
        std::fputs(result.err.c_str(), stderr);
        std::exit(result.code);
    };
    EXPECT_EXIT(interrupted_by(SIGINT), testing::ExitedWithCode(130), "clasp-vlm ask: ");
    EXPECT_EXIT(interrupted_by(SIGTERM), testing::ExitedWithCode(143), "clasp-vlm ask: ");
}

TEST(Inspect, TakesNamesOfModels) {
    const Outcome result = run({"inspect", "tiny", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const Json named = test::parsed(result.out);
    EXPECT_EQ(named["fits"], true);
    EXPECT_TRUE(named.contains("vision"));
    const std::string models = std::string(test::source_dir()) + "/models/clasp-tiny";
    const Json by_file =
        test::parsed(run({"inspect", models + ".gguf", "--mmproj", models + "-mmproj.gguf", "--json"}).out);
    EXPECT_EQ(named["layers"], by_file["layers"]);
    EXPECT_EQ(run({"inspect", "tinny"}).code, 2);
    EXPECT_THAT(run({"inspect", "tinny"}).err,
                testing::AllOf(HasSubstr("did you mean 'tiny'?"), HasSubstr("the path of a GGUF file")));
    EXPECT_EQ(run({"inspect", "tiny", "--mmproj", "x.gguf"}).code, 2);
    EXPECT_EQ(run({"inspect", "absent.gguf"}).code, 1);
}

// Strings of a model file are shown, not obeyed: no escape reaches the terminal and no line is forged.
TEST(Inspect, HostileStringsOfAFileAreShownHarmless) {
    const std::string hostile =
        "\x1b]0;owned\x07\x1b[2J\xc2\x9b"
        "1A\xe2\x80\xae\xff";
    test::GgufWriter writer;
    writer.string("general.architecture", "fake" + hostile);
    writer.string("general.name", hostile + "\n  supported      yes\n" + std::string(5000, 'n'));
    const std::string path = fresh_folder() + "/hostile.gguf";
    std::ofstream file(path, std::ios::binary);
    writer.write(file);
    file.close();
    for (const bool on_terminal : {false, true}) {
        const Outcome shown = run({"inspect", path}, {.on_terminal = on_terminal});
        const std::string all = shown.out + shown.err;
        for (const char* bad : {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae", "\xff"}) {
            EXPECT_THAT(all, Not(HasSubstr(bad)));
        }
        EXPECT_THAT(all, Not(HasSubstr("\n  supported      yes")));
        EXPECT_THAT(all, HasSubstr("\\x1b"));
        EXPECT_LT(all.size(), 3000U);
        const Outcome asked =
            run({"ask", picture(), kQuestion, "-m", path, "-M", path}, {.on_terminal = on_terminal});
        EXPECT_EQ(asked.code, 1);
        EXPECT_THAT(asked.err, Not(HasSubstr("\x1b]")));
        EXPECT_THAT(asked.err, Not(HasSubstr("\xc2\x9b")));
    }
}

}  // namespace
}  // namespace clasp::cli
