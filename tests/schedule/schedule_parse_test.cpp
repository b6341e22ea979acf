// The texts that users type for budgets, stages and schedules.
#include <gtest/gtest.h>

#include "clasp/schedule.h"

namespace clasp {
namespace {

TEST(ParseBudget, AcceptsTheFourForms) {
    EXPECT_EQ(*parse_budget("192"), (BudgetSpec{BudgetSpec::Kind::Tokens, 192.0}));
    EXPECT_EQ(*parse_budget("36.94"), (BudgetSpec{BudgetSpec::Kind::Tokens, 36.94}));
    EXPECT_EQ(*parse_budget("33%"), (BudgetSpec{BudgetSpec::Kind::Percent, 33.0}));
    EXPECT_EQ(*parse_budget("100%"), (BudgetSpec{BudgetSpec::Kind::Percent, 100.0}));
    EXPECT_EQ(parse_budget("none")->kind, BudgetSpec::Kind::None);
    EXPECT_EQ(parse_budget("auto")->kind, BudgetSpec::Kind::Auto);
    EXPECT_EQ(BudgetSpec(), *parse_budget("33%")) << "the default of the contract";
}

TEST(ParseBudget, RefusesEverythingElse) {
    for (const char* text :
         {"", "%", "0", "0%", "-5", "101%", "12a", "1e999", "nan", "inf", "33 %", "+5", "None"}) {
        const auto result = parse_budget(text);
        ASSERT_FALSE(result.ok()) << text;
        EXPECT_EQ(result.status().code(), Code::InvalidArgument);
        EXPECT_EQ(result.status().message(), "budget '" + std::string(text) +
                                                 "' is not a number of tokens above 0, a percentage above 0 "
                                                 "and at most 100%, 'none' or 'auto'");
    }
}

TEST(ParseStages, AcceptsTheContractsExample) {
    EXPECT_EQ(*parse_stages("2:300,6:200,15:110"), (std::vector<Stage>{{2, 300}, {6, 200}, {15, 110}}));
    EXPECT_EQ(*parse_stages("0:1"), (std::vector<Stage>{{0, 1}}));
}

TEST(ParseStages, NamesThePieceThatIsWrong) {
    const auto message = [](const char* text) { return parse_stages(text).status().message(); };
    EXPECT_EQ(message(""), "schedule piece '' is not LAYER:COUNT, such as 2:300");
    EXPECT_EQ(message("2:300,6"), "schedule piece '6' is not LAYER:COUNT, such as 2:300");
    EXPECT_EQ(message("2:300,"), "schedule piece '' is not LAYER:COUNT, such as 2:300");
    EXPECT_EQ(message("2:-1"), "schedule piece '2:-1' is not LAYER:COUNT, such as 2:300");
    EXPECT_EQ(message("2:99999999999999999999"),
              "schedule piece '2:99999999999999999999' is not LAYER:COUNT, such as 2:300");
    EXPECT_EQ(message("2:0"), "schedule piece '2:0' keeps no token; the least is 1");
    EXPECT_EQ(message("2:5,2:4"), "schedule piece '2:4' is not at a later layer than the piece before it");
    EXPECT_EQ(message("2:5,6:6"), "schedule piece '6:6' keeps more tokens than the piece before it");
}

TEST(ParseStageLayers, AcceptsRisingLayersOnly) {
    EXPECT_EQ(*parse_stage_layers("2,6,15"), (std::vector<std::size_t>{2, 6, 15}));
    EXPECT_EQ(parse_stage_layers("2,x").status().message(),
              "stage 'x' is not a decoder layer counted from 0");
    EXPECT_EQ(parse_stage_layers("6,2").status().message(),
              "stage '2' is not at a later layer than the stage before it");
}

}  // namespace
}  // namespace clasp
