// Rows of a table: what a name means, and that a label says what runs.
#include "eval/variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clasp::eval {
namespace {

using ::testing::ElementsAre;

Variant base_with_masses() {
    Policy policy = find_profile("llava").value();
    policy.method = "clasp+";
    policy.mass = MassRule::Nearest;
    Variant base;
    base.policy = std::make_shared<Policy>(policy);
    return base;
}

std::vector<std::string> labels(const std::vector<Variant>& variants) {
    std::vector<std::string> result;
    for (const Variant& variant : variants) result.push_back(variant.label);
    return result;
}

TEST(Cross, ANameNeverTakesMassesFromThePolicy) {
    const auto variants = cross({"fastv", "clasp", "clasp+", "dart"}, {"64"}, base_with_masses());
    EXPECT_THAT(labels(variants), ElementsAre("fastv", "clasp", "clasp+", "dart"));
    std::vector<MassRule> masses;
    for (const Variant& variant : variants) masses.push_back(mass_of(variant));
    EXPECT_THAT(masses, ElementsAre(MassRule::None, MassRule::None, MassRule::Nearest, MassRule::None));
    // The policy's own method, when none is named, takes them.
    Variant unnamed = base_with_masses();
    unnamed.budget = "64";
    EXPECT_EQ(mass_of(unnamed), MassRule::Nearest);
}

TEST(Cross, MassesThatWereAskedForAreInTheLabel) {
    Variant base = base_with_masses();
    base.mass = MassRule::Nearest;
    const auto with = cross({"fastv:faithful=paper", "clasp", "clasp+"}, {"64"}, base);
    EXPECT_THAT(labels(with), ElementsAre("fastv:faithful=paper + masses", "clasp+"));  // one row, not two
    base.mass = MassRule::None;
    EXPECT_THAT(labels(cross({"clasp+", "dart"}, {"64"}, base)), ElementsAre("clasp", "dart"));
    base.mass.reset();
    EXPECT_THAT(labels(cross({"clasp", "clasp+", "dart", "tome"}, {"64"}, base, true)),
                ElementsAre("clasp", "clasp+", "dart", "dart + masses", "tome"));
}

TEST(VariantKey, TellsApartWhatAnswersDifferently) {
    Variant base = base_with_masses();
    const auto plain = cross({"dart"}, {"64"}, base).front();
    base.mass = MassRule::None;
    EXPECT_EQ(variant_key(plain, 8), variant_key(cross({"dart"}, {"64"}, base).front(), 8));
    base.mass = MassRule::Nearest;
    EXPECT_NE(variant_key(plain, 8), variant_key(cross({"dart"}, {"64"}, base).front(), 8));
}

}  // namespace
}  // namespace clasp::eval
