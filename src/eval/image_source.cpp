// Where an item's picture comes from: a file of its own, or base64 text inside a data file.
#include "base/base64.h"
#include "base/file.h"
#include "base/text.h"
#include "eval/benchmark.h"

namespace clasp::eval {

namespace {

constexpr std::size_t kMaxImageBytes = std::size_t{256} << 20U;

Result<std::string> read_part(const EmbeddedImage& part) {
    if (part.length > kMaxImageBytes) {
        return Status(Code::TooLarge, "the picture in " + base::path_in_quotes(part.file) + " has " +
                                          std::to_string(part.length) + " bytes, more than the limit of " +
                                          std::to_string(kMaxImageBytes));
    }
    CLASP_ASSIGN_OR_RETURN(const base::InputFile file, base::InputFile::open(part.file));
    const auto length = static_cast<std::size_t>(part.length);
    CLASP_ASSIGN_OR_RETURN(std::string text, file.read(part.offset, length));
    if (text.size() != length) {
        return Status(Code::Corrupt,
                      base::path_in_quotes(part.file) + " ends inside a picture that it had before");
    }
    return text;
}

}  // namespace

Result<std::string> read_image(const Item& item) {
    if (!item.image.empty()) return base::read_file(item.image, kMaxImageBytes);
    if (item.embedded.length == 0) {
        return Status(Code::InvalidArgument, "question " + base::in_quotes(item.id) + " has no picture");
    }
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_part(item.embedded));
    auto bytes = base::decode_base64(text);
    if (!bytes) return bytes.status().with_context("the picture of question " + base::in_quotes(item.id));
    return bytes;
}

}  // namespace clasp::eval
