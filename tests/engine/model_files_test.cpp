// Model files of every kind: each is answered with finite numbers or refused with one sentence, by `inspect`
// and by the engine alike, and none ends the process. Every case runs in a child, so that an abort is a
// failure of that case.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/inspect.h"
#include "clasp/route_llm.h"
#include "model/weight_types.h"
#include "support/bmp.h"
#include "support/child.h"
#include "support/gguf_edit.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;
using test::EditedGguf;
using test::EditedKey;
using test::EditedTensor;

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_all(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

// What became of a pair of files.
struct Verdict {
    bool inspect_says_yes = false;
    bool loads = false;
    bool answers = false;
    std::string said;  // the reasons, in this order, separated by " | "
};

std::string is_yes(bool value) {
    return value ? "1" : "0";
}

std::string judge(const std::string& text_path, const std::string& vision_path) {
    std::string said;
    const auto text = inspect_gguf(text_path);
    const auto vision = inspect_gguf(vision_path);
    Status inspected = text.status();
    if (inspected.ok()) inspected = vision.status();
    if (inspected.ok()) inspected = check_pair(*text, *vision);
    said += inspected.message() + " | ";
    auto engine = Engine::load({.model = text_path, .mmproj = vision_path, .n_threads = 1, .use_gpu = false});
    said += engine.status().message() + " | ";
    bool answers = false;
    if (engine.ok()) {
        const std::string picture = test::make_bmp(12, 8, [](std::uint32_t i) { return i * 7 % 256; });
        AskRequest request;
        request.images = {{{}, picture}};
        request.question = "abc";
        request.vanilla = true;
        request.generation.max_tokens = 2;
        request.want_logits = true;
        const auto answer = (*engine)->ask(request);
        answers = answer.ok();
        said += answer.status().message();
        if (answers) {
            for (const float logit : answer->logits) {
                if (std::isfinite(logit)) continue;
                answers = false;
                said += "a logit that is not finite";
                break;
            }
        }
    }
    return is_yes(inspected.ok()) + is_yes(engine.ok()) + is_yes(answers) + said;
}

class ModelFiles : public testing::Test {
   protected:
    void SetUp() override {
        const std::string prefix =
            std::string(test::scratch_dir()) + "/model-files-" + std::to_string(::getpid());
        text_path_ = prefix + "-text.gguf";
        vision_path_ = prefix + "-mmproj.gguf";
    }
    void TearDown() override {
        fs::remove(text_path_);
        fs::remove(vision_path_);
    }

    // The smallest model whose rows are whole blocks of every type.
    EditedGguf wide_text(bool has_own_head) {
        test::RandomLlama spec;
        spec.n_layers = 1;
        spec.width = 256;
        spec.n_heads = 4;
        spec.n_kv_heads = 2;
        spec.ffn_width = 256;
        spec.has_own_head = has_own_head;
        spec.has_biases = true;
        spec.has_rope_factors = true;
        EXPECT_TRUE(test::write_random_llama(text_path_, spec));
        return EditedGguf::parse(read_all(text_path_));
    }
    static EditedGguf vision_for(std::size_t text_width, std::size_t width) {
        test::MmprojSpec spec;
        spec.image_size = 8;
        spec.patch_size = 4;
        spec.width = width;
        spec.n_heads = 2;
        spec.ffn_width = width;
        spec.n_blocks = 2;
        spec.projector_width = width;
        spec.output_width = text_width;
        return EditedGguf::parse(test::random_mmproj(spec));
    }

    Verdict verdict(const std::string& text, const std::string& vision, const std::string& what) {
        write_all(text_path_, text);
        write_all(vision_path_, vision);
        const auto child = test::run_in_child([&] { return judge(text_path_, vision_path_); });
        EXPECT_TRUE(child.ended_well) << what << ": " << child.how;
        Verdict verdict;
        if (!child.ended_well || child.text.size() < 3) return verdict;
        verdict.inspect_says_yes = child.text[0] == '1';
        verdict.loads = child.text[1] == '1';
        verdict.answers = child.text[2] == '1';
        verdict.said = child.text.substr(3);
        EXPECT_EQ(verdict.said.find('\n'), std::string::npos) << what << ": " << verdict.said;
        EXPECT_EQ(verdict.inspect_says_yes, verdict.loads) << what << ": " << verdict.said;
        EXPECT_EQ(verdict.loads, verdict.answers) << what << ": " << verdict.said;
        return verdict;
    }

    std::string text_path_;
    std::string vision_path_;
};

bool is_type(int type) {
    return ggml_blck_size(static_cast<ggml_type>(type)) > 0 &&
           ggml_type_size(static_cast<ggml_type>(type)) > 0;
}

// Zeros in another type: valid numbers in all of them.
void set_type(EditedTensor& tensor, int type) {
    if (tensor.type == static_cast<std::uint32_t>(type)) return;
    std::size_t rows = 1;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) rows *= static_cast<std::size_t>(tensor.shape[i]);
    tensor.type = static_cast<std::uint32_t>(type);
    tensor.data.assign(rows * ggml_row_size(static_cast<ggml_type>(type), tensor.shape[0]), '\0');
}

TEST_F(ModelFiles, EveryTypeOfTextWeightWorksOrIsRefused) {
    const std::string vision = vision_for(256, 32).bytes();
    for (const bool has_own_head : {true, false}) {
        const EditedGguf text = wide_text(has_own_head);
        for (const char* name : {"token_embd.weight", "output.weight", "blk.0.attn_q.weight",
                                 "blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_down.weight",
                                 "blk.0.attn_norm.weight", "blk.0.attn_q.bias", "rope_freqs.weight"}) {
            for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
                if (!is_type(type)) continue;
                EditedGguf changed = text;
                EditedTensor* tensor = changed.tensor(name);
                // Tied: only the embedding is another case.
                if (tensor == nullptr || (!has_own_head && tensor->name != "token_embd.weight")) continue;
                if (tensor->shape[0] % ggml_blck_size(static_cast<ggml_type>(type)) != 0) continue;
                set_type(*tensor, type);
                const std::string what =
                    std::string(name) + " in " + ggml_type_name(static_cast<ggml_type>(type));
                const Verdict found = verdict(changed.bytes(), vision, what);
                const auto role =
                    tensor->shape.size() == 1 ? model::WeightRole::Values : model::WeightRole::Matrix;
                EXPECT_EQ(found.loads, model::can_be_weight(static_cast<ggml_type>(type), role))
                    << what << found.said;
            }
        }
    }
}

TEST_F(ModelFiles, RouterModelsInTypesThatCannotBeComputedWithAreRefused) {
    const EditedGguf text = wide_text(true);
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q4_K, GGML_TYPE_I8, GGML_TYPE_I32, GGML_TYPE_F64,
                                 GGML_TYPE_Q8_1, GGML_TYPE_Q8_K}) {
        EditedGguf changed = text;
        set_type(*changed.tensor("blk.0.ffn_down.weight"), type);
        write_all(text_path_, changed.bytes());
        const auto child = test::run_in_child([&] {
            const auto router = load_llm_router({.model = text_path_, .n_threads = 1, .use_gpu = false});
            return router.ok() ? "" : router.status().message();
        });
        EXPECT_TRUE(child.ended_well) << ggml_type_name(type) << ": " << child.how;
        EXPECT_EQ(child.text.empty(), model::can_be_weight(type, model::WeightRole::Matrix))
            << ggml_type_name(type) << ": " << child.text;
    }
}

TEST_F(ModelFiles, EveryTypeOfVisionWeightWorksOrIsRefused) {
    const EditedGguf vision = vision_for(256, 256);
    const std::string text = wide_text(true).bytes();
    for (const char* name : {"v.patch_embd.weight", "v.position_embd.weight", "v.class_embd",
                             "v.blk.0.attn_q.weight", "v.blk.0.ffn_down.weight", "v.blk.0.ln1.weight",
                             "v.blk.0.attn_q.bias", "mm.0.weight", "mm.2.bias"}) {
        for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
            EditedGguf changed = vision;
            EditedTensor* tensor = changed.tensor(name);
            ASSERT_NE(tensor, nullptr) << name;
            if (!is_type(type) || tensor->shape[0] % ggml_blck_size(static_cast<ggml_type>(type)) != 0)
                continue;
            set_type(*tensor, type);
            verdict(text, changed.bytes(),
                    std::string(name) + " in " + ggml_type_name(static_cast<ggml_type>(type)));
        }
    }
}

TEST_F(ModelFiles, EveryAlignmentWorksOrIsRefused) {
    EditedGguf text = wide_text(true);
    EditedGguf vision = vision_for(256, 32);
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        const std::string what = "alignment " + std::to_string(alignment);
        text.alignment = alignment;
        vision.alignment = 32;
        EXPECT_EQ(verdict(text.bytes(), vision.bytes(), what + " of the text").loads, alignment >= 32);
        text.alignment = 32;
        vision.alignment = alignment;
        EXPECT_EQ(verdict(text.bytes(), vision.bytes(), what + " of the vision file").loads, alignment >= 8);
    }
}

TEST_F(ModelFiles, PicturesThatDoNotFitTheContextAreRefusedAtOnce) {
    EditedGguf text = wide_text(true);
    text.key("llama.context_length").set(model::GgufType::U32, std::uint32_t{4});
    const Verdict found = verdict(text.bytes(), vision_for(256, 32).bytes(), "context");
    EXPECT_FALSE(found.loads);
    EXPECT_NE(found.said.find("a picture has 4 tokens"), std::string::npos) << found.said;
}

TEST_F(ModelFiles, TheReasonThatLibllamaGivesIsInTheMessage) {
    EditedGguf text = wide_text(true);
    text.gap = 1;
    const Verdict found = verdict(text.bytes(), vision_for(256, 32).bytes(), "gap");
    EXPECT_FALSE(found.loads);
    EXPECT_NE(found.said.find("libllama could not load the file: tensor 'output_norm.weight' has offset"),
              std::string::npos)
        << found.said;
}

// One random change of a file.
class Mutation {
   public:
    explicit Mutation(std::uint64_t seed) : random_(seed) {}

    std::string apply(EditedGguf& file) {
        switch (pick(12)) {
            case 0:
            case 1:
            case 2: return change_number(file);
            case 3: return change_key_type(file);
            case 4: return remove_key(file);
            case 5: return change_tensor_type(file);
            case 6: return change_shape(file);
            case 7: return remove_or_rename(file);
            case 8: return special_token(file);
            case 9: return change_text(file);
            case 10: file.alignment = std::size_t{1} << pick(8); return "alignment";
            default: file.gap = 1 + pick(2); return "gap";
        }
    }
    std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

   private:
    EditedKey& any_key(EditedGguf& file) { return file.keys[pick(file.keys.size())]; }
    EditedTensor& any_tensor(EditedGguf& file) { return file.tensors[pick(file.tensors.size())]; }

    std::string change_number(EditedGguf& file) {
        constexpr std::uint32_t kNumbers[] = {0,  1,  2,  3,  4,  5,   7,         8,          12,
                                              16, 31, 32, 33, 64, 255, 1U << 16U, 0xFFFFFFFFU};
        for (int i = 0; i < 100; ++i) {
            EditedKey& key = any_key(file);
            std::uint32_t type = 0;
            std::memcpy(&type, key.value.data(), sizeof type);
            const auto value = kNumbers[pick(std::size(kNumbers))];
            if (type == static_cast<std::uint32_t>(model::GgufType::U32)) {
                key.set(model::GgufType::U32, value);
                return key.name + " = " + std::to_string(value);
            }
            if (type == static_cast<std::uint32_t>(model::GgufType::F32)) {
                constexpr float kFloats[] = {0.0F, -1.0F, 1.0F, 1e-30F, 1e30F, NAN, INFINITY};
                key.set(model::GgufType::F32, kFloats[pick(std::size(kFloats))]);
                return key.name;
            }
        }
        return "nothing";
    }
    std::string change_key_type(EditedGguf& file) {
        EditedKey& key = any_key(file);
        switch (pick(6)) {
            case 0: key.set(model::GgufType::U64, std::uint64_t{4}); break;
            case 1: key.set(model::GgufType::I32, std::int32_t{4}); break;
            case 2: key.set(model::GgufType::U8, std::uint8_t{4}); break;
            case 3: key.set(model::GgufType::F32, 4.0F); break;
            case 4: key.set(model::GgufType::Bool, std::uint8_t{1}); break;
            default: key.set_text("four"); break;
        }
        return "type of " + key.name;
    }
    std::string remove_key(EditedGguf& file) {
        const std::size_t i = pick(file.keys.size());
        const std::string name = file.keys[i].name;
        file.keys.erase(file.keys.begin() + static_cast<std::ptrdiff_t>(i));
        return "no " + name;
    }
    std::string change_tensor_type(EditedGguf& file) {
        EditedTensor& tensor = any_tensor(file);
        int type = 0;
        do {
            type = static_cast<int>(pick(GGML_TYPE_COUNT));
        } while (!is_type(type) || tensor.shape[0] % ggml_blck_size(static_cast<ggml_type>(type)) != 0);
        set_type(tensor, type);
        return tensor.name + " in " + ggml_type_name(static_cast<ggml_type>(type));
    }
    std::string change_shape(EditedGguf& file) {
        EditedTensor& tensor = any_tensor(file);
        switch (pick(4)) {
            case 0: tensor.shape[pick(tensor.shape.size())] += 1; break;
            case 1: tensor.shape[pick(tensor.shape.size())] *= 2; break;
            case 2: tensor.shape.insert(tensor.shape.end(), tensor.shape.size() < 4 ? 1 : 0, 2); break;
            default: std::swap(tensor.shape.front(), tensor.shape.back()); break;
        }
        const auto type = static_cast<ggml_type>(tensor.type);
        if (tensor.shape[0] % ggml_blck_size(type) == 0) {
            std::size_t bytes = ggml_row_size(type, tensor.shape[0]);
            for (std::size_t i = 1; i < tensor.shape.size(); ++i)
                bytes *= static_cast<std::size_t>(tensor.shape[i]);
            tensor.data.resize(bytes, '\0');
        }
        return "shape of " + tensor.name;
    }
    std::string remove_or_rename(EditedGguf& file) {
        const std::size_t i = pick(file.tensors.size());
        const std::string name = file.tensors[i].name;
        switch (pick(3)) {
            case 0: file.tensors.erase(file.tensors.begin() + static_cast<std::ptrdiff_t>(i)); break;
            case 1: file.tensors[i].name += "x"; break;
            default: file.tensors.push_back(file.tensors[i]); break;
        }
        return "name of " + name;
    }
    std::string special_token(EditedGguf& file) {
        constexpr const char* kNames[] = {
            "bos_token_id",  "eos_token_id",  "unknown_token_id", "padding_token_id", "eot_token_id",
            "add_bos_token", "add_eos_token", "add_space_prefix", "add_sep_token",    "mask_token_id"};
        std::string name = std::string("tokenizer.ggml.") + kNames[pick(std::size(kNames))];
        if (name.find("add_") != std::string::npos) {
            file.key(name).set(model::GgufType::Bool, static_cast<std::uint8_t>(pick(2)));
        } else {
            constexpr std::uint32_t kIds[] = {0, 1, 2, 284, 285, 1000, 0x7FFFFFFF, 0xFFFFFFFF};
            file.key(name).set(model::GgufType::U32, kIds[pick(std::size(kIds))]);
        }
        return name;
    }
    std::string change_text(EditedGguf& file) {
        constexpr const char* kNames[] = {
            "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template", "general.architecture",
            "clip.projector_type",  "general.name",       "llama.rope.scaling.type"};
        constexpr const char* kTexts[] = {"",     "llama",          "gpt2",    "bert",
                                          "none", "{{ messages }}", "default", "\x80\xFF"};
        EditedKey& key = file.key(kNames[pick(std::size(kNames))]);
        key.set_text(kTexts[pick(std::size(kTexts))]);
        return key.name;
    }

    std::mt19937_64 random_;
};

TEST_F(ModelFiles, InspectAndTheEngineAgreeOnFilesChangedAtRandom) {
    test::RandomLlama spec;
    spec.n_layers = 1;
    spec.width = 32;
    spec.n_heads = 2;
    spec.n_kv_heads = 2;
    spec.ffn_width = 32;
    ASSERT_TRUE(test::write_random_llama(text_path_, spec));
    const EditedGguf text = EditedGguf::parse(read_all(text_path_));
    const EditedGguf vision = vision_for(32, 32);
    std::size_t n_loaded = 0;
    constexpr std::size_t kCases = 500;
    for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
        EditedGguf changed_text = text;
        EditedGguf changed_vision = vision;
        Mutation mutation(seed);
        const bool is_text = mutation.pick(3) > 0;
        const std::string what = "seed " + std::to_string(seed) + (is_text ? ", text, " : ", vision, ") +
                                 mutation.apply(is_text ? changed_text : changed_vision);
        std::string text_bytes = changed_text.bytes();
        std::string vision_bytes = changed_vision.bytes();
        if (mutation.pick(10) == 0) {
            std::string& cut = is_text ? text_bytes : vision_bytes;
            cut.resize(mutation.pick(cut.size()));
        }
        if (verdict(text_bytes, vision_bytes, what).loads) ++n_loaded;
    }
    EXPECT_GT(n_loaded, kCases / 20) << "some changes are harmless";
    EXPECT_LT(n_loaded, kCases) << "and some are not";
}

}  // namespace
}  // namespace clasp
