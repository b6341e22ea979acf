#include "model/weight_types.h"

#include <algorithm>
#include <array>
#include <string>

namespace clasp::model {

namespace {

// Types for which ggml's CPU backend has both a product and a way to read rows as float32. The others store
// intermediate results (Q8_1, Q8_K) or counts (I8 ... I64, F64), or are no longer read (Q4_2 and their like).
constexpr std::array kMatrixTypes = {
    GGML_TYPE_F32,     GGML_TYPE_F16,    GGML_TYPE_BF16,  GGML_TYPE_Q1_0,    GGML_TYPE_Q2_0,
    GGML_TYPE_Q4_0,    GGML_TYPE_Q4_1,   GGML_TYPE_Q5_0,  GGML_TYPE_Q5_1,    GGML_TYPE_Q8_0,
    GGML_TYPE_Q2_K,    GGML_TYPE_Q3_K,   GGML_TYPE_Q4_K,  GGML_TYPE_Q5_K,    GGML_TYPE_Q6_K,
    GGML_TYPE_TQ1_0,   GGML_TYPE_TQ2_0,  GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M,   GGML_TYPE_IQ2_S,
    GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ3_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ4_NL,
    GGML_TYPE_IQ4_XS,  GGML_TYPE_MXFP4,  GGML_TYPE_NVFP4,
};

}  // namespace

bool can_be_weight(ggml_type type, WeightRole role) {
    if (role == WeightRole::Values) return type == GGML_TYPE_F32;
    return std::find(kMatrixTypes.begin(), kMatrixTypes.end(), type) != kMatrixTypes.end();
}

Status check_weight_type(std::string_view tensor, ggml_type type, WeightRole role) {
    if (can_be_weight(type, role)) return ok_status();
    const char* name = ggml_type_name(type);
    return {Code::Unsupported, "the tensor " + std::string(tensor) + " is of type " +
                                   (name != nullptr ? name : std::to_string(static_cast<int>(type))) +
                                   (role == WeightRole::Values ? ", not f32"
                                                               : ", which no weight can have; f32, f16, bf16 "
                                                                 "and the quantised types of ggml can")};
}

}  // namespace clasp::model
