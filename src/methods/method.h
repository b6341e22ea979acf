// Token-reduction methods behind one interface.
//
// A method is a pair of files src/methods/<name>.{h,cpp} and a line in registry.cpp. The pair holds
//   1. the algorithm as pure functions over spans, which its test checks against the specification;
//   2. a class derived from MethodRun: its constructor fills program_ (what is computed for it, how many
//      tokens stay where) and it overrides the hooks that the program names;
//   3. a function `Method <name>_method()` that describes it: name, summary, options, start().
// The engine calls start() once per request, computes only what the program asks for, calls the hooks in
// the order inside_encoder, after_encoder, after_projector, at_stage, and applies their plans. A hook
// that has nothing to remove is not called: inputs always hold more rows than `keep`.
//
// A run may keep what one hook saw for a later one. Hooks of one run are called one at a time; runs of
// different requests may run at the same time, so nothing is shared between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "methods/budget.h"
#include "methods/inputs.h"
#include "methods/options.h"
#include "methods/plan.h"

namespace clasp::methods {

struct VisionShape {
    std::size_t n_blocks = 0;       // stored in the file
    std::size_t feature_layer = 0;  // block whose output the original model projects
    std::size_t width = 0;
    std::size_t n_heads = 0;
    bool has_class_token = true;
    bool has_text_tower = false;
};

// What a method knows before anything is computed.
struct Setup {
    std::vector<Grid> grids;   // one per image; images may differ
    std::size_t n_visual = 0;  // tokens of all images
    bool has_tiles = false;    // one of them may be seen as an overview and tiles (ImageInput::parts)
    std::size_t n_layers = 0;  // of the decoder
    VisionShape vision;
    Budget budget;              // below n_visual
    std::vector<Stage> stages;  // instead of the budget: the user's own stages, or the policy's schedule
    StageMode stage_mode = StageMode::Before;  // of the policy
    Settings settings;
    double split = 0.0;  // of the class
    std::uint32_t iterations = 5;
};

struct DecoderStage {
    std::size_t layer = 0;
    StageMode mode = StageMode::Before;
    std::size_t keep = 0;  // of all images together, never rising; 0 drops every visual token
    StageNeeds needs = {};
};

// What a run does where. Counts are for all images together; the engine shares them out in proportion.
struct Program {
    EncoderNeeds encoder;
    std::vector<std::size_t> encoder_blocks;  // where inside_encoder() is called, rising
    bool merges_after_block = false;          // at the end of those blocks instead of inside them
    // Tokens merged inside the encoder go on by their first patch, or else in the encoder's order (which
    // class attention and keys of later blocks need).
    bool keeps_encoder_order = false;
    bool has_after_encoder = false;
    bool has_after_projector = false;
    std::size_t entering = 0;  // visual tokens that enter the decoder
    // The image decides how many enter: `entering` is the most, and the hooks before the decoder are called
    // however few tokens there are.
    bool is_adaptive = false;
    std::vector<DecoderStage> stages;
    PositionMode positions = PositionMode::Keep;  // as in the authors' code
    // Where tokens lie beside each other matters: every image must be one grid. Without it `grid` in the
    // hooks' inputs is only a count.
    bool uses_grid = false;
    std::vector<std::string> notes;  // sentences for the user
};

class MethodRun {
   public:
    MethodRun() = default;
    virtual ~MethodRun() = default;
    MethodRun(const MethodRun&) = delete;
    MethodRun& operator=(const MethodRun&) = delete;

    [[nodiscard]] const Program& program() const { return program_; }

    // Each fills an empty plan. Without an override the hook must not be in the program.
    virtual Status inside_encoder(const BlockInput& input, Plan& plan);
    virtual Status after_encoder(const ImageInput& input, Plan& plan);
    virtual Status after_projector(const ImageInput& input, Plan& plan);
    virtual Status at_stage(const StageInput& input, Plan& plan);

   protected:
    Program program_;
};

struct Method {
    std::string_view name;
    std::string_view summary;
    std::string_view paper = {};           // where it was published; empty: nowhere, it is a yardstick
    bool merges = false;                   // tokens may carry others that were merged into them
    bool uses_masses = false;              // dropped tokens leave their mass to their nearest survivor
    std::string_view without_masses = {};  // name of the same method without them; with uses_masses
    bool drops = true;                     // false: tokens are merged, so there are no masses to leave
    bool mixes_layers = false;             // the policy's mix of vision layers is part of the method
    bool uses_schedule = false;            // the stages are the policy's
    std::vector<OptionSpec> options = {};
    // Errors: a budget that the method cannot reach, with the reason; something that the model lacks.
    Result<std::unique_ptr<MethodRun>> (*start)(const Setup& setup) = nullptr;
};

std::span<const Method> all_methods();
// Letter case is ignored. Error: not_found with the names there are.
Result<const Method*> find_method(std::string_view name);

// A method is what its authors published; with masses it is another one, if there is a name for that.
// The method that runs when this one is asked for with or without masses.
const Method& with_masses(const Method& method, bool has_masses);

// A method with options, as lists of methods write it: "fastv", "fastv:faithful=paper:layer=3".
struct MethodChoice {
    std::string name;
    std::vector<std::string> options;  // "name=value"
};
MethodChoice split_method_choice(std::string_view text);
// Errors: those of find_method() and Settings::read().
Status check_method_choice(const MethodChoice& choice);
// Error: dropped tokens cannot leave masses under this method.
Status check_masses(const Method& method);
// What tables, maps and reports call it: "fastv:faithful=paper", "fastv + masses", "clasp+".
std::string method_label(const Method& method, const std::vector<std::string>& options, bool has_masses);

}  // namespace clasp::methods
