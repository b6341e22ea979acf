#include "route/taxonomy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clasp/classes.h"

namespace clasp::route {
namespace {

using testing::HasSubstr;

TEST(BuiltinTaxonomy, FifteenIntentsInThePapersNineClasses) {
    const Taxonomy& taxonomy = Taxonomy::builtin();
    ASSERT_EQ(taxonomy.classes.size(), kClassNames.size());
    for (std::size_t i = 0; i < kClassNames.size(); ++i) {
        EXPECT_EQ(taxonomy.classes[i].id, static_cast<int>(i));
        EXPECT_EQ(taxonomy.classes[i].name, kClassNames[i]);
    }
    EXPECT_EQ(taxonomy.default_class, static_cast<int>(kDefaultClass));
    EXPECT_EQ(taxonomy.intents.size(), 15u);
    EXPECT_TRUE(taxonomy.intent_index("arithmetic_reasoning"));
    EXPECT_TRUE(taxonomy.intent_index("temporal_order"));
    for (const RouteIntent& intent : taxonomy.intents)
        EXPECT_FALSE(intent.description.empty()) << intent.name;
}

TEST(ParseTaxonomy, AClassWithoutIntentGetsOne) {
    const auto taxonomy = Taxonomy::parse(
        R"({"version": 1, "name": "t", "default": 1, "classes": [{"id": 1, "name": "a"}, {"id": 7, "name": "b"}],
            "intents": [{"name": "fine", "class": 1}]})");
    ASSERT_TRUE(taxonomy.ok()) << taxonomy.status().message();
    ASSERT_EQ(taxonomy->intents.size(), 2u);
    EXPECT_EQ(taxonomy->intents[1].name, "b");
    EXPECT_EQ(taxonomy->class_of_intent(1), 1u);
    EXPECT_EQ(taxonomy->class_index(3), std::nullopt);
}

struct BadTaxonomy {
    const char* json;
    const char* message;
};

class WrongTaxonomy : public testing::TestWithParam<BadTaxonomy> {};

TEST_P(WrongTaxonomy, IsNamed) {
    EXPECT_THAT(Taxonomy::parse(GetParam().json).status().message(), HasSubstr(GetParam().message));
}

#define HEAD R"({"version": 1, "name": "t", "default": 0, "classes": [{"id": 0, "name": "a"}])"
INSTANTIATE_TEST_SUITE_P(
    Fields, WrongTaxonomy,
    testing::Values(
        BadTaxonomy{"", "taxonomy"}, BadTaxonomy{"[]", "not a JSON object"},
        BadTaxonomy{"{}", "\"version\" is not 1"}, BadTaxonomy{R"({"version": 1})", "no text \"name\""},
        BadTaxonomy{R"({"version": 1, "name": "t"})", "\"classes\""},
        BadTaxonomy{R"({"version": 1, "name": "t", "classes": [{"id": 0, "name": "a"}]})", "\"default\""},
        BadTaxonomy{R"({"version": 1, "name": "t", "default": 4, "classes": [{"id": 0, "name": "a"}]})",
                    "class 4"},
        BadTaxonomy{R"({"version": 1, "name": "t", "default": 0, "classes": [{"id": 4.44e71, "name": "a"}]})",
                    "no whole number \"id\""},
        BadTaxonomy{
            R"({"version": 1, "name": "t", "default": 0, "classes": [{"id": 18446744073709551615, "name": "a"}]})",
            "not between 0 and 1000000"},
        BadTaxonomy{R"({"version": 1, "name": "t", "default": 4.44e71, "classes": [{"id": 0, "name": "a"}]})",
                    "no whole number \"default\""},
        BadTaxonomy{R"({"version": 1, "name": "t", "default": 0, "classes": [{"id": -1, "name": "a"}]})",
                    "between"},
        BadTaxonomy{
            R"({"version": 1, "name": "t", "default": 0, "classes": [{"id": 0, "name": "a"}, {"id": 0, "name": "b"}]})",
            "class 2 repeats"},
        BadTaxonomy{HEAD R"(, "intents": [{"name": "x", "class": 9}]})", "class 9"},
        BadTaxonomy{HEAD R"(, "intents": [{"name": "x", "class": 0}, {"name": "x", "class": 0}]})",
                    "intent 2 repeats"},
        BadTaxonomy{HEAD R"(, "rules": [{"name": "r", "intent": "z", "reason": "-", "patterns": ["q"]}]})",
                    "no intent"},
        BadTaxonomy{HEAD R"(, "examples": [{"text": "q"}]})", "neither"},
        BadTaxonomy{HEAD R"(, "examples": [{"text": "q", "intent": "z"}]})", "no intent"},
        BadTaxonomy{HEAD R"(, "examples": [{"text": "q", "category": 3}]})", "no class 3"},
        BadTaxonomy{HEAD R"(, "threshold": 1.5})", "threshold"}));
#undef HEAD

}  // namespace
}  // namespace clasp::route
