// The tensors of a vision transformer: what they are called and how large they must be.
#include <algorithm>
#include <cmath>
#include <utility>

#include "model/vit.h"

namespace clasp::model {

namespace {

constexpr std::int64_t kRowMultiple = 32;  // patch rows are padded to it: kernels want whole vectors
constexpr const char* kFirstTower = "v.";

std::int64_t extent64(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

// Collects the specs of a tower. Of a second tower of the file a tensor that is missing is the first's, and a
// spec of which that holds for every part is the first's own, which is there already.
class SpecList {
   public:
    SpecList(const GgufReader& reader, const VitTraits& traits, std::vector<WeightSpec>& specs)
        : reader_(reader), prefix_(traits.prefix), falls_back_(traits.falls_back), specs_(specs) {}

    [[nodiscard]] std::string part(const std::string& name) const {
        return is_shared(name) ? kFirstTower + name : prefix_ + name;
    }
    [[nodiscard]] const GgufTensor* tensor(const std::string& name) const {
        return reader_.find_tensor(part(name));
    }
    [[nodiscard]] bool is_shared(const std::string& name) const {
        return falls_back_ && reader_.find_tensor(prefix_ + name) == nullptr &&
               reader_.find_tensor(kFirstTower + name) != nullptr;
    }

    // Names without the tower's prefix.
    void values(const std::string& name, std::size_t width, std::size_t rows = 0) {
        values(name, {name}, width, rows);
    }
    void values(const std::string& name, const std::vector<std::string>& parts, std::size_t width,
                std::size_t rows = 0) {
        WeightSpec spec{.part_shape = {extent64(width)}, .width = extent64(width)};
        if (rows != 0) spec.part_shape.push_back(extent64(rows));
        add(name, parts, std::move(spec));
    }
    void matrix(const std::string& name, const std::vector<std::string>& parts, std::size_t width,
                std::size_t rows) {
        add(name, parts,
            {.part_shape = {extent64(width), extent64(rows)},
             .use = WeightSpec::Use::Matrix,
             .width = extent64(width)});
    }
    void add(const std::string& name, const std::vector<std::string>& parts, WeightSpec spec) {
        const bool shares =
            std::all_of(parts.begin(), parts.end(), [&](const std::string& one) { return is_shared(one); });
        spec.name = (shares ? kFirstTower : prefix_) + name;
        const bool is_there =
            shares && std::any_of(specs_.begin(), specs_.end(),
                                  [&](const WeightSpec& other) { return other.name == spec.name; });
        if (is_there) return;
        for (const std::string& one : parts) spec.parts.push_back(part(one));
        specs_.push_back(std::move(spec));
    }

   private:
    const GgufReader& reader_;
    std::string prefix_;
    bool falls_back_;
    std::vector<WeightSpec>& specs_;
};

std::string block_prefix(std::size_t index) {
    return "blk." + std::to_string(index) + ".";
}

// fc1 and fc2 by their names in the file. Old converters swapped the two; the one that takes the tower's
// width is fc1.
std::pair<std::string, std::string> ffn_parts(const SpecList& list, const std::string& block,
                                              std::size_t width, bool may_swap) {
    const GgufTensor* down = may_swap ? list.tensor(block + "ffn_down.weight") : nullptr;
    const bool is_swapped = down != nullptr && down->shape[0] == extent64(width);
    return is_swapped ? std::pair{block + "ffn_down", block + "ffn_up"}
                      : std::pair{block + "ffn_up", block + "ffn_down"};
}

void add_block(SpecList& list, const VitTraits& traits, const std::string& block, std::size_t width,
               std::size_t head_width, std::size_t ffn_width) {
    std::vector<std::string> rows = {"ln1.weight", "ln2.weight", "attn_out.bias"};
    if (traits.has_norm_bias) rows.insert(rows.end(), {"ln1.bias", "ln2.bias"});
    if (traits.has_layer_scale) rows.insert(rows.end(), {"ls1.weight", "ls2.weight"});
    for (const std::string& name : rows) list.values(block + name, width);
    if (traits.qk_norm != VitTraits::QkNorm::None) {
        const std::size_t span = traits.qk_norm == VitTraits::QkNorm::Head ? head_width : width;
        for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) list.values(block + name, span);
    }
    list.matrix(block + "qkv.weight",
                {block + "attn_q.weight", block + "attn_k.weight", block + "attn_v.weight"}, width, width);
    if (traits.has_qkv_bias) {
        list.values(block + "qkv.bias", {block + "attn_q.bias", block + "attn_k.bias", block + "attn_v.bias"},
                    width);
    }
    list.matrix(block + "attn_out.weight", {block + "attn_out.weight"}, width, width);
    const auto [first, second] = ffn_parts(list, block, width, traits.may_swap_ffn);
    list.matrix(block + "fc1.weight", {first + ".weight"}, width, ffn_width);
    list.matrix(block + "fc2.weight", {second + ".weight"}, ffn_width, width);
    list.values(block + "fc1.bias", {first + ".bias"}, ffn_width);
    list.values(block + "fc2.bias", {second + ".bias"}, width);
    if (traits.n_frames == 0) return;
    list.values(block + "t_embd", width, traits.n_frames);
    for (const char* name : {"t_ln.weight", "t_ln.bias", "t_attn_out.bias"}) list.values(block + name, width);
    list.matrix(block + "t_qkv.weight",
                {block + "t_attn_q.weight", block + "t_attn_k.weight", block + "t_attn_v.weight"}, width,
                width);
    list.values(block + "t_qkv.bias",
                {block + "t_attn_q.bias", block + "t_attn_k.bias", block + "t_attn_v.bias"}, width);
    list.matrix(block + "t_attn_out.weight", {block + "t_attn_out.weight"}, width, width);
}

}  // namespace

Vit::Vit(const GgufReader& reader, const VisionInfo& info, const VitTraits& traits,
         std::vector<WeightSpec>& specs)
    : traits_(traits),
      patches_{info.image_size / info.patch_size, info.image_size / info.patch_size},
      patch_size_(info.patch_size),
      patch_values_(extent64(3 * info.patch_size * info.patch_size)),
      padded_patch_values_((patch_values_ + kRowMultiple - 1) / kRowMultiple * kRowMultiple),
      width_(info.width),
      n_blocks_(info.n_blocks),
      norm_epsilon_(info.norm_epsilon),
      activation_(info.activation) {
    const std::size_t head_width = width_ / info.n_heads;
    attention_ = {.n_heads = info.n_heads,
                  .head_width = head_width,
                  .scale = 1.0F / std::sqrt(static_cast<float>(head_width))};
    const auto patch = extent64(patch_size_);
    SpecList list(reader, traits_, specs);
    WeightSpec kernel_spec = {.part_shape = {patch, patch, 3, extent64(width_)},
                              .use = WeightSpec::Use::Matrix,
                              .width = patch_values_,
                              .padded_width = padded_patch_values_};
    list.add("patch_embd.weight", {"patch_embd.weight"}, kernel_spec);
    // llama.cpp multiplies patches with the kernel in half precision (single if the file has BF16), in rows
    // of exactly this width: the same numbers need the same operands.
    if (traits_.is_in_llama_cpp) {
        const GgufTensor* kernel = list.tensor("patch_embd.weight");
        const bool is_bf16 = kernel != nullptr && kernel->type == GGML_TYPE_BF16;
        llama_cpp_patches_are_half_ = !is_bf16;
        kernel_spec.padded_width = 0;
        kernel_spec.type = is_bf16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
        list.add("patch_embd.llama_cpp", {"patch_embd.weight"}, std::move(kernel_spec));
    }
    if (traits_.has_patch_bias) list.values("patch_embd.bias", width_);
    const std::size_t n_prefix = traits_.has_class_token ? 1 : 0;
    if (traits_.has_class_token) list.values("class_embd", width_);
    list.values("position_embd.weight", width_, patches_.height * patches_.width + n_prefix);
    if (traits_.has_pre_norm) {
        list.values("pre_ln.weight", width_);
        if (traits_.has_norm_bias) list.values("pre_ln.bias", width_);
    }
    for (std::size_t i = 0; i < n_blocks_; ++i) {
        add_block(list, traits_, block_prefix(i), width_, head_width, info.ffn_width);
    }
}

void Vit::bind(const WeightStore& store) {
    // A spec of a second tower that the first shares has the first's name.
    const auto name_of = [&](const std::string& name) {
        const bool is_own = !traits_.falls_back || store.has(traits_.prefix + name);
        return (is_own ? traits_.prefix : kFirstTower) + name;
    };
    const auto get = [&](const std::string& name) { return store.get(name_of(name)); };
    const auto get_if = [&](bool is_there, const std::string& name) {
        return is_there ? get(name) : nullptr;
    };
    const auto linear_of = [&](const std::string& weight, bool has_bias, const std::string& bias) {
        Linear result = store.linear(name_of(weight));
        if (has_bias) result.bias = get(bias);
        return result;
    };
    patch_kernel_ = linear_of("patch_embd.weight", traits_.has_patch_bias, "patch_embd.bias");
    if (traits_.is_in_llama_cpp) {
        llama_cpp_patch_kernel_ =
            linear_of("patch_embd.llama_cpp", traits_.has_patch_bias, "patch_embd.bias");
    }
    class_token_ = get_if(traits_.has_class_token, "class_embd");
    positions_ = get("position_embd.weight");
    pre_norm_ = get_if(traits_.has_pre_norm, "pre_ln.weight");
    pre_norm_bias_ = get_if(traits_.has_pre_norm && traits_.has_norm_bias, "pre_ln.bias");
    blocks_.resize(n_blocks_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const std::string block = block_prefix(i);
        const auto linear = [&](const std::string& name, bool has_bias = true) {
            return linear_of(block + name + ".weight", has_bias, block + name + ".bias");
        };
        const bool has_qk_norm = traits_.qk_norm != VitTraits::QkNorm::None;
        blocks_[i] = {.norm1 = get(block + "ln1.weight"),
                      .norm1_bias = get_if(traits_.has_norm_bias, block + "ln1.bias"),
                      .qkv = linear("qkv", traits_.has_qkv_bias),
                      .query_norm = get_if(has_qk_norm, block + "attn_q_norm.weight"),
                      .key_norm = get_if(has_qk_norm, block + "attn_k_norm.weight"),
                      .out = linear("attn_out"),
                      .scale1 = get_if(traits_.has_layer_scale, block + "ls1.weight"),
                      .norm2 = get(block + "ln2.weight"),
                      .norm2_bias = get_if(traits_.has_norm_bias, block + "ln2.bias"),
                      .first = linear("fc1"),
                      .second = linear("fc2"),
                      .scale2 = get_if(traits_.has_layer_scale, block + "ls2.weight")};
        if (traits_.n_frames == 0) continue;
        blocks_[i].time = {.embedding = get(block + "t_embd"),
                           .norm = get(block + "t_ln.weight"),
                           .norm_bias = get(block + "t_ln.bias"),
                           .qkv = linear("t_qkv"),
                           .out = linear("t_attn_out")};
    }
}

}  // namespace clasp::model
