// Answers in a given form: the grammar of a schema, by llama.cpp's own reading of it, and what requests make
// of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "engine/engine_state.h"
#include "llama.h"
#include "request/digit_ranges.h"
#include "request/grammar_text.h"
#include "request/json_grammar.h"
#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;

Json json(const std::string& text) {
    auto parsed = base::parse_json(text, {.max_bytes = std::size_t{1} << 22U, .max_depth = 256},
                                   base::KeyOrder::AsWritten);
    EXPECT_TRUE(parsed.ok()) << text;
    return parsed.ok() ? *parsed : Json();
}

// What llama.cpp lets a model write, one character at a time.
class GrammarReader {
   public:
    explicit GrammarReader(const std::string& grammar) {
        const engine::EngineState& state = tiny_engine().state();
        sampler_.reset(llama_sampler_init_grammar(state.text->vocabulary(), grammar.c_str(), "root"));
        EXPECT_NE(sampler_, nullptr) << grammar;
    }

    bool accepts(const std::string& text) {
        if (sampler_ == nullptr) return false;
        const Sampler run(llama_sampler_clone(sampler_.get()), llama_sampler_free);
        const model::TextModel& model = *tiny_engine().state().text;
        for (const char c : text) {
            const auto tokens = model.tokenize(std::string(1, c), false, false);
            EXPECT_TRUE(tokens.ok() && tokens->size() == 1) << static_cast<int>(c);
            if (!is_allowed(*run, tokens->front())) return false;
            llama_sampler_accept(run.get(), tokens->front());
        }
        return is_allowed(*run, llama_vocab_eos(model.vocabulary()));
    }

   private:
    using Sampler = std::unique_ptr<llama_sampler, void (*)(llama_sampler*)>;

    static bool is_allowed(llama_sampler& sampler, llama_token token) {
        llama_token_data data = {.id = token, .logit = 0.0F, .p = 0.0F};
        llama_token_data_array array = {.data = &data, .size = 1, .selected = -1, .sorted = false};
        llama_sampler_apply(&sampler, &array);
        return std::isfinite(data.logit);
    }

    Sampler sampler_ = {nullptr, llama_sampler_free};
};

struct Case {
    const char* schema;
    std::vector<std::string> good;
    std::vector<std::string> bad;
};

TEST(SchemaGrammar, TakesWhatTheSchemaTakes) {
    const std::vector<Case> cases = {
        {R"({"type":"string"})",
         {R"("")", R"("a b")", R"("\"\\\n")", R"("\u00e9")"},
         {"a", R"("a)", R"("\x")", R"("\ud800")", "1"}},
        {R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", R"("abc")", R"("a\n")"},
         {R"("a")", R"("abcd")"}},
        {R"({"type":"string","minLength":2})", {R"("ab")", R"("abcdefgh")"}, {R"("a")", R"("")"}},
        {R"({"type":"integer"})", {"0", "-1", "12345"}, {"01", "1.5", "-", "", "1e3"}},
        {R"({"type":"number"})", {"0", "-1.25", "1e5", "2.5E-3"}, {"1.", ".5", "+1", "01", "1e"}},
        {R"({"type":"boolean"})", {"true", "false"}, {"True", "1", "null"}},
        {R"({"type":"null"})", {"null"}, {"", "0"}},
        {R"({"type":["integer","null"]})", {"3", "null"}, {"\"3\"", "true"}},
        {R"({"const":"4\"2"})", {R"("4\"2")"}, {R"("42")", "42"}},
        {R"({"const":{"a":[1,null]}})", {R"({"a":[1,null]})"}, {R"({"a":[1, null]})"}},
        {R"({"enum":["a","ab",3]})", {R"("a")", R"("ab")", "3"}, {R"("b")", "33"}},
        {R"({"anyOf":[{"type":"integer"},{"const":"x"}]})", {"1", R"("x")"}, {R"("y")"}},
        {R"({"type":"array","items":{"type":"integer"}})",
         {"[]", "[1]", "[1, 2,3]"},
         {"[1,]", "[,1]", "[\"a\"]", "["}},
        {R"({"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":3})",
         {"[true,false]", "[true, true, true]"},
         {"[]", "[true]", "[true,true,true,true]"}},
        {R"({"type":"array","items":{"type":"boolean"},"maxItems":1})", {"[]", "[true]"}, {"[true,true]"}},
        {R"({"type":"array","maxItems":0})", {"[]", "[ ]"}, {"[1]"}},
        {R"({"items":[{"type":"integer"},{"type":"string"}]})",
         {R"([1,"a"])"},
         {"[1]", R"(["a",1])", R"([1,"a",2])"}},
        {R"({"prefixItems":[{"type":"null"}],"items":false})", {"[null]"}, {"[]", "[null,null]"}},
        {R"({"type":"object"})",
         {"{}", R"({"a":1})", R"({"a": {"b": [true]}, "c":null})"},
         {"[]", R"({"a"})", R"({"a":1,})", R"({a:1})"}},
        {R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"}},
        {R"({"type":"object","additionalProperties":{"type":"integer"}})",
         {"{}", R"({"a":1,"b":2})"},
         {R"({"a":"b"})"}},
        {R"({"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"required":["b"]})",
         {R"({"b":1})", R"({"a":1,"b":2})", R"({"b":1, "c":2})", R"({"a":1,"b":2,"c":3})"},
         {"{}", R"({"a":1})", R"({"a":1,"c":1})", R"({"b":1,"a":2})", R"({"b":1,})", R"({"b":1,"d":1})"}},
        {R"({"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}})",
         {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
         {R"({,"b":1})", R"({"a":1"b":1})"}},
        {R"({"$defs":{"tree":{"type":"object","properties":{"of":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["of"]}},"$ref":"#/$defs/tree"})",
         {R"({"of":[]})", R"({"of":[{"of":[]},{"of":[{"of":[]}]}]})"},
         {R"({"of":[1]})", "{}"}},
        {R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}},
        {R"({"title":"t","description":"d","default":1,"type":"integer","minimum":5,"exclusiveMaximum":12})",
         {"5", "11"},
         {"4", "12", "-5", "511"}},
    };
    for (const Case& one : cases) {
        const auto grammar = request::grammar_of_schema(json(one.schema));
        ASSERT_TRUE(grammar.ok()) << one.schema << ": " << grammar.status().message();
        GrammarReader reader(*grammar);
        for (const std::string& text : one.good)
            EXPECT_TRUE(reader.accepts(text)) << one.schema << " " << text;
        for (const std::string& text : one.bad)
            EXPECT_FALSE(reader.accepts(text)) << one.schema << " " << text;
    }
}

TEST(SchemaGrammar, RangesOfWholeNumbersAreExact) {
    for (const auto& [low, high] : std::vector<std::pair<int, int>>{{0, 0},
                                                                    {0, 9},
                                                                    {3, 7},
                                                                    {0, 10},
                                                                    {9, 10},
                                                                    {7, 123},
                                                                    {99, 101},
                                                                    {100, 199},
                                                                    {-5, 5},
                                                                    {-120, -7},
                                                                    {-1, 0},
                                                                    {-10, 120}}) {
        GrammarReader reader("root ::= " + request::whole_numbers(low, high) + "\n");
        for (int number = -130; number <= 210; ++number) {
            EXPECT_EQ(reader.accepts(std::to_string(number)), number >= low && number <= high)
                << number << " in " << low << ".." << high;
        }
    }
    std::mt19937_64 random(4);
    std::uniform_int_distribution<std::int64_t> any(-request::kLargestWhole, request::kLargestWhole);
    for (int i = 0; i < 40; ++i) {
        const auto [low, high] =
            std::minmax({any(random) >> (random() % 50U), any(random) >> (random() % 50U)});
        GrammarReader reader("root ::= " + request::whole_numbers(low, high) + "\n");
        EXPECT_TRUE(reader.accepts(std::to_string(low)));
        EXPECT_TRUE(reader.accepts(std::to_string(high)));
        EXPECT_FALSE(reader.accepts(std::to_string(low - 1))) << low << ".." << high;
        EXPECT_FALSE(reader.accepts(std::to_string(high + 1))) << low << ".." << high;
        const std::int64_t inside = low + (high - low) / 3;
        EXPECT_TRUE(reader.accepts(std::to_string(inside))) << inside << " in " << low << ".." << high;
        EXPECT_FALSE(reader.accepts("0" + std::to_string(std::abs(inside) + 1)));
    }
}

TEST(SchemaGrammar, RefusesByNameWhatItCannotHold) {
    const std::vector<std::pair<const char*, const char*>> cases = {
        {R"({"type":"string","pattern":"a"})", "pattern"},
        {R"({"type":"string","format":"date"})", "format"},
        {R"({"oneOf":[{"type":"null"}]})", "oneOf"},
        {R"({"allOf":[{"type":"null"}]})", "allOf"},
        {R"({"not":{"type":"null"}})", "not"},
        {R"({"type":"number","minimum":1})", "minimum"},
        {R"({"type":"integer","multipleOf":2})", "multipleOf"},
        {R"({"type":"array","uniqueItems":true})", "uniqueItems"},
        {R"({"type":"object","patternProperties":{}})", "patternProperties"},
        {R"({"type":"object","minProperties":1})", "minProperties"},
        {R"({"type":"hiccup"})", "hiccup"},
        {R"({"type":123})", "type"},
        {R"({"type":[]})", "type"},
        {R"(123)", "schema"},
        {R"({"enum":[]})", "enum"},
        {R"({"anyOf":[]})", "anyOf"},
        {R"({"anyOf":[{"type":"integer"}],"type":"string"})", "type"},
        {R"({"properties":[]})", "properties"},
        {R"({"required":["a"]})", "'a'"},
        {R"({"type":"integer","minimum":3,"maximum":2})", "range"},
        {R"({"type":"integer","minimum":1.5})", "minimum"},
        {R"({"type":"integer","minimum":99999999999999999})", "minimum"},
        {R"({"type":"string","minLength":-1})", "minLength"},
        {R"({"type":"string","minLength":3,"maxLength":2})", "minLength"},
        {R"({"$ref":"http://example.org/x"})", "example.org"},
        {R"({"$ref":"#/$defs/nobody"})", "nobody"},
        {R"({"$ref":"#"})", "itself"},
        {R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"})",
         "itself"},
        {R"({"properties":{"a":{"properties":{"b":{"type":"x"}}}}})", ".a.b"},
    };
    for (const auto& [schema, word] : cases) {
        const auto grammar = request::grammar_of_schema(json(schema));
        ASSERT_FALSE(grammar.ok()) << schema;
        EXPECT_THAT(grammar.status().message(), HasSubstr(word)) << schema;
    }
}

TEST(SchemaGrammar, IsBoundedAtTheLimitAndOneAbove) {
    const auto nested = [](int depth) {
        std::string text = R"({"type":"integer"})";
        for (int i = 1; i < depth; ++i) text = R"({"type":"array","items":)" + text + "}";
        return json(text);
    };
    EXPECT_TRUE(request::grammar_of_schema(nested(16)).ok());
    EXPECT_EQ(request::grammar_of_schema(nested(17)).status().code(), Code::TooLarge);
    const auto sized = [](std::size_t bytes) {
        const std::string head = R"({"const":")";
        return json(head + std::string(bytes - head.size() - 2, 'a') + "\"}");
    };
    EXPECT_TRUE(request::grammar_of_schema(sized(65536)).ok());
    EXPECT_EQ(request::grammar_of_schema(sized(65537)).status().code(), Code::TooLarge);
    EXPECT_TRUE(request::grammar_of_schema(json(R"({"type":"string","maxLength":1900})")).ok());
    EXPECT_EQ(request::grammar_of_schema(json(R"({"type":"string","maxLength":2001})")).status().code(),
              Code::TooLarge);
    // Alternatives of alternatives: 2^40 ways through 40 definitions.
    std::string defs;
    for (int i = 0; i < 40; ++i) {
        const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
        defs += "\"d" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
    }
    const std::string text = "{\"$defs\":{" + defs + R"("d40":{"type":"null"}},"$ref":"#/$defs/d0"})";
    EXPECT_EQ(request::grammar_of_schema(json(text)).status().code(), Code::TooLarge);
}

// What our reader takes, llama.cpp takes too; what would keep it busy or fill the memory is refused.
TEST(GrammarText, IsReadAsLlamaCppReadsIt) {
    for (const char* good :
         {"root ::= \"a\"", "root ::= a\na ::= [a-z]+ | \"x\" b?\nb ::= .{2,3}",
          "# words\nroot ::=\n  \"a\" |\n \"b\"\n", "root ::= (\"a\"\n \"b\")*",
          "root ::= [^\"\\\\\\x7F\\x00-\\x1F] \"\\u00e9\" [\\]]", "root ::= \"(\" root \")\" | \"\"",
          "root ::= | \"a\"", "root ::= \"a\"{0}", "root ::= \"a\"{3,} \"b\"{ 2 , 4 }"}) {
        EXPECT_TRUE(request::check_grammar(good).ok())
            << good << ": " << request::check_grammar(good).message();
        const std::unique_ptr<llama_sampler, void (*)(llama_sampler*)> sampler(
            llama_sampler_init_grammar(tiny_engine().state().text->vocabulary(), good, "root"),
            llama_sampler_free);
        EXPECT_NE(sampler, nullptr) << good;
    }
    for (const char* bad : {"",
                            "a ::= \"x\"",
                            "root ::= nobody",
                            "root = \"a\"",
                            "root ::= \"a",
                            "root ::= [a",
                            "root ::= [^\"\\",
                            "root ::= (\"a\"",
                            "root ::= \"a\")",
                            "root ::= *",
                            "root ::= \"a\"{",
                            "root ::= \"a\"{a}",
                            "root ::= \"a\"{5,2}",
                            "root ::= \"\\q\"",
                            "root ::= \"\\x1\"",
                            "root ::= <x>",
                            "root ::= !<x>",
                            "root ::= []",
                            "root ::= \"a\"\nroot ::= \"b\"",
                            "root ::= \"\"*",
                            "root ::= root \"a\"",
                            "root ::= a\na ::= b \"x\"\nb ::= c root\nc ::= d\nd ::= \"\" | \"y\"",
                            "root ::= (\"a\"?)*"}) {
        EXPECT_EQ(request::check_grammar(bad).code(), Code::InvalidArgument) << bad;
    }
    std::string ways = "root ::= a0\n";
    for (int i = 0; i < 60; ++i) {
        const std::string next = "a" + std::to_string(i + 1);
        ways += "a" + std::to_string(i) + " ::= " + next + " | " + next + "\n";
    }
    ways += "a60 ::= \"x\"\n";
    const std::string deep = "root ::= " + std::string(17, '(') + "\"a\"" + std::string(17, ')');
    const std::string wide = "root ::= \"" + std::string(60000, 'a') + "\"{1900}";
    for (const std::string& large :
         {ways, deep, wide, std::string("root ::= \"a\"{2001}"), std::string("root ::= \"a\"{0,2000}"),
          "root ::= \"" + std::string(65536, 'a') + "\"", "root ::= " + std::string(60000, '(')}) {
        EXPECT_EQ(request::check_grammar(large).code(), Code::TooLarge) << large.substr(0, 60);
    }
    EXPECT_TRUE(
        request::check_grammar("root ::= " + std::string(16, '(') + "\"a\"" + std::string(16, ')')).ok());
    EXPECT_TRUE(request::check_grammar("root ::= \"a\"{0,1999}").ok());
    EXPECT_TRUE(request::check_grammar("root ::= \"" + std::string(65536 - 11, 'a') + "\"").ok());
}

class Format : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static std::string ask(const Json& body) {
        const Reply reply = chat(*server_, body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        return json_of(reply)["choices"][0]["message"]["content"].get<std::string>().value_or("");
    }
    static Server* server_;
};
Server* Format::server_ = nullptr;

Json schema_format(const char* schema) {
    const Json wrapped = Json::object({{"name", "x"}, {"schema", json(schema)}});
    return {{"type", "json_schema"}, {"json_schema", wrapped}};
}

TEST_F(Format, AnAnswerIsJsonOfItsSchema) {
    const char* const schema =
        R"({"type":"object","properties":{"crosses":{"type":"integer","minimum":0,"maximum":20}},"required":["crosses"],"additionalProperties":false})";
    for (const Json& body : {with(chat_body(), "response_format", schema_format(schema)),
                             with(chat_body(), "json_schema", json(schema))}) {
        const Json answer = json(ask(body));
        ASSERT_TRUE(answer["crosses"].is_number_integer()) << answer;
        EXPECT_GE(*answer["crosses"].get<int>(), 0);
        EXPECT_LE(*answer["crosses"].get<int>(), 20);
    }
    EXPECT_EQ(ask(with(text_body("Hi?"), "response_format", schema_format(R"({"const":"42"})"))), "\"42\"");
    const Json any = {{"type", "json_object"}};
    EXPECT_THAT(ask(with(with(text_body("Hi?"), "response_format", any), "max_tokens", 5)),
                testing::StartsWith("{"));
}

TEST_F(Format, HoldsWhateverTheSamplingIs) {
    for (int seed = 0; seed < 6; ++seed) {
        Json body = with(
            text_body("Hi?"), "response_format",
            schema_format(R"({"type":"array","items":{"enum":["red","blue"]},"minItems":1,"maxItems":4})"));
        body["temperature"] = 2.0;
        body["seed"] = seed;
        const Json answer = json(ask(body));
        EXPECT_GE(answer.size(), 1U);
        EXPECT_LE(answer.size(), 4U);
    }
}

TEST_F(Format, BadFormatsAreRefusedBeforeAnythingRuns) {
    const Json body = text_body("Hi?");
    const auto refuse = [&](const Json& format) {
        return refused(chat(*server_, with(body, "response_format", format)));
    };
    EXPECT_EQ(refuse({{"type", "sound"}}), (Refused{400, "unsupported_parameter", "response_format"}));
    EXPECT_EQ(refuse({{"type", "json_schema"}}), (Refused{400, "missing", "response_format"}));
    EXPECT_EQ(refuse(3).status, 400);
    EXPECT_EQ(refuse({{"type", "json_object"}, {"schema", 123}}).code, "unsupported_parameter");
    EXPECT_EQ(refuse(schema_format(R"({"type":"hiccup"})")).code, "unsupported_parameter");
    EXPECT_EQ(refuse(schema_format(R"({"type":"string","maxLength":99999})")).code, "out_of_range");
    EXPECT_EQ(refused(chat(*server_, with(body, "grammar", "root ::= this is (not valid GBNF"))),
              (Refused{400, "unsupported_parameter", "grammar"}));
}

TEST_F(Format, AGrammarIsFollowed) {
    EXPECT_EQ(ask(with(text_body("Hi?"), "grammar", "root ::= \"a\"{5,5}")), "aaaaa");
    EXPECT_THAT(ask(with(text_body("Hi?"), "grammar", "root ::= (\"yes\" | \"no\") # one\n")),
                testing::AnyOf("yes", "no"));
}

TEST_F(Format, OllamasWordForIt) {
    const Json message = {{"role", "user"}, {"content", "Hi?"}};
    Json body = {{"messages", Json::array({message})}, {"stream", false}};
    body["format"] = json(R"({"const":"yes"})");
    EXPECT_EQ(json_of(send(*server_, "/api/chat", body))["message"]["content"], "\"yes\"");
    body["format"] = "yaml";
    EXPECT_EQ(send(*server_, "/api/chat", body).status, 400);
}

}  // namespace
}  // namespace clasp::serve
