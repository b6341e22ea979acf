#include "eval/judge_client.h"

#include <curl/curl.h>

#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "eval/record.h"

namespace clasp::eval {

namespace {

constexpr std::size_t kMaxReplyBytes = std::size_t{8} << 20U;

struct Response {
    std::string body;
    bool is_too_large = false;
};

std::size_t take_bytes(char* data, std::size_t size, std::size_t n, void* user) {
    auto* const response = static_cast<Response*>(user);
    if (response->body.size() + size * n > kMaxReplyBytes) {
        response->is_too_large = true;
        return 0;
    }
    response->body.append(data, size * n);
    return size * n;
}

std::string request_body(const JudgeEndpoint& endpoint, const JudgeRequest& request) {
    base::Json body;
    body["model"] = endpoint.model;
    body["messages"] = base::Json::array();
    for (const JudgeMessage& message : request.messages) {
        body["messages"].push_back({{"role", message.role}, {"content", message.content}});
    }
    body["temperature"] = request.temperature;
    if (request.max_tokens > 0) body["max_tokens"] = request.max_tokens;
    return base::dump_json(body);
}

Result<std::string> reply_text(const std::string& body) {
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, parse_document(body, "the judge's response"));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> choices, document.root().list("choices"));
    if (choices.empty()) return document.root().error("has no choice");
    CLASP_ASSIGN_OR_RETURN(const Record message, choices.front().object("message"));
    return message.text("content");
}

struct CurlDeleter {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool start_library() {
    static const bool kIsStarted = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return kIsStarted;
}

}  // namespace

Result<std::string> ask_judge(const JudgeEndpoint& endpoint, const JudgeRequest& request) {
    const std::unique_ptr<CURL, CurlDeleter> handle(start_library() ? curl_easy_init() : nullptr);
    if (!handle) return Status(Code::OutOfMemory, "the HTTP library cannot start");
    std::unique_ptr<curl_slist, CurlDeleter> headers(
        curl_slist_append(nullptr, "Content-Type: application/json"));
    if (headers && !endpoint.api_key.empty()) {
        const std::string header = "Authorization: Bearer " + endpoint.api_key;
        curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
        if (longer == nullptr) return Status(Code::OutOfMemory, "no memory for the request to the judge");
        static_cast<void>(headers.release());
        headers.reset(longer);
    }
    const std::string url = endpoint.url + (endpoint.url.ends_with('/') ? "" : "/") + "chat/completions";
    const std::string body = request_body(endpoint, request);
    Response response;
    curl_easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &response);
    curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT, endpoint.timeout_seconds);
    curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
    const CURLcode code = curl_easy_perform(handle.get());
    if (response.is_too_large) {
        return Status(Code::TooLarge,
                      "the judge's response has more than " + std::to_string(kMaxReplyBytes) + " bytes");
    }
    if (code != CURLE_OK) {
        const Code kind = code == CURLE_OPERATION_TIMEDOUT ? Code::Deadline : Code::Unavailable;
        return Status(kind, "the judge at " + url + " does not answer: " + curl_easy_strerror(code));
    }
    long status = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        return Status(Code::Unavailable, "the judge at " + url + " answers with status " +
                                             std::to_string(status) + ": " + base::in_quotes(response.body));
    }
    return reply_text(response.body);
}

Status judge_answers(const Benchmark& benchmark, const Dataset& dataset, const Answers& answers,
                     const std::string& folder, const JudgeRun& run, Judgements& judgements) {
    if (benchmark.judge == nullptr) {
        return {Code::InvalidArgument, std::string(benchmark.title) + " is not graded by a judge"};
    }
    const JudgeProtocol& protocol = *benchmark.judge;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const Item& item = dataset.items[i];
        if (run.progress) run.progress(i, dataset.items.size());
        if (!answers.texts[i] || !judgements.reply(item.id, 0).empty()) continue;
        std::string reply;
        for (std::size_t attempt = 0; attempt < protocol.max_attempts; ++attempt) {
            CLASP_ASSIGN_OR_RETURN(const JudgeRequest request,
                                   protocol.request(item, *answers.texts[i], folder, attempt));
            CLASP_ASSIGN_OR_RETURN(reply, run.ask(request));
            if (protocol.is_readable(reply)) break;
        }
        if (run.record) CLASP_RETURN_IF_ERROR(run.record(item.id, reply));
        judgements.replies[item.id].push_back(std::move(reply));
    }
    if (run.progress) run.progress(dataset.items.size(), dataset.items.size());
    return ok_status();
}

}  // namespace clasp::eval
