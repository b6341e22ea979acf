// What the engine and its tests take for granted of the pinned llama.cpp: it links, it opens a
// vocabulary, its tensor map can be read, and the multimodal library that serves as oracle is there.
#include <ggml-cpu.h>
#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>
#include <llama-model.h>
#include <llama.h>
#include <mtmd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/paths.h"

namespace clasp {
namespace {

std::string vocabulary_file() {
    return std::string(test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
}

struct FreeModel {
    void operator()(llama_model* model) const { llama_model_free(model); }
};

TEST(PinnedLlama, OpensAVocabularyAndGivesItsTensorMap) {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    const std::unique_ptr<llama_model, FreeModel> model(
        llama_model_load_from_file(vocabulary_file().c_str(), params));
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(llama_vocab_n_tokens(llama_model_get_vocab(model.get())), 32000);
    EXPECT_TRUE(llama_internal_get_tensor_map(model.get()).empty());
}

TEST(PinnedLlama, ReadsAGgufHeader) {
    const gguf_init_params params = {.no_alloc = true, .ctx = nullptr};
    gguf_context* context = gguf_init_from_file(vocabulary_file().c_str(), params);
    ASSERT_NE(context, nullptr);
    EXPECT_GE(gguf_find_key(context, "tokenizer.ggml.tokens"), 0);
    gguf_free(context);
}

TEST(PinnedLlama, ComputesOnTheThreadPoolThatTheEngineShares) {
    ggml_threadpool_params pool_params = ggml_threadpool_params_default(2);
    ggml_threadpool* pool = ggml_threadpool_new(&pool_params);
    ASSERT_NE(pool, nullptr);
    ggml_context* context = ggml_init({.mem_size = 1U << 20U, .mem_buffer = nullptr, .no_alloc = false});
    ASSERT_NE(context, nullptr);
    ggml_tensor* values = ggml_new_tensor_1d(context, GGML_TYPE_F32, 3);
    for (int i = 0; i < 3; ++i) ggml_set_f32_1d(values, i, static_cast<float>(i + 1));
    ggml_tensor* sum = ggml_sum(context, values);
    ggml_cgraph* graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, sum);
    ggml_cplan plan = ggml_graph_plan(graph, 2, pool);
    std::vector<std::uint8_t> work(plan.work_size);
    plan.work_data = work.data();
    EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_get_f32_1d(sum, 0), 6.0F);
    ggml_free(context);
    ggml_threadpool_free(pool);
}

TEST(PinnedLlama, BringsTheMultimodalOracleAndItsImage) {
    EXPECT_STREQ(mtmd_default_marker(), "<__media__>");
    EXPECT_TRUE(std::filesystem::exists(std::string(test::llama_source_dir()) + "/tools/mtmd/test-1.jpeg"));
}

}  // namespace
}  // namespace clasp
