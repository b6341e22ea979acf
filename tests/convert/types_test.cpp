// Every type: what the files hold is what ggml's quantiser makes of the checkpoint's numbers.
#include <ggml.h>

#include "convert/tensor_stream.h"
#include "convert_case.h"

namespace clasp {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

class ConvertTypes : public ConvertCase {
   protected:
    void make(std::int32_t width, std::int32_t ffn_width) {
        RandomLlama text = llava_family_text();
        text.n_layers = 2;
        text.width = width;
        text.n_heads = text.n_kv_heads = 4;
        text.ffn_width = ffn_width;
        MmprojSpec vision = clip_family_vision();
        vision.output_width = static_cast<std::size_t>(width);
        pair_ = {made_text(text), made_vision(vision)};
        write_llava(pair_, {}, false);
    }

    convert::ConvertReport convert_to(const std::string& type, const std::string& vision) {
        auto wanted = options();
        wanted.type = type;
        wanted.mmproj_type = vision;
        auto report = convert::convert(wanted);
        EXPECT_TRUE(report.ok()) << report.status().message();
        return report.ok() ? *report : convert::ConvertReport();
    }

    static std::string quantised(const EditedTensor& made, ggml_type type) {
        const std::vector<float> values = tensor_values(made);
        std::string bytes(ggml_row_size(type, made.shape[0]) * static_cast<std::size_t>(made.shape[1]), '\0');
        ggml_quantize_chunk(type, values.data(), bytes.data(), 0, made.shape[1], made.shape[0], nullptr);
        return bytes;
    }

    // All matrices of the type, but those whose names are given.
    static void expect_type(EditedGguf made, const EditedGguf& converted, ggml_type type,
                            const std::map<std::string, ggml_type>& others) {
        for (const EditedTensor& tensor : converted.tensors) {
            SCOPED_TRACE(tensor.name);
            const EditedTensor& from = *made.tensor(tensor.name);
            if (tensor.shape.size() == 4) {
                EXPECT_EQ(tensor.type, type == GGML_TYPE_F32 ? 0U : 1U);
                continue;
            }
            if (tensor.shape.size() == 1 || tensor.name == "v.position_embd.weight") {
                EXPECT_EQ(tensor.type, 0U);
                EXPECT_TRUE(tensor.data == from.data);
                continue;
            }
            ggml_type wanted = type;
            for (const auto& [name, other] : others) {
                if (("." + tensor.name).find("." + name) != std::string::npos) wanted = other;
            }
            EXPECT_EQ(tensor.type, static_cast<std::uint32_t>(wanted));
            EXPECT_TRUE(tensor.data == (wanted == GGML_TYPE_F32 ? from.data : quantised(from, wanted)));
        }
    }

    Pair pair_;
};

TEST_F(ConvertTypes, EveryTypeIsWhatGgmlMakesOfTheNumbers) {
    make(256, 512);
    const std::map<std::string, ggml_type> fine = {{"token_embd", GGML_TYPE_Q6_K},
                                                   {"output.weight", GGML_TYPE_Q6_K}};
    struct Case {
        const char* name;
        ggml_type type;
        std::map<std::string, ggml_type> others;
    };
    for (const Case& c : {Case{"f32", GGML_TYPE_F32, {}}, Case{"f16", GGML_TYPE_F16, {}},
                          Case{"bf16", GGML_TYPE_BF16, {}}, Case{"q8_0", GGML_TYPE_Q8_0, {}},
                          Case{"q4_0", GGML_TYPE_Q4_0, fine}, Case{"q4_k", GGML_TYPE_Q4_K, fine}}) {
        SCOPED_TRACE(c.name);
        const auto report = convert_to(c.name, "f16");
        EXPECT_EQ(report.text.type, c.name);
        EXPECT_TRUE(report.notes.empty()) << report.notes.front();
        expect_type(pair_.text, read_gguf(text_path()), c.type, c.others);
        EXPECT_EQ(std::filesystem::file_size(text_path()), report.text.bytes);
        EXPECT_EQ(std::filesystem::file_size(vision_path()), report.vision.bytes);
        EngineOptions load;
        load.model = text_path();
        load.mmproj = vision_path();
        const auto engine = Engine::load(load);
        EXPECT_TRUE(engine.ok()) << engine.status().message();
    }
}

TEST_F(ConvertTypes, TowersAreQuantisedWhenThatIsAskedFor) {
    make(96, 128);
    const std::map<std::string, ggml_type> none;
    for (const auto& [name, type] : {std::pair{"f32", GGML_TYPE_F32},
                                     {"bf16", GGML_TYPE_BF16},
                                     {"f16", GGML_TYPE_F16},
                                     {"q8_0", GGML_TYPE_Q8_0},
                                     {"q4_0", GGML_TYPE_Q4_0}}) {
        convert_to("f16", name);
        expect_type(pair_.vision, read_gguf(vision_path()), type, none);
    }
}

TEST_F(ConvertTypes, RowsThatNoBlockDividesGetAnotherTypeAndANote) {
    make(96, 120);  // rows of 96 numbers take blocks of 32, rows of 120 take none
    const auto report = convert_to("q4_k", "f16");
    EXPECT_THAT(report.notes, Contains(HasSubstr("q8_0, because their rows")));
    EXPECT_THAT(report.notes, Contains(HasSubstr("blk.0.ffn_down.weight")));
    expect_type(pair_.text, read_gguf(text_path()), GGML_TYPE_Q8_0, {{"ffn_down", GGML_TYPE_F16}});
    const auto coarse = convert_to("q4_0", "f16");
    expect_type(
        pair_.text, read_gguf(text_path()), GGML_TYPE_Q4_0,
        {{"ffn_down", GGML_TYPE_F16}, {"token_embd", GGML_TYPE_Q8_0}, {"output.weight", GGML_TYPE_Q8_0}});
    EXPECT_THAT(coarse.notes, Contains(HasSubstr("f16, because their rows")));
}

TEST_F(ConvertTypes, HalfPrecisionHoldsWhatItCanHold) {
    convert::PlannedTensor tensor;
    tensor.place = {.name = "x", .shape = {4}, .type = GGML_TYPE_F16, .n_bytes = 8};
    tensor.row_elements = 4;
    ThreadPool pool(1);
    const auto sink = [](std::string_view) { return ok_status(); };
    tensor.values = {65519.0F, -65519.0F, 1e-8F, 0.0F};
    EXPECT_TRUE(convert::stream_tensor(tensor, pool, sink).ok());
    tensor.values[3] = -65520.0F;
    EXPECT_THAT(convert::stream_tensor(tensor, pool, sink).message(), HasSubstr("element 3 of tensor x"));
}

}  // namespace
}  // namespace clasp
