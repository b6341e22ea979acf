// What the engine and its tests take for granted of the pinned llama.cpp: it is the release that we were
// compiled for, its CPU backend is found, it opens a vocabulary, its tensor map can be read, and the
// multimodal library that serves as oracle is there.
#include <ggml-backend.h>
#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>
#include <llama-model.h>
#include <llama.h>
#include <mtmd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "clasp/status.h"
#include "model/backend.h"
#include "model/ggml_libraries.h"
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

TEST(PinnedLlama, TheTensorMapHoldsTheWeightsOfALoadedModel) {
    ASSERT_TRUE(model::prepare_ggml().ok());
    const std::string file = std::string(test::source_dir()) + "/models/clasp-tiny.gguf";
    const std::unique_ptr<llama_model, FreeModel> model(
        llama_model_load_from_file(file.c_str(), llama_model_default_params()));
    ASSERT_NE(model, nullptr);
    const auto& map = llama_internal_get_tensor_map(model.get());
    ASSERT_FALSE(map.empty());
    EXPECT_EQ(map.front().first, "token_embd.weight");
    for (const auto& [name, tensor] : map) {
        EXPECT_EQ(name, tensor->name);
        EXPECT_NE(tensor->data, nullptr) << name;
    }
}

TEST(PinnedLlama, ReadsAGgufHeader) {
    const gguf_init_params params = {.no_alloc = true, .ctx = nullptr};
    gguf_context* context = gguf_init_from_file(vocabulary_file().c_str(), params);
    ASSERT_NE(context, nullptr);
    EXPECT_GE(gguf_find_key(context, "tokenizer.ggml.tokens"), 0);
    gguf_free(context);
}

TEST(PinnedLlama, LoadsAsTheReleaseThatWeWereCompiledFor) {
    const Status status = model::load_ggml();
    EXPECT_TRUE(status.ok()) << status.message();
    const model::LibraryVersions compiled = model::compiled_versions();
    EXPECT_FALSE(compiled.llama.empty() || compiled.ggml.empty() || compiled.ggml_commit.empty());
}

TEST(PinnedLlama, AnotherReleaseIsRefusedWithBothNames) {
    const model::LibraryVersions ours = {.llama = "0.5.0", .ggml = "0.25.1", .ggml_commit = "abc"};
    EXPECT_TRUE(model::check_versions(ours, ours).ok());
    model::LibraryVersions marked = ours;
    marked.llama += "-dev";
    EXPECT_TRUE(model::check_versions(ours, marked).ok());
    EXPECT_TRUE(model::check_versions(marked, ours).ok());
    for (std::string model::LibraryVersions::*part :
         {&model::LibraryVersions::llama, &model::LibraryVersions::ggml,
          &model::LibraryVersions::ggml_commit}) {
        model::LibraryVersions other = ours;
        other.*part = "0.6.0";
        EXPECT_EQ(model::check_versions(ours, other).code(), Code::Unavailable);
    }
    EXPECT_EQ(
        model::check_versions(ours, {.llama = "0.6.0", .ggml = "0.26.0", .ggml_commit = "def"}).message(),
        "this program was compiled for llama.cpp 0.5.0 with ggml 0.25.1 (abc), but the libraries that it "
        "found are "
        "0.6.0 with ggml 0.26.0 (def)");
}

// Beside ggml when it comes as modules, else a part of this program. AMX code is left out in both.
TEST(PinnedLlama, TheCpuBackendLiesBesideGgmlAndHasNoAmx) {
    ASSERT_TRUE(model::prepare_ggml().ok());
    const std::filesystem::path file = model::cpu_backend_file();
    RecordProperty("cpu_backend", file.filename().string());
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    const std::string name = file.filename().string();
    if (name.starts_with("libggml-cpu")) {
        EXPECT_TRUE(std::filesystem::exists(file.parent_path() / "libggml-base.so"));
        EXPECT_EQ(name.find("sapphirerapids"), std::string::npos);
    } else {
        EXPECT_EQ(file, std::filesystem::canonical("/proc/self/exe"));
    }
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ASSERT_NE(cpu, nullptr);
    const auto features = reinterpret_cast<ggml_backend_get_features_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_get_features"));
    ASSERT_NE(features, nullptr);
    for (const ggml_backend_feature* feature = features(ggml_backend_dev_backend_reg(cpu));
         feature->name != nullptr; ++feature) {
        EXPECT_STRNE(feature->name, "AMX_INT8");
    }
}

// Every function of the CPU backend that the engine asks for by name.
TEST(PinnedLlama, ComputesOnTheThreadPoolThatTheEngineShares) {
    ASSERT_TRUE(model::prepare_ggml().ok());
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ASSERT_NE(cpu, nullptr);
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(cpu);
    for (const char* name : {"ggml_threadpool_new", "ggml_threadpool_free", "ggml_backend_cpu_set_threadpool",
                             "ggml_backend_set_n_threads", "ggml_backend_set_abort_callback",
                             "ggml_backend_dev_get_extra_bufts"}) {
        EXPECT_NE(ggml_backend_reg_get_proc_address(registry, name), nullptr) << name;
    }
    const auto compute = model::Compute::create({.n_threads = 2, .use_gpu = false});
    ASSERT_TRUE(compute.ok()) << compute.status().message();
    auto runner = model::GraphRunner::create(*compute, 16);
    auto context = model::GraphContext::create(16);
    ASSERT_TRUE(runner.ok() && context.ok());
    ggml_tensor* values = ggml_new_tensor_1d(context->ggml(), GGML_TYPE_F32, 3);
    ggml_set_input(values);
    ggml_tensor* sum = ggml_sum(context->ggml(), values);
    ggml_set_output(sum);
    ggml_build_forward_expand(context->graph(), sum);
    ASSERT_TRUE((*runner)->allocate(context->graph()).ok());
    const std::array<float, 3> numbers = {1.0F, 2.0F, 3.0F};
    ggml_backend_tensor_set(values, numbers.data(), 0, sizeof(numbers));
    ASSERT_TRUE((*runner)->compute(context->graph()).ok());
    float result = 0.0F;
    ggml_backend_tensor_get(sum, &result, 0, sizeof(result));
    EXPECT_EQ(result, 6.0F);
}

TEST(PinnedLlama, BringsTheMultimodalOracleAndItsImage) {
    EXPECT_STREQ(mtmd_default_marker(), "<__media__>");
    EXPECT_TRUE(std::filesystem::exists(std::string(test::llama_source_dir()) + "/tools/mtmd/test-1.jpeg"));
}

}  // namespace
}  // namespace clasp
