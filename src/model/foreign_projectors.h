// Vision files that llama.cpp's libmtmd knows and that are not read here, and why.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace clasp::model {

struct ForeignProjector {
    std::string_view projector_type;
    // Of the text models that it goes with, none of which text_family.cpp has; empty: it is for sound.
    std::string_view decoder;
};

std::span<const ForeignProjector> foreign_projectors();

// Why a file of this type is refused, in some words; empty for a type that nobody knows.
std::string why_foreign(std::string_view projector_type);

}  // namespace clasp::model
