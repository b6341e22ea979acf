#include "model/vision_mtmd.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "model/gguf_metadata.h"
#include "model/mtmd_library.h"
#include "model/text_family.h"
#include "model/vision_clip_file.h"

namespace clasp::model {

namespace {

constexpr std::int64_t kMaxMtmdWidth = 1 << 17;

// Kinds whose decoders are in the table of text_family.cpp.
struct MtmdKind {
    std::string_view projector_type;
    const char* width_tensor;  // one extent of it is the width of a token
    std::size_t axis;
    std::size_t merge;  // patches per side of a token
    bool is_square;     // pictures become a square of tokens
};
constexpr std::array kMtmdKinds = {
    MtmdKind{"ldp", "mm.model.mb_block.1.block.2.1.bias", 0, 2, true},  // MobileVLM
    MtmdKind{"ldpv2", "mm.model.peg.0.bias", 0, 2, true},
    MtmdKind{"janus_pro", "mm.1.bias", 0, 1, true},
    MtmdKind{"pixtral", "mm.2.weight", 1, 1, false},
    MtmdKind{"lightonocr", "mm.2.weight", 1, 1, false},
    MtmdKind{"phi4", "mm.2.weight", 1, 1, false},
    MtmdKind{"dots_ocr", "mm.2.weight", 1, 2, false},
    MtmdKind{"resampler", "resampler.proj.weight", 0, 1, false},  // MiniCPM-V
    MtmdKind{"step3vl", "mm.model.fc.weight", 1, 4, true},        // larger pictures have tiles, squares too
    MtmdKind{"yasa2", "mm.2.weight", 1, 16, true},  // Reka Edge: 8 x 8 means of what four stages leave
};

const MtmdKind* find_kind(std::string_view type) {
    for (const MtmdKind& kind : kMtmdKinds) {
        if (kind.projector_type == type) return &kind;
    }
    return nullptr;
}

// The last line that libmtmd complained with, for messages. It has one place for all its users.
struct Complaint {
    std::mutex mutex;
    std::string line;
};

Complaint& complaint() {
    static Complaint last;
    return last;
}

void note_complaint(ggml_log_level level, const char* text, void* /*user*/) {
    if (level != GGML_LOG_LEVEL_ERROR) return;
    const std::lock_guard lock(complaint().mutex);
    complaint().line = base::printable(text);
}

std::string last_complaint() {
    const std::lock_guard lock(complaint().mutex);
    return complaint().line.empty() ? "it does not say why" : complaint().line;
}

class MtmdTower final : public VisionTower {
   public:
    ~MtmdTower() override {
        if (context_ != nullptr) library_->free(context_);
    }
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader, const MtmdKind& kind);

    [[nodiscard]] const VisionInfo& info() const override { return info_; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& /*store*/) override {}
    [[nodiscard]] bool is_outside() const override { return true; }
    Status attach(const OutsideModel& model) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    [[nodiscard]] Result<std::vector<PiecePixels>> preprocess(const Image& picture, const VisionPlan& plan,
                                                              Compat compat) const override;
    [[nodiscard]] Result<std::vector<float>> pixel_values(const Image& part, Compat compat) const override;
    [[nodiscard]] Result<std::vector<float>> encode_outside(const PiecePixels& piece) const override;
    EncoderGraph build_encoder(ggml_context* /*context*/, ggml_cgraph* /*graph*/,
                               const PiecePixels& /*piece*/,
                               const EncodeRequest& /*request*/) const override {
        CLASP_CHECK(false && "libmtmd has no graph here");
        return {};
    }
    // The tokens are projected already.
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& /*shape*/,
                                   Compat /*compat*/) const override {
        return {.inputs = {}, .tokens = ggml_cont(context, fused)};
    }
    [[nodiscard]] std::size_t max_nodes() const override { return 64; }

   private:
    struct FreeChunks {
        const MtmdLibrary* library;
        void operator()(MtmdChunks* chunks) const { library->input_chunks_free(chunks); }
    };
    using Chunks = std::unique_ptr<MtmdChunks, FreeChunks>;

    // rgb may be null. The mutex is held.
    [[nodiscard]] Result<Chunks> chunks_of(PixelSize size, const unsigned char* rgb) const;
    [[nodiscard]] Result<std::string> text_of(const MtmdChunk* chunk) const;
    [[nodiscard]] Grid grid_of(const MtmdChunk* chunk) const;

    const MtmdKind* kind_ = nullptr;
    VisionInfo info_;
    std::vector<WeightSpec> specs_;  // none: libmtmd loads them
    const MtmdLibrary* library_ = nullptr;
    MtmdContext* context_ = nullptr;
    const llama_vocab* vocabulary_ = nullptr;
    bool images_see_both_ways_ = false;
    mutable std::mutex mutex_;  // one caller at a time in the context
};

Result<std::unique_ptr<VisionTower>> MtmdTower::open(const GgufReader& reader, const MtmdKind& kind) {
    auto tower = std::make_unique<MtmdTower>();
    tower->kind_ = &kind;
    VisionInfo& info = tower->info_;
    const auto size = [&](const char* key, std::int64_t max) -> Result<std::size_t> {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, read_integer(reader, key, 1, max));
        return static_cast<std::size_t>(value);
    };
    CLASP_ASSIGN_OR_RETURN(info.image_size, size("clip.vision.image_size", 1 << 14));
    CLASP_ASSIGN_OR_RETURN(info.patch_size,
                           size("clip.vision.patch_size", static_cast<std::int64_t>(info.image_size)));
    const GgufTensor* last = reader.find_tensor(kind.width_tensor);
    if (last == nullptr) {
        return Status(Code::Corrupt, "tensor " + std::string(kind.width_tensor) + " is missing");
    }
    if (last->shape[kind.axis] > kMaxMtmdWidth) {
        return Status(Code::Corrupt, "tensor " + std::string(kind.width_tensor) + " makes tokens of width " +
                                         std::to_string(last->shape[kind.axis]) + "; the limit is " +
                                         std::to_string(kMaxMtmdWidth));
    }
    info.family = "libmtmd";
    info.projector_type = kind.projector_type;
    info.words.after = "";
    info.exactness = "the tower is llama.cpp's own";
    info.note =
        "libmtmd encodes pictures for files of this kind: no vision layers are mixed, and numbers are "
        "llama.cpp's";
    info.output_width = static_cast<std::size_t>(last->shape[kind.axis]);
    info.width = info.projector_width = info.output_width;
    info.n_blocks = info.n_heads = 1;
    // Elsewhere it depends on the picture.
    const std::size_t side =
        kind.is_square ? std::max<std::size_t>(info.image_size / info.patch_size / kind.merge, 1) : 1;
    info.grid = {.height = side, .width = side};
    for (const GgufTensor& tensor : reader.tensors()) {
        std::size_t count = 1;
        for (const std::int64_t n : tensor.shape) count *= static_cast<std::size_t>(n);
        info.n_parameters += count;
        if (tensor.n_dims == 2) info.weight_type = ggml_type_name(tensor.type);
    }
    return std::unique_ptr<VisionTower>(std::move(tower));
}

Status MtmdTower::attach(const OutsideModel& model) {
    if (model.path.empty() || model.text == nullptr) {
        return {Code::Unsupported, "a vision file that libmtmd reads needs its path and a text model"};
    }
    CLASP_ASSIGN_OR_RETURN(library_, mtmd_library());
    library_->log_set(note_complaint, nullptr);
    std::array<char, 64> architecture = {};
    llama_model_meta_val_str(model.text, "general.architecture", architecture.data(), architecture.size());
    const TextFamily* family = find_text_family(architecture.data());
    images_see_both_ways_ = family != nullptr && family->images_see_both_ways;
    vocabulary_ = llama_model_get_vocab(model.text);
    MtmdParameters parameters = library_->context_params_default();
    parameters.use_gpu = false;
    parameters.print_timings = false;
    parameters.n_threads = static_cast<int>(model.n_threads);
    parameters.warmup = false;
    parameters.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    context_ = library_->init_from_file(model.path.c_str(), model.text, parameters);
    if (context_ == nullptr) return {Code::Unsupported, "libmtmd refuses the file: " + last_complaint()};
    if (!library_->support_vision(context_)) return {Code::Unsupported, "libmtmd sees no pictures with it"};
    return ok_status();
}

Result<MtmdTower::Chunks> MtmdTower::chunks_of(PixelSize size, const unsigned char* rgb) const {
    if (context_ == nullptr) {
        return Status(
            Code::Unsupported,
            "what libmtmd makes of a picture is known only when both files of the model are loaded");
    }
    const std::unique_ptr<MtmdBitmap, void (*)(MtmdBitmap*)> bitmap(
        library_->bitmap_init(static_cast<std::uint32_t>(size.width), static_cast<std::uint32_t>(size.height),
                              rgb),
        library_->bitmap_free);
    Chunks chunks(library_->input_chunks_init(), FreeChunks{library_});
    const MtmdPart part = {.text = nullptr, .bitmap = bitmap.get()};
    const std::array<const MtmdPart*, 1> parts = {&part};
    if (library_->tokenize_from_parts(context_, chunks.get(), parts.data(), 1, false) != 0) {
        return Status(Code::InvalidArgument, "libmtmd takes no picture of " + std::to_string(size.width) +
                                                 " x " + std::to_string(size.height) +
                                                 " pixels: " + last_complaint());
    }
    return chunks;
}

// Words around pictures, so that the engine's own tokens are the same.
Result<std::string> MtmdTower::text_of(const MtmdChunk* chunk) const {
    std::size_t n = 0;
    const llama_token* tokens = library_->input_chunk_get_tokens_text(chunk, &n);
    std::string text;
    for (std::size_t i = 0; i < n; ++i) {
        std::array<char, 256> piece = {};
        const std::int32_t length =
            tokens[i] < 0 ? -1
                          : llama_token_to_piece(vocabulary_, tokens[i], piece.data(),
                                                 static_cast<std::int32_t>(piece.size()), 0, true);
        if (length < 0) {
            return Status(Code::Unsupported, "the text model lacks a token that marks pictures of this kind");
        }
        text.append(piece.data(), static_cast<std::size_t>(length));
    }
    std::vector<llama_token> again(n + 64);
    const std::int32_t count =
        llama_tokenize(vocabulary_, text.data(), static_cast<std::int32_t>(text.size()), again.data(),
                       static_cast<std::int32_t>(again.size()), false, true);
    if (count != static_cast<std::int32_t>(n) || !std::equal(tokens, tokens + n, again.begin())) {
        return Status(Code::Unsupported, "the words " + base::in_quotes(base::printable(text)) +
                                             " around a picture are other tokens to libmtmd");
    }
    return text;
}

// Rows and columns of a chunk's tokens; one row where they are not known.
Grid MtmdTower::grid_of(const MtmdChunk* chunk) const {
    const MtmdImageTokens* tokens = library_->input_chunk_get_tokens_image(chunk);
    const std::size_t n = library_->input_chunk_get_n_tokens(chunk);
    const Grid grid = {library_->image_tokens_get_ny(tokens), library_->image_tokens_get_nx(tokens)};
    if (grid.height > 1 && grid.height * grid.width == n) return grid;
    std::size_t side = 1;
    while (side * side < n) ++side;
    if (kind_->is_square && side * side == n) return {side, side};
    return {1, n};
}

Result<VisionPlan> MtmdTower::plan(PixelSize picture, const PlanOptions& /*options*/) const {
    const std::lock_guard lock(mutex_);
    CLASP_ASSIGN_OR_RETURN(const Chunks chunks, chunks_of(picture, nullptr));
    VisionPlan plan;
    plan.layout.picture = plan.layout.resized = picture;
    plan.views = {{.fit = image::stretch_fit(picture, image::Filter::Bicubic)}};
    const PixelRect whole = {0.0, 0.0, static_cast<double>(picture.width),
                             static_cast<double>(picture.height)};
    std::size_t n_tokens = 0;
    for (std::size_t i = 0; i < library_->input_chunks_size(chunks.get()); ++i) {
        const MtmdChunk* chunk = library_->input_chunks_get(chunks.get(), i);
        const int type = library_->input_chunk_get_type(chunk);
        if (type == static_cast<int>(MtmdChunkType::Text)) {
            CLASP_ASSIGN_OR_RETURN(std::string text, text_of(chunk));
            plan.arrangement.push_back({.kind = ArrangedRun::Kind::Text, .text = std::move(text)});
            continue;
        }
        if (library_->decode_use_non_causal(context_, chunk) != images_see_both_ways_) {
            return Status(Code::Unsupported,
                          "whether tokens of a picture see each other both ways, libmtmd and the decoder of "
                          "this text model have differently");
        }
        const std::size_t n = library_->input_chunk_get_n_tokens(chunk);
        plan.arrangement.push_back(
            {.kind = ArrangedRun::Kind::Tokens, .piece = 0, .first = n_tokens, .count = n});
        plan.layout.regions.push_back(
            {.grid = grid_of(chunk), .area = whole, .view = plan.layout.regions.size()});
        n_tokens += n;
    }
    if (n_tokens == 0 || n_tokens > kMaxVisionTokens) {
        return Status(Code::Unsupported, "libmtmd makes " + std::to_string(n_tokens) +
                                             " tokens of the picture; the limit is " +
                                             std::to_string(kMaxVisionTokens));
    }
    const bool is_one = plan.layout.regions.size() == 1;
    plan.layout.grid = is_one ? plan.layout.regions.front().grid : Grid{1, n_tokens};
    plan.layout.is_placed = is_one && plan.layout.grid.height > 1;
    plan.pieces = {{.view = 0, .size = picture, .shape = {.patches = plan.layout.grid}}};
    return plan;
}

// The picture as it is; libmtmd resamples it.
Result<std::vector<PiecePixels>> MtmdTower::preprocess(const Image& picture, const VisionPlan& plan,
                                                       Compat /*compat*/) const {
    PiecePixels piece = {plan.pieces.front(), {}};
    piece.values.assign(picture.rgb.begin(), picture.rgb.end());
    return std::vector<PiecePixels>{std::move(piece)};
}

Result<std::vector<float>> MtmdTower::pixel_values(const Image& part, Compat /*compat*/) const {
    return std::vector<float>(part.rgb.begin(), part.rgb.end());
}

Result<std::vector<float>> MtmdTower::encode_outside(const PiecePixels& piece) const {
    const std::vector<unsigned char> rgb(piece.values.begin(), piece.values.end());
    const std::lock_guard lock(mutex_);
    CLASP_ASSIGN_OR_RETURN(const Chunks chunks, chunks_of(piece.piece.size, rgb.data()));
    std::vector<float> rows;
    for (std::size_t i = 0; i < library_->input_chunks_size(chunks.get()); ++i) {
        const MtmdChunk* chunk = library_->input_chunks_get(chunks.get(), i);
        if (library_->input_chunk_get_type(chunk) == static_cast<int>(MtmdChunkType::Text)) continue;
        if (library_->encode_chunk(context_, chunk) != 0) {
            return Status(Code::Internal, "libmtmd cannot encode the picture: " + last_complaint());
        }
        const float* values = library_->get_output_embd(context_);
        rows.insert(rows.end(), values,
                    values + library_->input_chunk_get_n_tokens(chunk) * info_.output_width);
    }
    if (rows.size() != piece.piece.shape.n_tokens() * info_.output_width) {
        return Status(Code::Internal, "libmtmd made another number of tokens than it said");
    }
    return rows;
}

}  // namespace

bool is_mtmd_projector(std::string_view projector_type) {
    return find_kind(projector_type) != nullptr;
}

std::vector<std::string_view> mtmd_projector_types() {
    std::vector<std::string_view> types;
    for (const MtmdKind& kind : kMtmdKinds) types.push_back(kind.projector_type);
    return types;
}

Result<std::unique_ptr<VisionTower>> open_mtmd_tower(const GgufReader& reader, std::string_view type) {
    const MtmdKind* kind = find_kind(type);
    CLASP_CHECK(kind != nullptr);
    return MtmdTower::open(reader, *kind);
}

}  // namespace clasp::model
