// Questions with exact answers about a scene.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "world/random.h"
#include "world/scene.h"

namespace clasp::world {

// One way of asking; each belongs to a class of the paper.
enum class Template : std::uint8_t {
    ShapeThatIs,       // 0 object: which shape is red / striped
    ToolName,          // 0 object: name of the tool
    IsThere,           // 0 object: is there a red star (yes, no)
    ColourOf,          // 1 attribute
    SizeOf,            // 1 attribute
    PatternOf,         // 1 attribute
    ReadSign,          // 2 text
    CharacterOnSign,   // 2 text
    WhichPlace,        // 3 scene
    InTheSky,          // 3 scene
    DayOrNight,        // 3 scene
    LeftOrRight,       // 4 spatial
    AboveOrBelow,      // 4 spatial
    HowMany,           // 5 counting
    WhatDoing,         // 6 action
    IsDoing,           // 6 action (yes, no)
    WhatFor,           // 7 function
    IsFor,             // 7 function (yes, no)
    Describe,          // 8 default
    PlaceAndAction,    // 8 default
    ColourAndPurpose,  // 8 default
    PlaceAndSign,      // 8 default
    ColourAndSize,     // 8 default
};
inline constexpr int kTemplates = 23;

// Words of a question that stand for something in the picture. Training tells the decoder what.
struct Mention {
    std::size_t end = 0;  // of the words, in bytes of the question's text
    int item = -1;        // index of the one item they mean; -1 when it is none or several
    int count = 1;        // how many items they fit
};

struct Question {
    int class_id = 0;
    Template form = Template::Describe;
    std::string text;
    std::string answer;
    bool test_only_phrasing = false;
    std::vector<Mention> mentions;
};

// What of the whole picture, beside single things, a question of this form asks about.
enum class Setting { None, Place, Sky };
Setting setting_of(Template form);

int class_of(Template form);
std::string_view name(Template form);

// A question of this form or class, or nothing if the scene has nothing to ask about. `rng` decides
// the phrasing, the thing asked about and, for yes/no questions, the answer.
std::optional<Question> ask(const Scene& scene, Template form, Random& rng);
std::optional<Question> ask_class(const Scene& scene, int class_id, Random& rng);

// "How many red stars are there?" about any group of shapes, not only the one that the scene balances.
Question ask_how_many(const Scene& scene, const CountTarget& target, Random& rng);

// Items that a few words name without doubt: "red star", "person", "hammer".
struct NamedItem {
    const Item* item = nullptr;  // of the scene
    std::string name;
};
std::vector<NamedItem> name_items(const Scene& scene, Random& rng);

// `count` different questions: the first of class scene.index % 9, the others of random classes.
// Fewer if the scene has no more to offer, none if it cannot serve its own class (compose_scene
// never returns such a scene). Deterministic in the scene.
// `weights` makes some classes more frequent among the others; training asks more of what it has not
// learned yet.
using ClassWeights = std::array<float, kClasses>;
std::vector<Question> ask_many(const Scene& scene, int count, const ClassWeights* weights = nullptr);

}  // namespace clasp::world
