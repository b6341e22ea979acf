// Benchmarks with a judge: recorded replies in the official forms and in our own, the requests, and a client
// against a small server of this test's own.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "eval/judge_client.h"
#include "fixture.h"

namespace clasp::eval {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr double kJudgeTolerance = 0.05;

TEST(LlavaBench, RecordedReviews) {
    const Scores scores = score_fixture("llava-bench", "llava-bench", "llava-bench/answers/model.jsonl",
                                        "llava-bench/reviews/model-eval1.jsonl");
    EXPECT_NEAR(metric(scores, "conv"), 75.0, kJudgeTolerance);
    EXPECT_NEAR(metric(scores, "detail"), 50.0, kJudgeTolerance);
    EXPECT_NEAR(metric(scores, "complex"), 100.0, kJudgeTolerance);  // -1 over -1: unreadable, and kept
    EXPECT_NEAR(scores.headline.value, 100.0 * 9.5 / 16.0, 1e-9);
    EXPECT_EQ(metric(scores, "unreadable"), 0.0);
    EXPECT_THAT(scores.item_scores, ElementsAre(0.6, 0.45, 0.0));
}

TEST(LlavaBench, NeedsJudgements) {
    const Dataset dataset = load_fixture("llava-bench", "llava-bench");
    const auto scores = benchmark("llava-bench").score(dataset, in_item_order(dataset, {}), nullptr);
    EXPECT_EQ(scores.status().code(), Code::Unsupported);
    EXPECT_THAT(scores.status().message(), HasSubstr("graded by a language model"));
}

TEST(LlavaBench, UnreadableRepliesCountAsMinusOne) {
    const Dataset dataset = load_fixture("llava-bench", "llava-bench");
    Judgements judgements;
    judgements.replies = {{"0", {"8 6\nGood."}}, {"1", {"9, 4.5"}}, {"2", {"Both are fine"}}};
    const Scores scores =
        benchmark("llava-bench").score(dataset, in_item_order(dataset, {}), &judgements).value();
    EXPECT_EQ(metric(scores, "unreadable"), 2.0);  // "9, 4.5" has three parts
    EXPECT_NEAR(metric(scores, "detail"), 100.0, kJudgeTolerance);
    EXPECT_EQ(metric(scores, "unjudged"), 0.0);
}

TEST(LlavaBench, RequestHoldsEverything) {
    const Dataset dataset = load_fixture("llava-bench", "llava-bench");
    const std::string folder = scratch_folder();
    const JudgeProtocol& judge = *benchmark("llava-bench").judge;
    const std::string own =
        judge.request(dataset.items[0], "kite", folder, 0).value().messages.back().content;
    EXPECT_THAT(own, StartsWith("[Context]\nA red kite.\n\n[Question]\nWhat is it?\n\n"));
    write_text(folder + "/rule.json",
               R"({"llava_bench_conv": {"role": "Assistant", "prompt": "Grade both."}})");
    const std::string ruled =
        judge.request(dataset.items[0], "kite", folder, 0).value().messages.back().content;
    EXPECT_THAT(ruled,
                EndsWith("[Assistant 1]\nA kite.\n\n[End of Assistant 1]\n\n[Assistant 2]\nkite\n\n[End of "
                         "Assistant 2]\n\n[System]\nGrade both.\n\n"));
    EXPECT_THAT(judge.request(dataset.items[1], "x", folder, 0).status().message(),
                HasSubstr("has no \"llava_bench_detail\""));
}

TEST(MmVet, MeanOfTheRuns) {
    const Scores scores = score_fixture("mm-vet", "mm-vet", "mm-vet/answers.jsonl", "mm-vet/grades.json");
    EXPECT_NEAR(scores.headline.value, 50.0, kJudgeTolerance);
    EXPECT_NEAR(metric(scores, "capability.ocr"), 32.5, 1e-9);
    EXPECT_NEAR(metric(scores, "capability.rec"), 50.0, 1e-9);
    EXPECT_NEAR(metric(scores, "combination.rec"), 85.0, 1e-9);
    EXPECT_NEAR(metric(scores, "combination.ocr_rec"), 15.0, 1e-9);
    EXPECT_NEAR(metric(scores, "standard_deviation"), 0.0, 1e-9);
    EXPECT_EQ(metric(scores, "unjudged"), 0.0);
}

TEST(MmVet, UnjudgedCountsAsZero) {
    const Dataset dataset = load_fixture("mm-vet", "mm-vet");
    Judgements judgements;
    judgements.replies = {{"v1_0", {"1.0 | good"}}, {"v1_1", {"1.5"}}};
    const Scores scores = benchmark("mm-vet").score(dataset, in_item_order(dataset, {}), &judgements).value();
    EXPECT_NEAR(scores.headline.value, 100.0 / 3.0, 1e-9);
    EXPECT_EQ(metric(scores, "unjudged"), 1.0);
}

TEST(MmVet, RequestsGetHotter) {
    const Dataset dataset = load_fixture("mm-vet", "mm-vet");
    const JudgeProtocol& judge = *benchmark("mm-vet").judge;
    const auto request = [&](std::size_t attempt) {
        return judge.request(dataset.items[0], "-1", scratch_folder(), attempt).value();
    };
    EXPECT_THAT(request(0).messages.back().content, EndsWith("\nx? | -1 <AND> -5 | -1 | "));
    EXPECT_EQ(request(0).temperature, 0.0);
    EXPECT_EQ(request(3).temperature, 1.0);
    EXPECT_EQ(request(0).max_tokens, 3U);
}

TEST(VideoQa, JudgedAndExact) {
    const Scores judged =
        score_fixture("tgif-qa", "tgif-qa", "tgif-qa/answers.jsonl", "tgif-qa/verdicts.json");
    EXPECT_NEAR(judged.headline.value, 200.0 / 3.0, 1e-9);
    EXPECT_NEAR(metric(judged, "mean_score"), 3.0, 1e-9);  // 4.8 counts as 4
    EXPECT_NEAR(metric(judged, "exact_match"), 100.0 / 3.0, 1e-9);
    const Scores exact = score_fixture("msvd-qa", "msvd-qa", "msvd-qa/answers.jsonl");
    EXPECT_EQ(exact.headline.name, "exact_match");
    EXPECT_NEAR(exact.headline.value, 50.0, 1e-9);
    EXPECT_NEAR(score_fixture("msrvtt-qa", "msrvtt-qa", "msrvtt-qa/answers.jsonl").headline.value, 100.0,
                1e-9);
}

TEST(VideoQa, OriginalTable) {
    const Dataset dataset = load_fixture("tgif", "tgif-frames");
    ASSERT_THAT(dataset.items, SizeIs(1));
    EXPECT_EQ(dataset.items[0].id, "17");
    EXPECT_EQ(dataset.items[0].category, "location");
    EXPECT_THAT(dataset.items[0].image, EndsWith("mp4/tumblr_9.mp4"));
}

// TGIF as its authors have it: the table, and animated pictures.
TEST(VideoQa, ClipsMayBeAnimatedPictures) {
    const std::string folder = scratch_folder();
    write_text(folder + "/Test_frameqa_question.csv",
               "gif_name\tquestion\tanswer\ttype\tvid_id\tkey\tdescription\n"
               "tumblr_9\twhat is the cat on ?\tsofa\t3\tFRAMEQA1\t17\ta cat\n"
               "tumblr_8\twhat is the dog on ?\tbed\t3\tFRAMEQA2\t18\ta dog\n");
    write_text(folder + "/gifs/tumblr_9.gif", "GIF89a");
    write_text(folder + "/gifs/tumblr_8.gif", "GIF89a");
    write_text(folder + "/gifs/tumblr_8.mp4", "");
    const auto dataset = benchmark("tgif").load(folder, {});
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    EXPECT_THAT(dataset->items[0].image, EndsWith("gifs/tumblr_9.gif"));
    EXPECT_THAT(dataset->items[1].image, EndsWith("gifs/tumblr_8.mp4")) << "as the scripts look for them";
}

TEST(VideoQa, RepliesInPythonOrJson) {
    const JudgeProtocol& judge = *benchmark("msvd-qa").judge;
    EXPECT_TRUE(judge.is_readable("{'pred': 'yes', 'score': 4.8}"));
    EXPECT_TRUE(judge.is_readable(" {\"pred\": \"no\", \"score\": 0}\n"));
    EXPECT_FALSE(judge.is_readable("yes, 4"));
    EXPECT_FALSE(judge.is_readable("{'pred': 'yes'}"));
    EXPECT_FALSE(judge.is_readable("{'pred': 'yes', 'score': 50}"));
}

TEST(Recorded, OwnLinesAreReadBackAndRunsAdded) {
    const std::string lines =
        reply_line("7", "8 9\n\"good\"") + reply_line("7", "7 9") + reply_line("a", "1 2");
    auto parsed = parse_replies(lines).value();
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->reply("7", 0), "8 9\n\"good\"");
    EXPECT_EQ(parsed->reply("7", 1), "7 9");
    EXPECT_EQ(parsed->reply("b", 0), "");
    Judgements more;
    more.replies = {{"a", {"3 4"}}};
    append_runs(*parsed, more);
    EXPECT_EQ(parsed->reply("a", 1), "3 4");
    EXPECT_FALSE(parse_replies("{\"question_id\": 1, \"content\": \"8 9\"}").value().has_value());
    EXPECT_FALSE(parse_replies("{\n \"v1_0\": {}\n}").value().has_value());
}

// Serves fixed HTTP responses one after the other and keeps the requests.
class SmallServer {
   public:
    explicit SmallServer(std::vector<std::string> responses) : responses_(std::move(responses)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof(address);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), length), 0);
        EXPECT_EQ(::listen(listener_, 8), 0);
        EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1";
        thread_ = std::thread([this] { serve(); });
    }
    SmallServer(const SmallServer&) = delete;
    SmallServer& operator=(const SmallServer&) = delete;
    ~SmallServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }

    [[nodiscard]] const std::string& url() const { return url_; }
    [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }

   private:
    void serve() {
        for (const std::string& response : responses_) {
            const int connection = ::accept(listener_, nullptr, nullptr);
            if (connection < 0) return;
            requests_.push_back(read_request(connection));
            EXPECT_EQ(::send(connection, response.data(), response.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(response.size()));
            ::close(connection);
        }
    }

    // Up to the end of the JSON body, which closes the outermost brace.
    static std::string read_request(int connection) {
        std::string request;
        std::array<char, 4096> buffer{};
        while (request.find("\r\n\r\n") == std::string::npos || !request.ends_with('}')) {
            const ssize_t n = ::recv(connection, buffer.data(), buffer.size(), 0);
            if (n <= 0) break;
            request.append(buffer.data(), static_cast<std::size_t>(n));
        }
        return request;
    }

    std::vector<std::string> responses_;
    std::vector<std::string> requests_;
    std::string url_;
    int listener_ = -1;
    std::thread thread_;
};

std::string response(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n\r\n" + body;
}

std::string completion(const std::string& reply) {
    return response("200 OK",
                    R"({"choices": [{"message": {"role": "assistant", "content": ")" + reply + R"("}}]})");
}

TEST(JudgeClient, GradesAndRecords) {
    std::vector<std::string> recorded;
    Judgements judgements;
    judgements.replies["v1_2"] = {"0.3"};  // known from an earlier run: not asked again
    const Dataset dataset = load_fixture("mm-vet", "mm-vet");
    const Benchmark& set = benchmark("mm-vet");
    const Answers answers = match_fixture(set, dataset, "mm-vet/answers.jsonl");
    {
        const SmallServer server({completion("maybe"), completion("0.5"), completion("1.0")});
        const JudgeEndpoint endpoint{server.url(), "judge-1", "secret", 20};
        JudgeRun run;
        run.ask = [&](const JudgeRequest& request) { return ask_judge(endpoint, request); };
        run.record = [&](std::string_view id, std::string_view reply) {
            recorded.push_back(std::string(id) + "=" + std::string(reply));
            return ok_status();
        };
        const Status status = judge_answers(set, dataset, answers, scratch_folder(), run, judgements);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_THAT(server.requests(), SizeIs(3));
        EXPECT_THAT(server.requests()[0], StartsWith("POST /v1/chat/completions HTTP/1.1\r\n"));
        EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: Bearer secret\r\n"));
        EXPECT_THAT(server.requests()[0], HasSubstr("\"model\":\"judge-1\""));
        EXPECT_THAT(server.requests()[0], HasSubstr("\"max_tokens\":3"));
    }
    EXPECT_THAT(recorded, ElementsAre("v1_0=0.5", "v1_1=1.0"));
    EXPECT_NEAR(set.score(dataset, answers, &judgements).value().headline.value, 60.0, 1e-9);
}

TEST(JudgeClient, FailuresAreSentences) {
    const SmallServer server({response("429 Too Many", "slow down"), response("200 OK", "<html>"),
                              response("200 OK", R"({"choices": []})")});
    const JudgeEndpoint endpoint{server.url(), "m", "", 20};
    JudgeRequest request;
    request.messages.push_back({"user", "hello"});
    EXPECT_THAT(ask_judge(endpoint, request).status().message(), HasSubstr("status 429: 'slow down'"));
    EXPECT_EQ(ask_judge(endpoint, request).status().code(), Code::Corrupt);
    EXPECT_THAT(ask_judge(endpoint, request).status().message(), HasSubstr("has no choice"));
    const Status refused = ask_judge({"file:///etc/hosts", "m", "", 20}, request).status();
    EXPECT_EQ(refused.code(), Code::Unavailable);
    EXPECT_THAT(refused.message(), HasSubstr("does not answer"));
}

TEST(JudgeClient, StopsAtAnErrorAndKeepsWhatCame) {
    const Dataset dataset = load_fixture("mm-vet", "mm-vet");
    const Benchmark& set = benchmark("mm-vet");
    const Answers answers = match_fixture(set, dataset, "mm-vet/answers.jsonl");
    Judgements judgements;
    int n_asked = 0;
    JudgeRun run;
    run.ask = [&](const JudgeRequest& /*request*/) -> Result<std::string> {
        if (++n_asked == 2) return Status(Code::Unavailable, "gone");
        return std::string("0.5");
    };
    EXPECT_EQ(judge_answers(set, dataset, answers, scratch_folder(), run, judgements).code(),
              Code::Unavailable);
    EXPECT_THAT(judgements.replies, SizeIs(1));
    EXPECT_EQ(judge_answers(benchmark("pope"), dataset, answers, "", run, judgements).code(),
              Code::InvalidArgument);
}

}  // namespace
}  // namespace clasp::eval
