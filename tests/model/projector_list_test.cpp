// Every type of projector that the pinned libmtmd knows is a family of ours, encoded by libmtmd, or refused
// with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "model/foreign_projectors.h"
#include "model/gguf_reader.h"
#include "model/text_family.h"
#include "model/vision_mtmd.h"
#include "model/vision_tower.h"
#include "support/gguf_writer.h"
#include "support/paths.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using testing::HasSubstr;

// The names in its own table, which is the text of a header.
std::set<std::string> names_of_libmtmd() {
    std::ifstream file(std::string(test::llama_source_dir()) + "/tools/mtmd/clip-impl.h");
    std::ostringstream text;
    text << file.rdbuf();
    const std::string header = text.str();
    const std::size_t begin = header.find("PROJECTOR_TYPE_NAMES = {");
    if (begin == std::string::npos) return {};
    const std::string table = header.substr(begin, header.find("};", begin) - begin);
    const std::regex entry(R"re(\{\s*PROJECTOR_TYPE_\w+\s*,\s*"([^"]+)"\s*\})re");
    std::set<std::string> names;
    for (std::sregex_iterator it(table.begin(), table.end(), entry), end; it != end; ++it) {
        names.insert((*it)[1].str());
    }
    return names;
}

std::string refusal_of(const std::string& type) {
    test::GgufWriter writer;
    writer.string("general.architecture", "clip");
    writer.flag("clip.has_vision_encoder", true);
    writer.string("clip.projector_type", type);
    std::ostringstream out;
    writer.write(out);
    const std::string file = out.str();
    const auto reader = GgufReader::parse(test::bytes_of(file));
    EXPECT_TRUE(reader.ok());
    return reader.ok() ? open_vision_tower(*reader).status().message() : "";
}

TEST(ProjectorList, EveryNameOfLibmtmdIsOursEncodedByItOrRefusedWithAReason) {
    const std::set<std::string> names = names_of_libmtmd();
    ASSERT_GT(names.size(), 50U);
    const std::vector<std::string_view> ours = supported_projector_types();
    for (const std::string& name : names) {
        const bool is_ours = std::find(ours.begin(), ours.end(), name) != ours.end();
        const std::string why = why_foreign(name);
        EXPECT_EQ(int{is_ours} + int{is_mtmd_projector(name)} + int{!why.empty()}, 1) << name;
        if (!why.empty()) {
            EXPECT_THAT(refusal_of(name), HasSubstr(name + " is not supported, because " + why));
        }
    }
    // And nothing is listed that it does not know.
    for (const ForeignProjector& foreign : foreign_projectors()) {
        EXPECT_TRUE(names.contains(std::string(foreign.projector_type))) << foreign.projector_type;
    }
    for (const std::string_view type : mtmd_projector_types()) {
        EXPECT_TRUE(names.contains(std::string(type))) << type;
    }
}

// The reason must be true: as soon as a decoder is there, its projectors have to be read.
TEST(ProjectorList, NoDecoderOfAReasonIsHere) {
    for (const ForeignProjector& foreign : foreign_projectors()) {
        EXPECT_EQ(find_text_family(foreign.decoder), nullptr) << foreign.projector_type;
    }
}

}  // namespace
}  // namespace clasp::model
