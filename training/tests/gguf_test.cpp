// The pair of files: what export writes, and that import gives it back.
#include <cstring>
#include <filesystem>

#include "gguf/export_model.h"
#include "gguf/import_model.h"
#include "tests/scratch.h"
#include "world/clip.h"

namespace clasp::training {
namespace {

// A small model in a folder of its own.
class GgufFiles : public testing::Test {
   protected:
    void SetUp() override {
        folder_ = scratch(testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::create_directories(folder_);
        text_ = text_file(model_, vocabulary_).bytes();
        mmproj_ = mmproj_file(model_).bytes();
        write();
    }

    void write() const {
        write_file(text_path(folder_, kStillName), text_);
        write_file(mmproj_path(folder_, kStillName), mmproj_);
    }

    // The text file with the u32 of a key replaced.
    std::string with_number(const std::string& key, std::uint32_t value) const {
        std::string bytes = text_;
        std::memcpy(bytes.data() + bytes.find(key) + key.size() + 4, &value, sizeof value);
        return bytes;
    }

    std::string folder_;
    Vocabulary vocabulary_ = Vocabulary::learn({"red star"}, {}, 300);
    Model model_{small_shape(vocabulary_.size())};
    std::string text_, mmproj_;
};

TEST_F(GgufFiles, carry_the_names_that_llava_files_have) {
    for (const std::string& bytes : {text_, mmproj_}) {
        EXPECT_EQ(bytes.substr(0, 4), "GGUF");
        EXPECT_EQ(bytes.size() % 32, 0U);
        std::uint32_t version = 0;
        std::memcpy(&version, bytes.data() + 4, 4);
        EXPECT_EQ(version, 3U);
    }
    for (const char* name : {"token_embd.weight", "blk.1.attn_q.weight", "blk.1.ffn_gate.weight",
                             "output_norm.weight", "tokenizer.ggml.merges", "tokenizer.chat_template"})
        EXPECT_NE(text_.find(name), std::string::npos) << name;
    for (const char* name :
         {"v.patch_embd.weight", "v.class_embd", "v.position_embd.weight", "v.pre_ln.bias",
          "v.blk.1.attn_k.bias", "v.blk.1.ffn_down.weight", "mm.2.bias", "clip.projector_type"})
        EXPECT_NE(mmproj_.find(name), std::string::npos) << name;
    EXPECT_EQ(mmproj_.find("aux."), std::string::npos);
}

TEST_F(GgufFiles, give_the_rounded_model_back) {
    const auto imported = import_model(folder_);
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    EXPECT_EQ(imported->model->shape(), model_.shape());
    EXPECT_EQ(imported->vocabulary.tokens(), vocabulary_.tokens());
    EXPECT_EQ(imported->vocabulary.encode(" red star"), vocabulary_.encode(" red star"));
    round_to_exported(model_);
    const ParamStore& store = imported->model->store();
    for (ParamId id = 0; id < store.params().size(); ++id) {
        const Param& param = store.info(id);
        if (is_auxiliary(param)) continue;  // not in the files
        EXPECT_EQ(std::memcmp(store.value(id), model_.store().value(id), param.size() * sizeof(float)), 0)
            << param.name;
    }
}

TEST_F(GgufFiles, of_a_model_of_clips_have_names_and_keys_of_video_llava_and_come_back) {
    ModelShape shape = small_shape(vocabulary_.size());
    shape.frames = world::kClipFrames;
    shape.grid = world::kClipSide;
    Model model(shape);
    EXPECT_STREQ(name_of(model), "clasp-tiny-video");
    const std::string mmproj = mmproj_file(model).bytes();
    for (const char* name : {"videollava", "clip.video.frame_count", "clip.video.temporal_attention",
                             "clip.video.keep_class_token", "clip.video.block_count", "clip.video.preprocess",
                             "v.blk.1.attn_q.weight", "vv.blk.1.t_embd", "vv.blk.1.t_ln.bias",
                             "vv.blk.0.t_attn_q.weight", "vv.blk.0.t_attn_out.bias"})
        EXPECT_NE(mmproj.find(name), std::string::npos) << name;
    // What the towers share is written once.
    EXPECT_EQ(mmproj.find("vv.blk.0.attn_q"), std::string::npos);
    write_file(text_path(folder_, kVideoName), text_file(model, vocabulary_).bytes());
    write_file(mmproj_path(folder_, kVideoName), mmproj);
    const auto imported = import_model(folder_, kVideoName);
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    EXPECT_EQ(imported->model->shape(), shape);
    round_to_exported(model);
    for (const Param& param : model.store().params()) {
        if (is_auxiliary(param)) continue;
        const float* ours = model.store().value(model.store().find(param.name));
        const float* theirs = imported->model->store().value(imported->model->store().find(param.name));
        EXPECT_EQ(std::memcmp(ours, theirs, param.size() * sizeof(float)), 0) << param.name;
    }
}

TEST_F(GgufFiles, that_are_cut_are_refused) {
    const std::string whole = text_;
    for (const std::size_t size : {std::size_t{0}, std::size_t{6}, std::size_t{100}, whole.size() / 4,
                                   whole.size() / 2, whole.size() - 33}) {
        text_ = whole.substr(0, size);
        write();
        EXPECT_FALSE(import_model(folder_).ok()) << size;
    }
}

TEST_F(GgufFiles, whose_keys_disagree_with_the_trainer_are_refused) {
    const std::string whole = text_;
    for (const auto& [key, value] : {std::pair{"llama.block_count", 3U},
                                     {"llama.embedding_length", 60'000U},
                                     {"llama.attention.head_count", 0U},
                                     {"llama.vocab_size", 5U},
                                     {"llama.context_length", 7U}}) {
        text_ = whole;
        text_ = with_number(key, value);
        write();
        const auto imported = import_model(folder_);
        ASSERT_FALSE(imported.ok()) << key;
        EXPECT_NE(imported.status().message().find("clasp-tiny.gguf"), std::string::npos)
            << imported.status().message();
    }
    text_ = whole;
    mmproj_.replace(mmproj_.find("v.pre_ln.bias"), 13, "v.pre_ln.bibs");
    write();
    const auto imported = import_model(folder_);
    ASSERT_FALSE(imported.ok());
    EXPECT_NE(imported.status().message().find("v.pre_ln.bias"), std::string::npos)
        << imported.status().message();
    std::filesystem::remove(mmproj_path(folder_, kStillName));
    EXPECT_EQ(import_model(folder_).status().code(), Code::NotFound);
}

}  // namespace
}  // namespace clasp::training
