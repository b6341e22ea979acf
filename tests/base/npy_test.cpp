// The .npy reader: what NumPy writes, and everything hostile.
#include "base/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/float_convert.h"
#include "support/paths.h"

namespace clasp::base {
namespace {

// A file with this dictionary and these bytes of values.
std::string file_with(std::string dictionary, std::size_t n_bytes, char major = 1) {
    std::string file = "\x93NUMPY";
    file += major;
    file += '\0';
    const std::size_t length = dictionary.size();
    for (std::size_t i = 0; i < (major == 1 ? 2u : 4u); ++i)
        file += static_cast<char>(length >> (8 * i) & 0xffU);
    return file + dictionary + std::string(n_bytes, '\0');
}

Status parse(const std::string& file) {
    return parse_npy(as_bytes(file)).status();
}

constexpr const char* kGood = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

TEST(Npy, ReadsBothVersions) {
    for (const char major : {'\1', '\2'}) {
        const auto array = parse_npy(as_bytes(file_with(kGood, 24, major)));
        ASSERT_TRUE(array.ok()) << array.status().message();
        EXPECT_EQ(array->shape, (std::vector<std::size_t>{2, 3}));
        EXPECT_EQ(array->type, FloatType::F32);
        EXPECT_EQ(array->n_values(), 6u);
    }
}

TEST(Npy, ReadsWhatItWrites) {
    const std::vector<float> values = {1.0F, -2.5F, 3e-40F, 4.0F, 5.0F, 6.0F};
    for (const std::vector<std::size_t>& shape :
         std::vector<std::vector<std::size_t>>{{6}, {2, 3}, {1, 6, 1}, {3, 1, 2, 1}}) {
        const std::string file = npy_file(shape, values);
        const auto header = parse_npy_header(as_bytes(file));
        ASSERT_TRUE(header.ok());
        EXPECT_EQ(header->data_offset % 64, 0u);
        const auto array = parse_npy(as_bytes(file));
        ASSERT_TRUE(array.ok()) << array.status().message();
        EXPECT_EQ(array->shape, shape);
        EXPECT_EQ(array->to_float32(), values);
    }
    const std::vector<float> one = {7.0F};
    EXPECT_EQ(parse_npy(as_bytes(npy_file({}, one)))->to_float32(), one) << "no dimensions, one number";
    const std::vector<std::size_t> empty = {0, 5};
    EXPECT_TRUE(parse_npy(as_bytes(npy_file(empty, {})))->to_float32().empty());
}

TEST(Npy, WritesTheHeaderThatNumpyWrites) {
    const std::vector<std::size_t> shape = {2};
    const std::string file = npy_file(shape, std::vector<float>{1.0F, 2.0F});
    EXPECT_EQ(file.substr(10, 57), "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
    EXPECT_EQ(file[127], '\n');
    EXPECT_EQ(file.size(), 128u + 8u);
}

TEST(Npy, ReadsHalfPrecision) {
    std::string file = file_with("{'descr': '<f2', 'fortran_order': False, 'shape': (3,)}", 0);
    for (const float value : {1.5F, -0.25F, 65504.0F}) {
        const std::uint16_t bits = float_to_half(value);
        file.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
    const auto array = parse_npy(as_bytes(file));
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->type, FloatType::F16);
    EXPECT_EQ(array->to_float32(), (std::vector<float>{1.5F, -0.25F, 65504.0F}));
}

TEST(Npy, ToleratesOrderQuotesAndSpace) {
    EXPECT_TRUE(
        parse(file_with(" { \"shape\" : ( 2 ,3 ) ,'fortran_order':False\t,\n\"descr\":\"<f4\" } ", 24)).ok());
    EXPECT_TRUE(parse(file_with("{'descr':'<f4','fortran_order':False,'shape':()}", 4)).ok());
}

TEST(Npy, FilesThatAreCutShort) {
    EXPECT_EQ(parse("").message(), "an npy file of 0 bytes is cut short");
    EXPECT_EQ(parse("\x93NUMPY").message(), "an npy file of 6 bytes is cut short");
    EXPECT_EQ(parse(file_with(kGood, 0, 2).substr(0, 11)).message(), "an npy file of 11 bytes is cut short");
    EXPECT_EQ(parse(file_with(kGood, 24).substr(0, 40)).message(), "the npy header is cut short");
    EXPECT_EQ(parse(file_with(kGood, 23)).message(),
              "the npy header announces 24 bytes of values, but 23 follow");
    EXPECT_EQ(parse(file_with(kGood, 25)).message(),
              "the npy header announces 24 bytes of values, but 25 follow");
    const std::string whole = file_with(kGood, 24);
    for (std::size_t n = 0; n < whole.size(); ++n) {
        EXPECT_EQ(parse(whole.substr(0, n)).code(), Code::Corrupt) << n << " bytes";
    }
}

TEST(Npy, OtherFormats) {
    EXPECT_EQ(parse("PK\3\4 an archive, not an array").message(),
              "the file does not start as an npy file does");
    EXPECT_EQ(parse(file_with(kGood, 24, 3)).message(),
              "npy version 3.0 is not supported; versions 1.0 and 2.0 are");
    std::string minor = file_with(kGood, 24);
    minor[7] = 1;
    EXPECT_EQ(parse(minor).message(), "npy version 1.1 is not supported; versions 1.0 and 2.0 are");
    EXPECT_EQ(parse(minor).code(), Code::Unsupported);
    for (const char* type : {"<f8", ">f4", ">f2", "|u1", "<i4", "|O", "<c8", "<V2", ""}) {
        const std::string header =
            std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (1,), }";
        EXPECT_EQ(parse(file_with(header, 4)).message(),
                  std::string("npy values of type '") + type +
                      "' are not supported; store little-endian float32 ('<f4') or float16 ('<f2')");
    }
    EXPECT_EQ(
        parse(file_with("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4)).message(),
        "npy values of a compound type are not supported; store float32 or float16");
    EXPECT_EQ(parse(file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24)).message(),
              "npy values in Fortran order are not supported; store them in C order");
}

TEST(Npy, HostileHeaders) {
    const auto message = [](const char* dictionary) { return parse(file_with(dictionary, 4)).message(); };
    EXPECT_EQ(message(""), "the npy header is not a dictionary");
    EXPECT_EQ(message("[1]"), "the npy header is not a dictionary");
    EXPECT_EQ(message("{"), "the npy header has no key where one should be");
    EXPECT_EQ(message("{descr: 1}"), "the npy header has no key where one should be");
    EXPECT_EQ(message("{'descr"), "the npy header has no key where one should be");
    EXPECT_EQ(message("{'descr' '<f4'}"), "the npy header has no key where one should be");
    EXPECT_EQ(message("{'evil': '<f4'}"), "the npy header has an unknown key 'evil'");
    EXPECT_EQ(message("{'descr': '<f4', 'descr': '<f4'}"), "the npy header has key 'descr' twice");
    EXPECT_EQ(message("{'descr': '<f4' 'shape': (1,)}"), "the npy header lacks a comma after key 'descr'");
    EXPECT_EQ(message("{'fortran_order': False, 'shape': (1,)}"), "the npy header lacks key 'descr'");
    EXPECT_EQ(message("{'descr': '<f4', 'shape': (1,)}"), "the npy header lacks key 'fortran_order'");
    EXPECT_EQ(message("{'descr': '<f4', 'fortran_order': False}"), "the npy header lacks key 'shape'");
    EXPECT_EQ(message("{'descr': '<f4', 'fortran_order': 0}"),
              "npy header key 'fortran_order' is neither True nor False");
    EXPECT_EQ(message("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os"),
              "the npy header goes on after its dictionary");
    EXPECT_EQ(message("{'shape': [1]}"), "npy header key 'shape' is not a tuple");
    EXPECT_EQ(message("{'shape': (-1,)}"), "npy header key 'shape' holds something that is not a length");
    EXPECT_EQ(message("{'shape': (1"), "npy header key 'shape' lacks a comma");
    EXPECT_EQ(message("{'shape': (1 2)}"), "npy header key 'shape' lacks a comma");
    EXPECT_EQ(message("{'shape': (99999999999999999999,)}"),
              "npy header key 'shape' holds something that is not a length");
    EXPECT_EQ(message("{'shape': (1,1,1,1,1,1,1,1,1)}"),
              "an npy array has more than the limit of 8 dimensions");
    EXPECT_EQ(message("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
              "an npy array's shape is larger than memory can be");
    EXPECT_EQ(message("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}"),
              "an npy array's shape is larger than memory can be");
    EXPECT_EQ(message("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}"),
              "the npy header announces 4398046511104 bytes of values, but 4 follow")
        << "and nothing was allocated for them";
    std::string huge = file_with(kGood, 24, 2);
    huge[8] = huge[9] = huge[10] = huge[11] = '\xff';
    EXPECT_EQ(parse(huge).message(), "an npy header of 4294967295 bytes is more than the limit of 65535");
    EXPECT_TRUE(parse(file_with("{'descr': '<f4', 'fortran_order': False, "
                                "'shape': (4294967296, 4294967296, 0)}",
                                0))
                    .ok())
        << "empty, whatever the other lengths are";
}

TEST(Npy, Files) {
    const std::string path = (std::filesystem::path(test::scratch_dir()) / "a.npy").string();
    const std::vector<std::size_t> shape = {2, 2};
    const std::vector<float> values = {1, 2, 3, 4};
    ASSERT_TRUE(write_npy(path, shape, values).ok());
    EXPECT_EQ(read_npy(path)->to_float32(), values);
    NpyLimits limits;
    limits.max_bytes = 100;
    EXPECT_EQ(read_npy(path, limits).status().code(), Code::TooLarge);
    EXPECT_EQ(read_npy(path + ".absent").status().code(), Code::NotFound);
    ASSERT_TRUE(write_file_atomic(path, "short").ok());
    EXPECT_NE(read_npy(path).status().message().find(": an npy file of 5 bytes is cut short"),
              std::string::npos);
}

}  // namespace
}  // namespace clasp::base
