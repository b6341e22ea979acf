#include "methods/method.h"

#include "base/check.h"

namespace clasp::methods {

namespace {

Status no_hook(const char* hook) {
    return {Code::Internal, std::string("the method has no hook ") + hook};
}

}  // namespace

Status MethodRun::inside_encoder(const BlockInput& /*input*/, Plan& /*plan*/) {
    return no_hook("inside the encoder");
}

Status MethodRun::after_encoder(const ImageInput& /*input*/, Plan& /*plan*/) {
    return no_hook("after the encoder");
}

Status MethodRun::after_projector(const ImageInput& /*input*/, Plan& /*plan*/) {
    return no_hook("after the projector");
}

Status MethodRun::at_stage(const StageInput& /*input*/, Plan& /*plan*/) {
    return no_hook("at decoder stages");
}

const FeatureView& values_of(std::span<const BlockValues> values, std::size_t block) {
    for (const BlockValues& value : values) {
        if (value.block == block) return value.rows;
    }
    CLASP_CHECK(false && "a block that the method did not ask for");
}

}  // namespace clasp::methods
