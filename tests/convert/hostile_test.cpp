// Files that are not as they should be: each is refused with one sentence that names the file and what is
// wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/file.h"
#include "convert/pickle_reader.h"
#include "convert/safetensors_reader.h"
#include "convert/torch_file.h"
#include "convert/vocabulary.h"
#include "made_files.h"
#include "one_sentence.h"
#include "support/paths.h"

namespace clasp {
namespace {

using namespace test;
using convert::MemorySource;
using testing::HasSubstr;

struct HostileCase {
    const char* name;
    std::string bytes;
    const char* sentence;
};

std::string head_and_data(const std::string& head, std::size_t n_data = 16) {
    return safetensors_of_head(head, std::string(n_data, '\x01'));
}

std::string entry(const std::string& fields) {
    return R"({"a":{)" + fields + "}}";
}

std::string with_length(std::uint64_t length, const std::string& rest) {
    std::string out;
    put_number(out, length);
    return out + rest;
}

constexpr const char* kFour = R"("a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]})";

TEST(Hostile, HeadsOfSafetensors) {
    const std::vector<HostileCase> cases = {
        {"empty", "", "less than the 8"},
        {"seven bytes", std::string(7, '\0'), "less than the 8"},
        {"no head", std::string(8, '\0'), "does not begin with {"},
        {"a head beyond the end", with_length(100, "{}"), "is said to have 100 bytes"},
        {"a head of all bits", with_length(~std::uint64_t{0}, "{}"), "is said to have"},
        {"a head of 33 MB", with_length(33U << 20U, std::string(33U << 20U, ' ')), "the limit is"},
        {"a list", head_and_data("[1,2]"), "does not begin with {"},
        {"spaces in front", head_and_data(" {}"), "does not begin with {"},
        {"something behind", head_and_data("{}x"), "ends with something else"},
        {"a line break behind", head_and_data("{}\n"), "ends with something else"},
        {"no JSON", head_and_data("{a}"), "its head"},
        {"not UTF-8", head_and_data("{\"\xff\":1}"), "its head"},
        {"cut", head_and_data(R"({"a":{"dtype":)"), "its head"},
        {"a name twice", head_and_data("{" + std::string(kFour) + "," + kFour + "}"), "twice"},
        {"too deep", head_and_data(R"({"a":{"b":{"c":{"d":{"e":1}}}}})"), "its head"},
        {"a number for a tensor", head_and_data(R"({"a":1})"), "alone"},
        {"no dtype", head_and_data(entry(R"("x":1,"shape":[4],"data_offsets":[0,16])")), "has no dtype"},
        {"another field", head_and_data(entry(R"("dtype":"F32","shape":[4],"data_offsets":[0,16],"x":1)")),
         "alone"},
        {"a dtype that is no text", head_and_data(entry(R"("dtype":4,"shape":[4],"data_offsets":[0,16])")),
         "no dtype"},
        {"an unknown dtype", head_and_data(entry(R"("dtype":"F31","shape":[4],"data_offsets":[0,16])")),
         "'F31'"},
        {"no shape", head_and_data(entry(R"("dtype":"F32","y":[4],"data_offsets":[0,16])")), "no list shape"},
        {"a shape that is a number", head_and_data(entry(R"("dtype":"F32","shape":4,"data_offsets":[0,16])")),
         "list shape"},
        {"a negative extent", head_and_data(entry(R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])")),
         "whole numbers"},
        {"half an extent", head_and_data(entry(R"("dtype":"F32","shape":[4.5],"data_offsets":[0,16])")),
         "whole numbers"},
        {"an extent as text", head_and_data(entry(R"("dtype":"F32","shape":["4"],"data_offsets":[0,16])")),
         "whole numbers"},
        {"an extent of 2^70",
         head_and_data(entry(R"("dtype":"F32","shape":[1180591620717411303424],"data_offsets":[0,16])")),
         "whole numbers"},
        {"extents whose product wraps to 4",
         head_and_data(entry(R"("dtype":"F32","shape":[4294967296,4294967297],"data_offsets":[0,16])")),
         "2^64"},
        {"bytes that wrap",
         head_and_data(entry(R"("dtype":"F32","shape":[4611686018427387908],"data_offsets":[0,16])")),
         "2^64"},
        {"nine dimensions",
         head_and_data(entry(R"("dtype":"F32","shape":[4,1,1,1,1,1,1,1,1],"data_offsets":[0,16])")),
         "8 dimensions"},
        {"one offset", head_and_data(entry(R"("dtype":"F32","shape":[4],"data_offsets":[0])")),
         "two data_offsets"},
        {"three offsets", head_and_data(entry(R"("dtype":"F32","shape":[4],"data_offsets":[0,16,16])")),
         "two data_offsets"},
        {"offsets turned round", head_and_data(entry(R"("dtype":"F32","shape":[4],"data_offsets":[16,0])")),
         "outside"},
        {"an end beyond the data", head_and_data(entry(R"("dtype":"F32","shape":[8],"data_offsets":[0,32])")),
         "outside"},
        {"an end of all bits",
         head_and_data(entry(R"("dtype":"F32","shape":[4],"data_offsets":[0,18446744073709551615])")),
         "outside"},
        {"too few bytes", head_and_data(entry(R"("dtype":"F32","shape":[5],"data_offsets":[0,16])")),
         "not 20"},
        {"too many bytes", head_and_data(entry(R"("dtype":"F16","shape":[4],"data_offsets":[0,16])")),
         "not 8"},
        {"a hole in front", head_and_data(entry(R"("dtype":"F32","shape":[3],"data_offsets":[4,16])")),
         "belong to no tensor"},
        {"a hole behind", head_and_data(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,12])")),
         "belong to no tensor"},
        {"data without tensors", head_and_data("{}"), "belong to no tensor"},
        {"two over each other",
         head_and_data(
             R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"),
         "overlaps"},
        {"two in the same place",
         head_and_data("{" + std::string(kFour) +
                       R"(,"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
         "overlaps"},
        {"no name", head_and_data(R"({"":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
         "name of a tensor"},
        {"a long name",
         head_and_data("{\"" + std::string(1025, 'n') +
                       R"(":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
         "name of a tensor"},
        {"metadata that is text", head_and_data(R"({"__metadata__":"x"})"), "__metadata__"},
        {"metadata with a number", head_and_data(R"({"__metadata__":{"x":1}})"), "__metadata__"},
    };
    EXPECT_GE(cases.size(), 45U);
    for (const HostileCase& hostile : cases) {
        SCOPED_TRACE(hostile.name);
        const MemorySource source("a.safetensors", hostile.bytes);
        const auto tensors = convert::read_safetensors(source);
        expect_sentence(tensors.status(), hostile.sentence);
        EXPECT_THAT(tensors.status().message(), HasSubstr("a.safetensors"));
    }
}

TEST(Hostile, SoundHeadsAreRead) {
    const std::string bytes =
        made_safetensors({{.name = "a", .dtype = "F32", .shape = {2, 2}, .data = std::string(16, 'x')},
                          {.name = "none", .dtype = "F16", .shape = {0, 4}, .data = ""},
                          {.name = "one", .dtype = "BF16", .shape = {}, .data = "yy"}});
    const MemorySource source("a.safetensors", bytes);
    const auto tensors = convert::read_safetensors(source);
    ASSERT_TRUE(tensors.ok()) << tensors.status().message();
    ASSERT_EQ(tensors->size(), 3U);
    EXPECT_EQ(tensors->front().n_elements(), 4U);
    EXPECT_EQ(bytes.substr(tensors->back().offset, 2), "yy");
}

const std::vector<MadeTensor>& two_tensors() {
    static const std::vector<MadeTensor> tensors = {
        {.name = "a", .dtype = "F32", .shape = {2, 2}, .data = std::string(16, 'x')},
        {.name = "b", .dtype = "BF16", .shape = {3}, .data = std::string(6, 'y')}};
    return tensors;
}

std::string archive_with(const std::function<void(MadeZip&)>& change) {
    MadeZip zip = made_archive(two_tensors());
    change(zip);
    return zip.bytes();
}

TEST(Hostile, ZipArchives) {
    const std::string sound = archive_with([](MadeZip&) {});
    const std::vector<HostileCase> cases = {
        {"empty", "", "too short"},
        {"a text", "hello, I am no checkpoint at all, only some words", "no zip archive"},
        {"an old file of PyTorch",
         std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15), "before 1.6"},
        {"cut", sound.substr(0, sound.size() - 30), "no end of a zip archive"},
        {"cut in half", sound.substr(0, sound.size() / 2), "no end of a zip archive"},
        {"something behind", sound + "x", "no end of a zip archive"},
        {"a compressed entry", archive_with([](MadeZip& zip) { zip.entries[2].method = 8; }), "compressed"},
        {"an encrypted entry", archive_with([](MadeZip& zip) { zip.entries[2].flags = 1; }), "encrypted"},
        {"a path upwards",
         archive_with([](MadeZip& zip) { zip.entries[1].name = "archive/../../etc/passwd"; }), "plain path"},
        {"a path from the root", archive_with([](MadeZip& zip) { zip.entries[1].name = "/etc/passwd"; }),
         "plain path"},
        {"a backslash", archive_with([](MadeZip& zip) { zip.entries[1].name = "archive\\x"; }), "plain path"},
        {"a zero byte", archive_with([](MadeZip& zip) { zip.entries[1].name = std::string("a\0b", 3); }),
         "plain path"},
        {"a folder", archive_with([](MadeZip& zip) { zip.entries[1].name = "archive/x/"; }), "plain path"},
        {"an entry twice", archive_with([](MadeZip& zip) { zip.entries[3].name = zip.entries[2].name; }),
         "appears twice"},
        {"another name inside",
         archive_with([](MadeZip& zip) { zip.entries[2].local_name = "archive/data/9"; }), "otherwise"},
        {"a longer name inside",
         archive_with([](MadeZip& zip) { zip.entries[2].local_name = "archive/data/99"; }), "otherwise"},
        {"a size beyond the end", archive_with([](MadeZip& zip) { zip.entries[2].size_error = 1U << 20U; }),
         "two sizes"},
        {"a long size", archive_with([](MadeZip& zip) {
             zip.is_64 = true;
             zip.entries[2].size_error = std::uint64_t{1} << 63U;
         }),
         "two sizes"},
        {"a place elsewhere", archive_with([](MadeZip& zip) { zip.entries[2].place_error = 7; }),
         "not where the table says"},
        {"a place beyond the end", archive_with([](MadeZip& zip) { zip.entries[2].place_error = 1U << 24U; }),
         "outside"},
        {"a long place", archive_with([](MadeZip& zip) {
             zip.is_64 = true;
             zip.entries[2].place_error = ~std::uint64_t{0} >> 1U;
         }),
         "outside"},
        {"a table beyond the end", archive_with([](MadeZip& zip) { zip.table_error = 1U << 24U; }),
         "table of entries lies outside"},
        {"a long table beyond the end", archive_with([](MadeZip& zip) {
             zip.is_64 = true;
             zip.table_error = ~std::uint64_t{0} - 5000;
         }),
         "table of entries lies outside"},
        {"a table that is none", archive_with([](MadeZip& zip) { zip.table_error = ~std::uint64_t{3}; }),
         "table of entries"},
        {"more entries than there are", archive_with([](MadeZip& zip) { zip.count_error = 3; }),
         "ends early"},
        {"fewer entries", archive_with([](MadeZip& zip) { zip.count_error = ~std::uint64_t{0}; }),
         "longer than its entries"},
        {"entries without end", archive_with([](MadeZip& zip) {
             zip.is_64 = true;
             zip.count_error = std::uint64_t{1} << 40U;
         }),
         "the limits are"},
        {"no pickle", archive_with([](MadeZip& zip) { zip.entries[0].name = "archive/other.pkl"; }),
         "without data.pkl"},
        {"two pickles", archive_with([](MadeZip& zip) { zip.entries[4].name = "other/data.pkl"; }),
         "two checkpoints"},
        {"numbers of big machines", archive_with([](MadeZip& zip) { zip.entries[1].data = "big"; }),
         "byte order"},
        {"a long byte order", archive_with([](MadeZip& zip) { zip.entries[1].data = std::string(100, 'l'); }),
         "byteorder"},
        {"no storage", archive_with([](MadeZip& zip) { zip.entries[2].name = "archive/data/7"; }),
         "is not there"},
        {"a short storage", archive_with([](MadeZip& zip) { zip.entries[2].data.resize(12); }),
         "has 12 bytes"},
        {"a long storage", archive_with([](MadeZip& zip) { zip.entries[2].data.resize(20); }),
         "has 20 bytes"},
        {"an odd storage", archive_with([](MadeZip& zip) { zip.entries[2].data.resize(15); }),
         "has 15 bytes"},
    };
    EXPECT_GE(cases.size(), 33U);
    for (const HostileCase& hostile : cases) {
        SCOPED_TRACE(hostile.name);
        const MemorySource source("a.bin", hostile.bytes);
        const auto file = convert::read_torch_file(source);
        expect_sentence(file.status(), hostile.sentence);
        EXPECT_THAT(file.status().message(), HasSubstr("a.bin"));
    }
}

TEST(Hostile, SoundArchivesAreRead) {
    for (const bool is_64 : {false, true}) {
        for (const bool is_ordered : {false, true}) {
            MadeZip zip = made_archive(two_tensors(), is_ordered);
            zip.is_64 = is_64;
            zip.comment = "written by a test";
            // As PyTorch sets them: names in UTF-8, sizes behind the data.
            for (MadeEntry& entry : zip.entries) entry.flags = is_ordered ? 0x808 : 0;
            const std::string bytes = zip.bytes();
            const MemorySource source("a.bin", bytes);
            const auto file = convert::read_torch_file(source);
            ASSERT_TRUE(file.ok()) << file.status().message();
            ASSERT_EQ(file->tensors.size(), 2U);
            EXPECT_EQ(bytes.substr(file->tensors[1].offset, 6), "yyyyyy");
        }
    }
}

// Made by the pickle module of Python, whose instructions differ from those above in what is stored and
// fetched.
TEST(Hostile, ArchivesOfPythonsOwnPicklesAreRead) {
    for (const std::string name : {"ordered.bin", "dictionary.bin"}) {
        const auto bytes =
            base::read_file(std::string(source_dir()) + "/fuzz/seeds/torch_file/" + name, 1U << 20U);
        ASSERT_TRUE(bytes.ok()) << bytes.status().message();
        const MemorySource source(name, *bytes);
        const auto file = convert::read_torch_file(source);
        ASSERT_TRUE(file.ok()) << file.status().message();
        ASSERT_EQ(file->tensors.size(), 4U);
        EXPECT_EQ(file->tensors[0].name, "a.weight");
        // Its storage is shared with the first tensor, of which it is the second half.
        EXPECT_EQ(file->tensors[1].offset, file->tensors[0].offset + 12);
        EXPECT_EQ(file->tensors[3].n_elements(), 300U);
        EXPECT_EQ(bytes->substr(file->tensors[3].offset, 600), std::string(600, '\x02'));
    }
}

// A pickle whose only tensor was changed.
std::string changed(const std::string& from, const std::string& to) {
    std::string pickle = made_pickle({two_tensors()[0]}, false);
    const auto at = pickle.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return pickle.replace(at, from.size(), to);
}

std::string in_archive(const std::string& pickle) {
    return archive_with([&](MadeZip& zip) { zip.entries[0].data = pickle; });
}

TEST(Hostile, Pickles) {
    const std::string start = "\x80\x02";
    std::string many = start + "}(";
    for (int i = 0; i < 600000; ++i) many += ")";
    std::string deep = start;
    for (int i = 0; i < 100000; ++i) deep += "N\x85";
    std::string open_marks = start;
    open_marks.append(600000, '(');
    std::string doubling = start + "]q";
    doubling.push_back('\0');
    for (int i = 0; i < 100000; ++i) doubling += std::string("h\0h\0\x86", 5);
    const std::vector<HostileCase> cases = {
        {"empty", "", "without the instruction to stop"},
        {"no stop", start + "}", "without the instruction to stop"},
        {"nothing to stop with", start + ".", "does not end with one value"},
        {"two values", start + "}}.", "does not end with one value"},
        {"something behind", start + "}..", "something follows"},
        {"protocol 4", std::string("\x80\x04}.", 4), "protocol is 4"},
        {"a system call", start + "cos\nsystem\n" + pickle_text("touch /tmp/x") + "\x85R.", "'os.system'"},
        {"posix", start + "cposix\nsystem\n" + pickle_text("id") + "\x85R.", "'posix.system'"},
        {"builtins", start + "cbuiltins\neval\n" + pickle_text("1") + "\x85R.", "'builtins.eval'"},
        {"a lookalike", start + "ctorch._utils\n_rebuild_tensor_v3\n)R.", "_rebuild_tensor_v3"},
        {"a dotted name", start + "ctorch\nserialization.os.system\n)R.", "which is no part"},
        {"an untyped storage", start + "ctorch.storage\nUntypedStorage\n)R.", "UntypedStorage"},
        {"an unknown storage", start + "ctorch\nQInt8Storage\n)R.", "QInt8Storage"},
        {"numpy", start + "cnumpy.core.multiarray\n_reconstruct\n)R.", "_reconstruct"},
        {"a module", start + "ctorch.nn.modules.linear\nLinear\n)\x81.", "Linear"},
        {"an endless class", start + "c" + std::string(5000, 'x'), "does not end"},
        {"STACK_GLOBAL", start + "\x93.", "0x93"},
        {"INST", start + "(ios\nsystem\n.", "0x69"},
        {"OBJ", start + "(o.", "0x6f"},
        {"NEWOBJ", start + ")\x81.", "0x81"},
        {"EXT1", start + "\x82\x01.", "0x82"},
        {"PERSID", start + "Pabc\n.", "0x50"},
        {"a string with quotes", start + "S'x'\n.", "0x53"},
        {"BYTEARRAY8", start + "\x96.", "0x96"},
        {"a text beyond the end", start + std::string("X\xff\xff\xff\x7f", 5) + "a.",
         "middle of an instruction"},
        {"a number beyond the end", start + "J\x01", "middle of an instruction"},
        {"a number of 200 bytes", start + "\x8a\xc8.", "200 bytes"},
        {"a mark that is missing", start + "}u.", "lacks its mark"},
        {"a key without value", start + "}(" + pickle_text("a") + "u.", "key without a value"},
        {"an item without list", start + "}K\x01\x61.", "needs a list"},
        {"a value that is missing", start + "}s.", "lacks a value"},
        {"a value behind a mark", start + "}K\x01(s.", "lacks a value"},
        {"nothing stored", start + "h\x05.", "did not store"},
        {"a call of a number", start + "K\x01)R.", "no class"},
        {"a call without tuple", start + "ccollections\nOrderedDict\nK\x01R.", "no class"},
        {"a filled OrderedDict", start + "ccollections\nOrderedDict\n]\x85R.", "in a way"},
        {"a storage class that is called", start + "ctorch\nFloatStorage\nK\x01\x85R.", "in a way"},
        {"a state of a number", start + "}K\x01\x62.", "no dictionary"},
        {"a state of a list", start + "]}b.", "needs a dictionary"},
        {"an id that is text", start + pickle_text("storage") + "Q.", "no tuple"},
        {"too many values", many + "u.", "values"},
        {"too many marks", open_marks + ".", "marks"},
        {"very deep", deep + ".", "does not end with one value"},
        {"doubled again and again", doubling + ".", "does not end with one value"},
        {"a list", start + "].", "dictionary of tensors"},
        {"a number in the dictionary", start + "}" + pickle_text("a") + "K\x01s.", "no tensor"},
        {"a dictionary in the dictionary", start + "}" + pickle_text("model") + "}s.", "no tensor"},
        {"a number as name", start + "}K\x01K\x01s.", "name"},
        {"no name", changed(pickle_text("a"), pickle_text("")), "name"},
        {"a name twice",
         start + "}" + pickle_text("a") + pickle_tensor(two_tensors()[0], "0") + "s" + pickle_text("a") +
             pickle_tensor(two_tensors()[0], "0") + "s.",
         "twice"},
        {"a storage of another kind", changed(pickle_text("storage"), pickle_text("module")),
         "not described"},
        {"a storage upwards", changed(pickle_text("0"), pickle_text("../../etc/passwd")),
         "storage of the name"},
        {"a storage without name", changed(pickle_text("0"), pickle_text("")), "storage of the name"},
        {"a storage that is too short", changed("K\x02K\x02t(", "K\x02K\x03t("), "reaches beyond"},
        {"a size of 2^60", changed("(K\x02K\x02t(", "(" + pickle_int(std::uint64_t{1} << 60U) + "K\x02t("),
         "reaches beyond"},
        {"sizes that wrap",
         changed("(K\x02K\x02t(",
                 "(" + pickle_int(std::uint64_t{1} << 62U) + pickle_int(std::uint64_t{1} << 62U) + "t("),
         "reaches beyond"},
        {"a negative size", changed("(K\x02K\x02t(", std::string("(J\xfe\xff\xff\xff") + "K\x02t("),
         "whole numbers"},
        {"a size that is text", changed("(K\x02K\x02t(", "(" + pickle_text("2") + "K\x02t("),
         "whole numbers"},
        {"transposed", changed("K\x02K\x01t\x89", "K\x01K\x02t\x89"), "transposed"},
        {"other strides than sizes", changed("K\x02K\x01t\x89", "K\x01t\x89"), "not described"},
        {"four parts",
         changed("t\x89"
                 "ccollections\nOrderedDict\n)Rt",
                 "tt"),
         "parts"},
    };
    EXPECT_GE(cases.size(), 60U);
    for (const HostileCase& hostile : cases) {
        SCOPED_TRACE(hostile.name);
        const std::string bytes = in_archive(hostile.bytes);
        const MemorySource source("a.bin", bytes);
        const auto file = convert::read_torch_file(source);
        expect_sentence(file.status(), hostile.sentence);
        EXPECT_THAT(file.status().message(), HasSubstr("a.bin"));
    }
}

TEST(Hostile, RefusedPicklesSayWhatToDo) {
    const auto refused = convert::read_pickle(
        "\x80\x02"
        "cos\nsystem\n)R.");
    EXPECT_THAT(refused.status().message(), HasSubstr("save the checkpoint as safetensors"));
    EXPECT_EQ(refused.status().code(), Code::Unsupported);
}

TEST(Hostile, VocabulariesOfSentencePiece) {
    const std::string piece = std::string(
                                  "\x0a\x08\x0a\x01"
                                  "a\x15\x00\x00\x00\x00",
                                  10) +
                              std::string("\x12\x02\x18\x02", 4);
    ASSERT_TRUE(convert::read_sentencepiece(piece).ok())
        << convert::read_sentencepiece(piece).status().message();
    const std::vector<HostileCase> cases = {
        {"empty", "", "no pieces"},
        {"a text", "this is no vocabulary", "SentencePiece"},
        {"cut", piece.substr(0, 5), "beyond the end"},
        {"an endless number", std::string(20, '\xff'), "64 bits"},
        {"a length of all bits", std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),
         "beyond the end"},
        {"groups", std::string("\x0b", 1), "kind 3"},
        {"an empty piece", std::string("\x0a\x02\x0a\x00", 4), "piece 0 has 0 bytes"},
        {"a piece that is not UTF-8", std::string("\x0a\x03\x0a\x01\xff", 5), "not UTF-8"},
        {"a type 9",
         std::string("\x0a\x05\x0a\x01"
                     "a\x18\x09",
                     7),
         "type 9"},
        {"unigrams",
         std::string("\x0a\x03\x0a\x01"
                     "a\x12\x02\x18\x01",
                     9),
         "kind 1"},
        {"no training",
         std::string("\x0a\x03\x0a\x01"
                     "a",
                     5),
         "how it was trained"},
    };
    for (const HostileCase& hostile : cases) {
        SCOPED_TRACE(hostile.name);
        expect_sentence(convert::read_sentencepiece(hostile.bytes).status(), hostile.sentence);
    }
}

}  // namespace
}  // namespace clasp
