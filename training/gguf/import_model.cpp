#include "gguf/import_model.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "gguf/export_model.h"
#include "gguf/layout.h"
#include "gguf/reader.h"
#include "world/scene.h"

namespace clasp::training {
namespace {

// Far above any model that this trainer can train.
constexpr std::uint32_t kLargestExtent = 1U << 16U;

struct File {
    std::string path;
    GgufReader content;

    Status error(const Status& status) const { return status.with_context(path); }
    Status error(const std::string& message) const { return {Code::Corrupt, path + ": " + message}; }
};

Result<File> open(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return Status(Code::NotFound, "cannot read the model file " + path);
    std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    auto content = GgufReader::parse(std::move(bytes));
    if (!content) return content.status().with_context(path);
    return File{path, std::move(content).value()};
}

Status read_extent(const File& file, const std::string& key, int& into) {
    const auto value = file.content.number(key);
    if (!value) return file.error(value.status());
    if (*value < 1 || *value > kLargestExtent)
        return file.error(key + " is " + std::to_string(*value) + ", outside 1 to " +
                          std::to_string(kLargestExtent));
    into = static_cast<int>(*value);
    return {};
}

Result<ModelShape> read_shape(const File& text, const File& mmproj) {
    ModelShape shape;
    int pixels = 0;
    CLASP_RETURN_IF_ERROR(read_extent(text, "llama.embedding_length", shape.width));
    CLASP_RETURN_IF_ERROR(read_extent(text, "llama.block_count", shape.decoder_blocks));
    CLASP_RETURN_IF_ERROR(read_extent(text, "llama.feed_forward_length", shape.decoder_ffn));
    CLASP_RETURN_IF_ERROR(read_extent(text, "llama.attention.head_count", shape.heads));
    CLASP_RETURN_IF_ERROR(read_extent(text, "llama.vocab_size", shape.vocabulary));
    CLASP_RETURN_IF_ERROR(read_extent(mmproj, "clip.vision.image_size", pixels));
    CLASP_RETURN_IF_ERROR(read_extent(mmproj, "clip.vision.block_count", shape.vision_blocks));
    CLASP_RETURN_IF_ERROR(read_extent(mmproj, "clip.vision.feed_forward_length", shape.vision_ffn));
    shape.grid = pixels / world::kPatch;
    if (mmproj.content.number("clip.video.frame_count").ok())
        CLASP_RETURN_IF_ERROR(read_extent(mmproj, "clip.video.frame_count", shape.frames));
    if (shape.width % shape.heads != 0)
        return text.error("llama.embedding_length is not a multiple of llama.attention.head_count");
    return shape;
}

// Sizes that a damaged key claims must not ask for memory: the files hold two bytes or more per weight.
Status check_sizes(const ModelShape& shape, const File& text, const File& mmproj) {
    const double width = shape.width;
    const double decoder =
        (2.0 * shape.vocabulary + shape.decoder_blocks * (4 * width + 3.0 * shape.decoder_ffn)) * width;
    const double tower =
        (1.0 * shape.grid * shape.grid + shape.vision_blocks * (4 * width + 2.0 * shape.vision_ffn)) * width;
    const char* const message = "the sizes in its keys need more weights than the file holds";
    if (2 * decoder > static_cast<double>(text.content.bytes().size())) return text.error(message);
    if (2 * tower > static_cast<double>(mmproj.content.bytes().size())) return mmproj.error(message);
    return {};
}

Status read_tensors(const File& file, const std::vector<StoredTensor>& tensors, ParamStore& store) {
    for (const StoredTensor& tensor : tensors) {
        const auto values = file.content.tensor(tensor.name, tensor.shape);
        if (!values) return file.error(values.status());
        std::ranges::copy(*values, store.value(tensor.param) + tensor.first);
    }
    return {};
}

}  // namespace

Result<ImportedModel> import_model(const std::string& folder, const std::string& name) {
    const auto text = open(text_path(folder, name));
    if (!text) return text.status();
    const auto mmproj = open(mmproj_path(folder, name));
    if (!mmproj) return mmproj.status();
    const auto shape = read_shape(*text, *mmproj);
    if (!shape) return shape.status();
    CLASP_RETURN_IF_ERROR(check_sizes(*shape, *text, *mmproj));
    auto tokens = text->content.texts("tokenizer.ggml.tokens");
    if (!tokens) return text->error(tokens.status());
    auto merges = text->content.texts("tokenizer.ggml.merges");
    if (!merges) return text->error(merges.status());
    if (std::cmp_not_equal(tokens->size(), shape->vocabulary))
        return text->error("llama.vocab_size is not the number of tokens");

    ImportedModel imported;
    imported.vocabulary = Vocabulary::load(std::move(tokens).value(), std::move(merges).value());
    imported.model = std::make_unique<Model>(*shape);
    ParamStore& store = imported.model->store();
    CLASP_RETURN_IF_ERROR(read_tensors(*text, text_tensors(*shape, store), store));
    CLASP_RETURN_IF_ERROR(read_tensors(*mmproj, vision_tensors(*shape, store), store));
    const char* const strange = "the file holds something that this trainer would not export";
    if (text_file(*imported.model, imported.vocabulary).bytes() != text->content.bytes())
        return text->error(strange);
    if (mmproj_file(*imported.model).bytes() != mmproj->content.bytes()) return mmproj->error(strange);
    return imported;
}

}  // namespace clasp::training
