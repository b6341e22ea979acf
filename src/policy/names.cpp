// The words that stand for choices, in files and options alike.
#include <array>
#include <string>
#include <utility>

#include "base/text.h"
#include "clasp/policy.h"

namespace clasp {
namespace {

template <typename T, std::size_t n>
using Names = std::array<std::pair<T, std::string_view>, n>;

constexpr Names<MassRule, 2> kMasses = {{{MassRule::None, "none"}, {MassRule::Nearest, "nearest"}}};
constexpr Names<ReferenceTokens, 4> kReferences = {{{ReferenceTokens::Last, "last"},
                                                    {ReferenceTokens::Instruction, "instruction"},
                                                    {ReferenceTokens::Post, "post"},
                                                    {ReferenceTokens::Raters, "raters"}}};
constexpr Names<StageMode, 2> kModes = {{{StageMode::Before, "before"}, {StageMode::After, "after"}}};

template <typename T, std::size_t n>
std::string_view name_of(const Names<T, n>& names, T value) {
    for (const auto& [candidate, name] : names) {
        if (candidate == value) return name;
    }
    return names.front().second;
}

template <typename T, std::size_t n>
Result<T> value_of(const Names<T, n>& names, std::string_view what, std::string_view text) {
    std::vector<std::string_view> known;
    for (const auto& [candidate, name] : names) {
        if (name == text) return candidate;
        known.push_back(name);
    }
    return Status(Code::InvalidArgument,
                  std::string(what) + " " + base::in_quotes(text) + " is not one of " + base::join(known));
}

}  // namespace

std::string_view mass_name(MassRule mass) {
    return name_of(kMasses, mass);
}

std::string_view reference_name(ReferenceTokens tokens) {
    return name_of(kReferences, tokens);
}

std::string_view stage_mode_name(StageMode mode) {
    return name_of(kModes, mode);
}

Result<MassRule> parse_mass(std::string_view name) {
    return value_of(kMasses, "mass", name);
}

Result<ReferenceTokens> parse_reference(std::string_view name) {
    return value_of(kReferences, "reference_tokens", name);
}

Result<StageMode> parse_stage_mode(std::string_view name) {
    return value_of(kModes, "stage_mode", name);
}

}  // namespace clasp
