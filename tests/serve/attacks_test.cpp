// How servers of this kind were attacked, on every route of this one: keys got around, pages and names of
// strangers, addresses in pictures, numbers that no field can hold, damaged pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "internal_spellings.h"
#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::Not;

struct Route {
    const char* method;
    const char* path;
};

// All that need a key.
const std::vector<Route>& routes() {
    static const std::vector<Route> kRoutes = {
        {"POST", "/v1/chat/completions"},
        {"POST", "/chat/completions"},
        {"POST", "/v1/chat/completions/input_tokens"},
        {"POST", "/chat/completions/input_tokens"},
        {"POST", "/v1/responses"},
        {"POST", "/responses"},
        {"POST", "/v1/responses/input_tokens"},
        {"POST", "/v1/messages"},
        {"POST", "/v1/messages/count_tokens"},
        {"POST", "/v1/completions"},
        {"POST", "/completions"},
        {"POST", "/completion"},
        {"POST", "/tokenize"},
        {"POST", "/detokenize"},
        {"POST", "/apply-template"},
        {"GET", "/v1/models"},
        {"GET", "/models"},
        {"GET", "/v1/models/tiny"},
        {"GET", "/props"},
        {"GET", "/slots"},
        {"GET", "/metrics"},
        {"POST", "/api/chat"},
        {"POST", "/api/generate"},
        {"POST", "/api/show"},
        {"GET", "/api/tags"},
        {"GET", "/api/ps"},
        {"GET", "/api/version"},
        {"GET", "/clasp/info"},
        {"POST", "/clasp/route"},
        {"POST", "/clasp/encode"},
        {"POST", "/api/pull"},
        {"POST", "/v1/embeddings"},
    };
    return kRoutes;
}

Reply request(const Server& server, const std::string& method, const std::string& path,
              const Headers& headers = {}, std::string_view body = "{}") {
    Client client(server.port());
    client.send(request_text(method, path, method == "POST" ? body : "", headers));
    return client.receive();
}

TEST(Attacks, NoRouteOpensWithoutItsKey) {
    ServeOptions options = test_options();
    ASSERT_TRUE(options.access.keys.add("secret").ok());
    options.shows_slots = options.shows_metrics = true;
    const auto server = start_server(options);
    for (const Route& route : routes()) {
        const std::string path = route.path;
        for (const std::string& spelling :
             {path, "/" + path, "/health/.." + path, path + "/", "/v1/.." + path, "/%2e" + path,
              path + "?x=1", path + "%00", "/." + path}) {
            for (const Headers& headers :
                 {Headers{}, Headers{{"Authorization", "Bearer wrong"}}, Headers{{"Authorization", "secret"}},
                  Headers{{"X-Api-Key", "secret "}}, Headers{{"X-Api-Key", "SECRET"}}}) {
                const Reply reply = request(*server, route.method, spelling, headers);
                // A header's value loses the blanks at its ends.
                const bool has_key = !headers.empty() && headers[0].second == "secret ";
                EXPECT_TRUE(has_key || reply.status == 401 || reply.status == 400)
                    << spelling << " " << reply.status;
            }
        }
        const Reply reply =
            request(*server, route.method, path, {{"Authorization", "Bearer secret"}}, R"({"model":"tiny"})");
        EXPECT_NE(reply.status, 401) << path;
        EXPECT_NE(reply.status, 404) << path;
    }
}

TEST(Attacks, PagesAndNamesOfStrangersAreRefusedOnEveryRoute) {
    const auto server = start_server();
    std::vector<Route> all = routes();
    for (const Route& open : {Route{"GET", "/"}, Route{"GET", "/health"}, Route{"GET", "/ui/app.js"}})
        all.push_back(open);
    for (const Route& route : all) {
        for (const Headers& headers :
             {Headers{{"Origin", "https://evil.example"}}, Headers{{"Origin", "null"}},
              Headers{{"Host", "evil.example"}}, Headers{{"Sec-Fetch-Site", "cross-site"}},
              Headers{{"Origin", "http://localhost.evil.example"}},
              Headers{{"Host", "127.0.0.1.evil.example"}}}) {
            const Reply reply = request(*server, route.method, route.path, headers);
            EXPECT_EQ(reply.status, 403) << route.path << " " << headers[0].second;
            const Reply plain = request(*server, "OPTIONS", route.path, headers);
            EXPECT_EQ(plain.status, 403) << route.path << " " << headers[0].second;
            // Nor may their pages read that, and learn what there is.
            EXPECT_EQ(reply.header("Access-Control-Allow-Origin"), "") << route.path;
            EXPECT_EQ(plain.header("Access-Control-Allow-Origin"), "") << route.path;
        }
    }
}

class Attacked : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Server* server_;
};
Server* Attacked::server_ = nullptr;

// Every way in which a picture gets into a request.
std::vector<std::pair<const char*, Json>> picture_bodies(const std::string& url) {
    const Json user = "user";
    const auto message = [&](const Json& content) {
        return Json::array({Json::object({{"role", user}, {"content", content}})});
    };
    const Json text = {{"type", "text"}, {"text", "What is this?"}};
    const Json openai = {{"type", "image_url"}, {"image_url", Json::object({{"url", url}})}};
    const Json responses = {{"type", "input_image"}, {"image_url", url}};
    const Json ask = {{"type", "input_text"}, {"text", "What is this?"}};
    const Json by_url = {{"type", "image"}, {"source", {{"type", "url"}, {"url", url}}}};
    const Json by_data = {{"type", "image"}, {"source", {{"type", "base64"}, {"data", url}}}};
    const Json ollama = {{"role", user}, {"content", "What is this?"}, {"images", Json::array({url})}};
    const Json media = {{"prompt_string", "<__media__> What is this?"},
                        {"multimodal_data", Json::array({url})}};
    return {
        {"/v1/chat/completions", Json::object({{"messages", message(Json::array({text, openai}))}})},
        {"/apply-template", Json::object({{"messages", message(Json::array({text, openai}))}})},
        {"/chat/completions/input_tokens",
         Json::object({{"messages", message(Json::array({text, openai}))}})},
        {"/v1/responses", Json::object({{"input", message(Json::array({ask, responses}))}})},
        {"/v1/messages", Json::object({{"messages", message(Json::array({text, by_url}))}})},
        {"/v1/messages", Json::object({{"messages", message(Json::array({text, by_data}))}})},
        {"/api/chat", Json::object({{"messages", Json::array({ollama})}})},
        {"/api/generate", Json::object({{"prompt", "What is this?"}, {"images", Json::array({url})}})},
        {"/completion", Json::object({{"prompt", media}})},
        {"/v1/completions", Json::object({{"prompt", media}})},
        {"/clasp/encode", Json::object({{"image", url}})},
    };
}

TEST_F(Attacked, NoAddressInAPictureIsEverLookedAt) {
    // Somebody who would notice.
    const auto trap = start_server();
    const std::string port = std::to_string(trap->port());
    for (const std::string& host : internal_spellings()) {
        for (const char* scheme : {"http://", "HTTPS://", "hTtP://", "file://", "ftp://", "//"}) {
            const std::string url = scheme + host + ":" + port + "/x.png";
            for (const auto& [path, body] : picture_bodies(url)) {
                EXPECT_EQ(send(*server_, path, body).status, 400) << path << " " << url;
                if (std::string_view(scheme) != "http://") break;  // the others once
            }
        }
    }
    EXPECT_THAT(get(trap->port(), "/health").body, HasSubstr("ok"));
    EXPECT_EQ(trap->counts().n_decode_steps, 0U);
}

// A whole number that a body may have, and the statuses of -1 and of 0, which mean something in places.
struct WholeNumber {
    const char* path;
    Json body;
    const char* name;
    int of_minus_one;
    int of_zero;
    const char* inside = nullptr;  // the object that it stands in
};

const std::vector<WholeNumber>& whole_numbers() {
    static const std::vector<WholeNumber> kNumbers = [] {
        const Json chat = text_body("Hi?");
        const Json picture = chat_body("Hi?");
        const Json ollama = Json::object({{"messages", chat["messages"]}, {"stream", false}});
        const Json generate = Json::object({{"prompt", "Hi?"}, {"stream", false}});
        const Json input = Json::object({{"input", "Hi?"}});
        const Json prompt = Json::object({{"prompt", "Hi?"}});
        const Json likely = with(chat, "logprobs", true);
        std::vector<WholeNumber> numbers = {
            {"/v1/chat/completions", chat, "n", 400, 400},
            {"/v1/chat/completions", likely, "top_logprobs", 400, 200},
            {"/v1/chat/completions", chat, "sse_ping_interval", 200, 200},
            {"/v1/chat/completions", picture, "budget", 400, 400, "clasp"},
            {"/v1/chat/completions", picture, "class", 400, 200, "clasp"},
            {"/v1/chat/completions", picture, "select_seed", 400, 200, "clasp"},
            {"/v1/completions", prompt, "n", 400, 400},
            {"/v1/completions", prompt, "logprobs", 400, 200},
            {"/completion", prompt, "n_probs", 400, 200},
        };
        struct Limited {
            const char* path;
            const Json& body;
            const char* limit;
            const char* inside;
        };
        for (const Limited& route : {Limited{"/v1/chat/completions", chat, "max_tokens", nullptr},
                                     Limited{"/v1/responses", input, "max_output_tokens", nullptr},
                                     Limited{"/v1/messages", chat, "max_tokens", nullptr},
                                     Limited{"/completion", prompt, "n_predict", nullptr},
                                     Limited{"/v1/completions", prompt, "max_tokens", nullptr},
                                     Limited{"/api/chat", ollama, "num_predict", "options"},
                                     Limited{"/api/generate", generate, "num_predict", "options"}}) {
            numbers.push_back({route.path, route.body, route.limit, 200, 400, route.inside});
            for (const char* name : {"seed", "top_k"})
                numbers.push_back({route.path, route.body, name, 200, 200, route.inside});
            if (route.inside != nullptr)
                numbers.push_back({route.path, route.body, "num_ctx", 400, 400, route.inside});
        }
        return numbers;
    }();
    return kNumbers;
}

std::string with_number(const WholeNumber& number, const std::string& value) {
    std::string inner = std::string("\"") + number.name + "\":" + value;
    if (number.inside != nullptr) inner = std::string("\"") + number.inside + "\":{" + inner + "}";
    std::string text = base::dump_json(number.body);
    text.pop_back();
    return text + "," + inner + "}";
}

TEST_F(Attacked, MinusOneAndZeroMeanSomethingOrAreRefused) {
    for (const WholeNumber& number : whole_numbers()) {
        for (const auto& [value, status] :
             {std::pair{"-1", number.of_minus_one}, std::pair{"0", number.of_zero},
              std::pair{"-0", number.of_zero}}) {
            const Reply reply = post(server_->port(), number.path, with_number(number, value));
            EXPECT_EQ(reply.status, status)
                << number.path << " " << number.name << " " << value << " " << reply.body;
        }
    }
}

TEST_F(Attacked, EveryWholeNumberIsCheckedOnEveryRoute) {
    for (const WholeNumber& number : whole_numbers()) {
        for (const char* value :
             {"9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809",
              "1e308", "-1e308", "2147483648000", "\"1\"", "1.5", "[1]", "{}", "true"}) {
            // Budgets may be texts and need not be whole, classes may be names, and this seed has 64 bits.
            const std::string_view text = value;
            const bool is_ours = number.inside != nullptr && number.inside == std::string_view("clasp");
            if (is_ours && (text == "\"1\"" || text == "1.5" || text == "2147483648000")) continue;
            EXPECT_EQ(post(server_->port(), number.path, with_number(number, value)).status, 400)
                << number.path << " " << number.name << " " << value;
        }
    }
    // Fields of others that were a way in, and mean nothing here.
    for (const char* more : {"\"n_discard\":-1", "\"n_keep\":-9999999", "\"id_slot\":-5",
                             "\"chat_template_kwargs\":{\"a\":[1]}"}) {
        const std::string text = R"({"prompt":"Hi?","n_predict":1,)" + std::string(more) + "}";
        EXPECT_EQ(post(server_->port(), "/completion", text).status, 200) << more;
    }
}

TEST_F(Attacked, DamagedPicturesAreRefusedInFixedWords) {
    std::mt19937 random(11);
    using namespace std::string_literals;  // zeros included
    const std::vector<std::string> heads = {
        picture_bytes(),
        "\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xFF\xC0\x00\x11\x08"
        "\x00\x10\x00\x10\x03"s,
        "RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00\x30\x01\x00\x9D\x01\x2A\x10\x00\x10\x00"s,
        "GIF89a\x10\x00\x10\x00\x80\x00\x00\x00\x00\x00\xFF\xFF\xFF,\x00\x00\x00\x00\x10\x00\x10\x00\x00"s,
        "BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x10\x00\x00\x00\x10"
        "\x00\x00\x00\x01\x00\x18\x00"s};
    for (const std::string& head : heads) {
        for (int i = 0; i < 12; ++i) {
            std::string bytes = head.substr(0, 1 + random() % std::min<std::size_t>(head.size(), 400));
            for (int k = 0; k < i % 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
            const Reply reply =
                chat(*server_, with(chat_body(kQuestion, encode_base64(bytes)), "max_tokens", 1));
            EXPECT_TRUE(reply.status == 400 || reply.status == 200) << reply.status;
            // Nothing of a library's own words: they have told addresses of memory.
            EXPECT_THAT(reply.body, Not(HasSubstr("0x")));
        }
    }
    EXPECT_EQ(chat(*server_, chat_body()).status, 200);
}

TEST_F(Attacked, ControlTokensWrittenOutAreNeverMeantByUsers) {
    std::string special;
    while (special.size() < 1000) special += "<s></s><pad>";
    const Json plain = json_of(send(*server_, "/chat/completions/input_tokens", text_body(special)));
    const Json meant = json_of(send(*server_, "/tokenize", Json::object({{"content", special}})));
    EXPECT_GT(*plain["input_tokens"].get<std::size_t>(), 2 * meant["tokens"].size());
    special.resize(0);
    while (special.size() + 12 <= (1U << 20U)) special += "<s></s><pad>";
    EXPECT_EQ(refused(chat(*server_, text_body(special))).code, "context_length_exceeded");
}

// The same bytes as pixels of another shape are another picture.
TEST_F(Attacked, EqualBytesOfAnotherShapeAreAnotherPicture) {
    const auto bmp = [](unsigned width, unsigned height) {
        const auto number = [](unsigned value, int n) {
            std::string bytes;
            for (int i = 0; i < n; ++i)
                bytes += static_cast<char>((value >> (8U * static_cast<unsigned>(i))) & 255U);
            return bytes;
        };
        std::string pixels;
        for (unsigned i = 0; i < width * height * 3; ++i) pixels += static_cast<char>((i * 7) & 255U);
        return "BM" + number(54 + static_cast<unsigned>(pixels.size()), 4) + number(0, 4) + number(54, 4) +
               number(40, 4) + number(width, 4) + number(height, 4) + number(1, 2) + number(24, 2) +
               number(0, 4) + number(static_cast<unsigned>(pixels.size()), 4) + number(0, 16) + pixels;
    };
    const auto cache = [](const std::string& bytes) {
        const Json reply =
            json_of(chat(*server_, with(chat_body(kQuestion, encode_base64(bytes)), "max_tokens", 1)));
        return reply["clasp"]["cache"]["features"].get<std::string>().value_or("?");
    };
    EXPECT_EQ(cache(bmp(8, 16)), "miss");
    EXPECT_EQ(cache(bmp(16, 8)), "miss");
    EXPECT_EQ(cache(bmp(8, 16)), "hit");
}

}  // namespace
}  // namespace clasp::serve
