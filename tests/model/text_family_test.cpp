// Files of every architecture of the table that lack something, have too much of it, or say what cannot be:
// an error that names it, never an abort.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/text_family.h"
#include "model/text_model.h"
#include "support/gguf_edit.h"
#include "support/paths.h"
#include "support/random_llama.h"

namespace clasp::model {
namespace {

using test::EditedGguf;
using test::EditedKey;
using test::GgufWriter;

class TextFamilyFile : public testing::TestWithParam<std::string> {
   protected:
    void SetUp() override {
        path_ = std::string(test::scratch_dir()) + "/family_" + std::to_string(::getpid()) + ".gguf";
        test::RandomLlama spec = test::random_architecture(GetParam());
        spec.n_layers = 2;
        ASSERT_TRUE(test::write_random_llama(path_, spec));
        std::ifstream in(path_, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), {});
        auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
        ASSERT_TRUE(compute.ok());
        compute_ = *compute;
    }
    void TearDown() override { std::remove(path_.c_str()); }

    [[nodiscard]] Status load(const std::string& bytes) const {
        std::ofstream(path_, std::ios::binary) << bytes;
        return TextModel::load(path_, compute_, {.repack = false}).status();
    }
    [[nodiscard]] Status load_changed(const std::function<void(EditedGguf&)>& change) const {
        EditedGguf file = EditedGguf::parse(bytes_);
        change(file);
        return load(file.bytes());
    }
    [[nodiscard]] std::string key(const char* name) const { return GetParam() + "." + name; }
    [[nodiscard]] const TextFamily& family() const { return *find_text_family(GetParam()); }

    // Refused, with the name of the key in the sentence.
    void expect_refused(const std::string& name, const std::function<void(EditedKey&)>& change) const {
        const Status status = load_changed([&](EditedGguf& file) { change(file.key(name)); });
        EXPECT_FALSE(status.ok()) << name;
        EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
        EXPECT_EQ(status.message().find("libllama"), std::string::npos) << status.message();
    }
    void expect_refused(const char* name, std::int32_t value) const {
        expect_refused(key(name), [&](EditedKey& k) { k.set(GgufType::I32, value); });
    }
    void expect_refused(const char* name, float value) const {
        expect_refused(key(name), [&](EditedKey& k) { k.set(GgufType::F32, value); });
    }
    void expect_array_refused(const char* name, const std::vector<std::int32_t>& values) const {
        expect_refused(key(name), [&](EditedKey& k) { set_array(k, GgufType::I32, values); });
    }

    template <typename T>
    static void set_array(EditedKey& k, GgufType type, const std::vector<T>& values) {
        k.value.clear();
        GgufWriter::put(k.value, static_cast<std::uint32_t>(GgufType::Array));
        GgufWriter::put(k.value, static_cast<std::uint32_t>(type));
        GgufWriter::put(k.value, static_cast<std::uint64_t>(values.size()));
        for (const T value : values) GgufWriter::put(k.value, value);
    }

    std::string path_;
    std::string bytes_;
    std::shared_ptr<Compute> compute_;
};

TEST_P(TextFamilyFile, LoadsWhenWhole) {
    const Status status = load(bytes_);
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(TextFamilyFile, EveryTensorIsRequiredUnlessItsRowSaysOtherwise) {
    for (const test::EditedTensor& tensor : EditedGguf::parse(bytes_).tensors) {
        SCOPED_TRACE(tensor.name);
        const Status status = load_changed([&](EditedGguf& file) {
            std::erase_if(file.tensors, [&](const auto& other) { return other.name == tensor.name; });
        });
        const bool may_be_tied = tensor.name == "output.weight" && family().head == Presence::Optional;
        EXPECT_EQ(status.ok(), may_be_tied) << status.message();
        if (status.ok()) continue;
        const bool is_rope = tensor.name.starts_with("rope_factors");
        // Without its fused matrix a block is taken to have three.
        const bool is_fused = tensor.name.find("attn_qkv") != std::string::npos;
        const std::string wanted = is_rope ? "rotation factors" : is_fused ? "attn_" : tensor.name;
        EXPECT_NE(status.message().find(wanted), std::string::npos) << status.message();
    }
}

TEST_P(TextFamilyFile, EveryTensorHasItsShape) {
    for (std::size_t i = 0; i < EditedGguf::parse(bytes_).tensors.size(); ++i) {
        std::string name;
        const Status status = load_changed([&](EditedGguf& file) {
            test::EditedTensor& tensor = file.tensors[i];
            name = tensor.name;
            tensor.shape[0] *= 2;
            tensor.data += tensor.data;
        });
        EXPECT_EQ(status.code(), Code::Corrupt) << name;
        EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
    }
}

TEST_P(TextFamilyFile, TensorsOfOtherArchitecturesAreRefusedByName) {
    const EditedGguf file = EditedGguf::parse(bytes_);
    std::set<std::string> own;
    for (const test::EditedTensor& tensor : file.tensors) own.insert(tensor.name);
    const bool is_llama = GetParam() == "llama";
    for (const std::string name :
         {"blk.1.attn_q_norm.weight", "blk.1.post_attention_norm.weight", "blk.1.post_ffw_norm.weight",
          "blk.0.ffn_gate_exps.weight", "blk.0.attn_sinks.weight", "blk.0.ffn_down.scale", "cls.weight",
          "dense_2.weight", "blk.2.attn_norm.weight", "rope_freqs.weight", "blk.1.attn_output.bias"}) {
        if (own.contains(name) || (is_llama && (name == "rope_freqs.weight" || name.ends_with("bias"))))
            continue;
        const Status status = load_changed([&](EditedGguf& edited) {
            test::EditedTensor more = *edited.tensor("output_norm.weight");
            more.name = name;
            edited.tensors.push_back(more);
        });
        EXPECT_EQ(status.code(), Code::Unsupported) << name;
        EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
    }
}

TEST_P(TextFamilyFile, SectionsMustFitTheHeads) {
    if (!family().has_planes()) {
        expect_array_refused("rope.dimension_sections", {2, 3, 3, 0});
        return;
    }
    expect_array_refused("rope.dimension_sections", {2, 3, 2, 0});
    expect_array_refused("rope.dimension_sections", {0, 0, 0, 0});
    expect_array_refused("rope.dimension_sections", {2, 3, 3});
    expect_array_refused("rope.dimension_sections", {2, 3, 3, 0, 0});
    expect_array_refused("rope.dimension_sections", {-2, 5, 5, 0});
    expect_array_refused("rope.dimension_sections", {2, 3, 1, 2});
    expect_refused("rope.dimension_sections", 8);
    EXPECT_FALSE(load_changed([&](EditedGguf& file) {
                     const std::string name = key("rope.dimension_sections");
                     std::erase_if(file.keys, [&](const auto& entry) { return entry.name == name; });
                 }).ok());
}

TEST_P(TextFamilyFile, WindowsMustBeWindows) {
    if (family().window == Presence::Absent) return;
    for (const std::int32_t window : {0, -1, std::numeric_limits<std::int32_t>::min()}) {
        expect_refused("attention.sliding_window", window);
    }
    for (const std::int32_t pattern : {0, -3, 513})
        expect_refused("attention.sliding_window_pattern", pattern);
    expect_array_refused("attention.sliding_window_pattern", {1});
    expect_array_refused("attention.sliding_window_pattern", {1, 0, 1});
    expect_array_refused("attention.sliding_window_pattern", {1, 2});
    expect_array_refused("attention.sliding_window_pattern", {-1, 0});
    const Status flags = load_changed([&](EditedGguf& file) {
        set_array<std::uint8_t>(file.key(key("attention.sliding_window_pattern")), GgufType::Bool, {1, 0});
    });
    EXPECT_TRUE(flags.ok()) << flags.message();
    for (const float base : {0.0F, -1.0F, NAN, INFINITY}) expect_refused("rope.freq_base_swa", base);
    expect_refused("attention.key_length_swa", 8);
    expect_refused("rope.dimension_count_swa", 8);
}

TEST_P(TextFamilyFile, CapsMustBePositiveNumbersWhereThereAreAny) {
    for (const float cap : {0.0F, -1.0F, NAN, INFINITY}) {
        expect_refused("attn_logit_softcapping", cap);
        expect_refused("final_logit_softcapping", cap);
    }
    if (family().attention_cap == Presence::Absent) expect_refused("attn_logit_softcapping", 50.0F);
    if (family().final_cap == Presence::Absent) expect_refused("final_logit_softcapping", 30.0F);
}

TEST_P(TextFamilyFile, NumbersThatLibllamaWouldTrustAreChecked) {
    expect_refused("attention.layer_norm_rms_epsilon", NAN);
    expect_refused("rope.freq_base", NAN);
    expect_refused("rope.freq_base", 0.0F);
    expect_refused("rope.scaling.factor", INFINITY);
    expect_refused("rope.dimension_count", 6 + 2 * 64);
    expect_refused("rope.dimension_count", 0);
    expect_refused("n_deepstack_layers", 3);
    expect_refused("expert_count", 4);
    expect_array_refused("attention.head_count", {4, 2});
    expect_array_refused("attention.head_count_kv", {2, 0});
    expect_array_refused("attention.head_count_kv", {2, 1});
    expect_array_refused("feed_forward_length", {128, 64});
    expect_array_refused("attention.head_count", {});
    expect_refused("attention.head_count", 0);
    expect_refused("attention.head_count_kv", -1);
    const Status scaling =
        load_changed([&](EditedGguf& file) { file.key(key("rope.scaling.type")).set_text("longrope"); });
    EXPECT_EQ(scaling.ok(), family().long_rope_factors != Presence::Absent) << scaling.message();
}

// Flips may leave a valid file (a letter of a name), but never crash.
TEST_P(TextFamilyFile, FlippedBytesDoNotCrash) {
    const std::size_t end = bytes_.find("blk.0.");
    const std::size_t begin = bytes_.find("general.architecture");
    for (std::size_t i = begin; i < end; i += 11) {
        std::string changed = bytes_;
        changed[i] = static_cast<char>(changed[i] ^ '\x81');
        static_cast<void>(load(changed));
    }
}

std::vector<std::string> architectures() {
    std::vector<std::string> names;
    for (const TextFamily& family : text_families()) names.emplace_back(family.architecture);
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, TextFamilyFile, testing::ValuesIn(architectures()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace clasp::model
