// Files of a test.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "model/shape.h"

namespace clasp::training {

inline std::string scratch(const std::string& name) {
    return testing::TempDir() + "/clasp_trainer_" + name;
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline ModelShape small_shape(int vocabulary) {
    ModelShape shape;
    shape.width = 32;
    shape.heads = 2;
    shape.vision_ffn = 32;
    shape.decoder_ffn = 32;
    shape.vision_blocks = 2;
    shape.decoder_blocks = 2;
    shape.vocabulary = vocabulary;
    return shape;
}

}  // namespace clasp::training
