#include "engine/visual_input.h"

#include <algorithm>
#include <utility>

#include "base/stopwatch.h"
#include "engine/reduce_image.h"

namespace clasp::engine {

namespace {

// What the mix, the tower's branches and the method read.
model::EncodeRequest needed_blocks(const VisualRequest& request, const model::VisionInfo& info) {
    model::EncodeRequest needed;
    needed.compat = request.compat;
    needed.layers = model::layers_of(request.mix, info);
    if (request.run == nullptr) return needed;
    const methods::EncoderNeeds& needs = request.run->program().encoder;
    add_blocks(needed.layers, needs.layers);
    needed.class_attention = needs.class_attention;
    needed.class_query = needs.class_query;
    needed.keys = needs.keys;
    return needed;
}

template <typename Parts>
bool has_blocks(const Parts& parts, const std::vector<std::size_t>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](std::size_t block) {
        return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.layer == block; });
    });
}

template <typename Parts>
void add_parts(std::vector<std::size_t>& blocks, const Parts& parts) {
    std::vector<std::size_t> more;
    for (const auto& part : parts) more.push_back(part.layer);
    add_blocks(blocks, more);
}

bool has_all(const model::VisionLayers& layers, const model::EncodeRequest& needed, bool needs_class_row) {
    const bool has_class_rows =
        layers.shape.n_prefix == layers.shape.n_class_tokens() ||
        std::none_of(layers.layers.begin(), layers.layers.end(),
                     [](const model::LayerOutput& layer) { return layer.class_row.empty(); });
    return has_blocks(layers.layers, needed.layers) &&
           has_blocks(layers.class_attention, needed.class_attention) &&
           has_blocks(layers.class_query, needed.class_query) && has_blocks(layers.keys, needed.keys) &&
           (has_class_rows || !needs_class_row);
}

std::string patches_of(const Grid& grid, std::size_t width) {
    return std::to_string(grid.height) + " x " + std::to_string(grid.width) + " patches of width " +
           std::to_string(width);
}

// Whether remembered layers could have come from this tower and piece. Names of files say what they hold;
// what they hold is checked all the same before it is computed with.
Status check_known(const model::VisionLayers& layers, const model::PieceShape& shape,
                   const model::VisionInfo& info, Compat compat) {
    const std::size_t n_values = shape.n_projected() * info.width;
    bool fits = layers.shape == shape && layers.width == info.width && layers.compat == compat;
    for (const model::LayerOutput& layer : layers.layers) {
        fits = fits && layer.layer < info.n_blocks && layer.values.size() == n_values;
    }
    if (fits) return ok_status();
    return {Code::Corrupt, "the cached features are those of " +
                               patches_of(layers.shape.patches, layers.width) + ", not of this picture's " +
                               patches_of(shape.patches, info.width) + "; the picture is encoded again"};
}

// Pieces of a picture on their way through the encoder: one, or several that see each other.
struct PieceTask {
    const PreparedPicture& picture;
    std::size_t first;
    const VisualRequest& request;
    model::VisionSession& session;
    const model::GraphProgress& progress;
    VisualInput& input;

    [[nodiscard]] std::size_t n() const { return picture.plan.pieces_at_once; }
    [[nodiscard]] const FeatureKey& key(std::size_t i) const { return picture.keys[first + i]; }
    [[nodiscard]] std::span<const model::PiecePixels> pixels() const {
        return std::span(picture.pieces).subspan(first, n());
    }
};

// What is remembered of a piece, enough or not; null: nothing that could be used.
SharedLayers known_piece(const PieceTask& task, std::size_t i, const model::EncodeRequest& needed,
                         VisionMemory& memory) {
    SharedLayers known = memory.layers().find(task.key(i), needed.layers, task.picture.name);
    if (known == nullptr) known = memory.layers().find(task.key(i), {}, task.picture.name);
    if (known == nullptr) return nullptr;
    const Status usable =
        check_known(*known, task.pixels()[i].piece.shape, task.session.model().info(), task.request.compat);
    if (usable.ok()) return known;
    task.input.notes.push_back(usable.message());
    memory.layers().forget(task.key(i));
    return nullptr;
}

// The same of all pieces; empty when one is not known.
SharedGroup known_layers(const PieceTask& task, const model::EncodeRequest& needed, VisionMemory& memory) {
    SharedGroup group;
    for (std::size_t i = 0; i < task.n(); ++i) {
        SharedLayers known = known_piece(task, i, needed, memory);
        if (known == nullptr) return {};
        group.push_back(std::move(known));
    }
    return group;
}

Result<SharedGroup> encode(const PieceTask& task, const model::EncodeRequest& wanted) {
    CLASP_ASSIGN_OR_RETURN(
        std::vector<model::VisionLayers> layers,
        task.session.encode_group(task.pixels(), wanted, task.request.cancel, task.progress));
    SharedGroup group;
    for (model::VisionLayers& piece : layers) {
        task.input.encode_ms += piece.encode_ms;
        group.push_back(std::make_shared<const model::VisionLayers>(std::move(piece)));
    }
    return group;
}

// What is to be encoded: what is needed, together with what is there already and with what other questions
// would need, so that methods which take turns do not push each other out.
model::EncodeRequest wanted_blocks(const PieceTask& task, const model::EncodeRequest& needed,
                                   const SharedGroup& known, VisionMemory& memory) {
    model::EncodeRequest wanted = memory.to_encode(needed);
    if (!known.empty()) {
        const model::VisionLayers& piece = *known.front();
        add_parts(wanted.layers, piece.layers);
        add_parts(wanted.class_attention, piece.class_attention);
        add_parts(wanted.class_query, piece.class_query);
        add_parts(wanted.keys, piece.keys);
    }
    std::vector<std::size_t> extra = task.request.extra_layers;
    const std::size_t n_blocks = task.session.model().info().n_blocks;
    std::erase_if(extra, [&](std::size_t layer) { return layer >= n_blocks; });
    add_blocks(wanted.layers, extra);
    return wanted;
}

// The layers of pieces from memory, or from a request that is encoding them, or else encoded.
Result<SharedGroup> find_layers(const PieceTask& task, VisionMemory* memory) {
    const model::EncodeRequest needed = needed_blocks(task.request, task.session.model().info());
    if (memory == nullptr) return encode(task, needed);
    const bool needs_class_row = task.request.run != nullptr && task.request.run->program().has_after_encoder;
    const auto is_enough = [&](const SharedGroup& group) {
        return !group.empty() && std::all_of(group.begin(), group.end(), [&](const SharedLayers& layers) {
            return has_all(*layers, needed, needs_class_row);
        });
    };
    task.input.n_looked_up += task.n();
    SharedGroup known = known_layers(task, needed, *memory);
    if (!is_enough(known)) {
        CLASP_ASSIGN_OR_RETURN(SingleFlight::Ticket ticket,
                               memory->flights().join(task.key(0), is_enough, task.request.cancel));
        if (!ticket.layers.empty()) {
            known = ticket.layers;
        } else {
            // Somebody may have landed between the look and the ticket.
            known = known_layers(task, needed, *memory);
            if (!is_enough(known)) {
                CLASP_ASSIGN_OR_RETURN(SharedGroup layers,
                                       encode(task, wanted_blocks(task, needed, known, *memory)));
                memory->note_encoded(needed);
                for (std::size_t i = 0; i < layers.size(); ++i) {
                    memory->layers().store(task.key(i), layers[i], task.picture.name);
                }
                ticket.mine->land(layers);
                return layers;
            }
        }
    }
    task.input.n_found += task.n();
    return known;
}

Result<SeenImage> see_image(const PreparedPicture& picture, const VisualRequest& request, std::size_t image,
                            model::VisionSession& session, VisionMemory* memory, VisualInput& input) {
    std::size_t piece = 0;
    const auto n_pieces = static_cast<double>(picture.pieces.size());
    const auto n_at_once = static_cast<double>(picture.plan.pieces_at_once);
    model::GraphProgress progress;
    if (request.on_images) {
        progress = [&](double share) {
            const double done = static_cast<double>(piece) + share * n_at_once;
            request.on_images(static_cast<double>(image) + done / n_pieces);
        };
    }
    EncodedPicture encoded = {picture.plan, {}, nullptr};
    const bool merges_inside = request.run != nullptr && !request.run->program().encoder_blocks.empty();
    if (!merges_inside) {
        for (; piece < picture.pieces.size(); piece += picture.plan.pieces_at_once) {
            CLASP_ASSIGN_OR_RETURN(const SharedGroup group,
                                   find_layers({picture, piece, request, session, progress, input}, memory));
            encoded.pieces.insert(encoded.pieces.end(), group.begin(), group.end());
        }
        return reduce_image(request, image, encoded, session, input);
    }
    if (request.mix.size() != 1) {
        return Status(Code::InvalidArgument,
                      "the method merges tokens inside the encoder, where layers hold different tokens, so "
                      "layers cannot be mixed; ask for no fusion");
    }
    const model::MergePlace place = {image, request.keep[image], request.pool};
    CLASP_ASSIGN_OR_RETURN(
        model::MergedLayers merged,
        session.encode_merging(picture.pieces.front(), needed_blocks(request, session.model().info()),
                               *request.run, place, request.cancel, progress));
    input.encode_ms += merged.layers.encode_ms - merged.merge_ms;
    input.select_ms += merged.merge_ms;
    encoded.pieces.push_back(std::make_shared<const model::VisionLayers>(std::move(merged.layers)));
    encoded.members = &merged.members;
    return reduce_image(request, image, encoded, session, input);
}

}  // namespace

Result<VisualInput> prepare_images(const std::vector<PlannedPicture>& pictures, const VisualRequest& request,
                                   model::VisionSession& session, VisionMemory* memory) {
    VisualInput input;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(
            const auto picture,
            prepare_picture(pictures[i], session.model(), request.want_images, memory, request.cancel));
        for (const std::string& warning : picture->warnings) {
            const std::string& path = pictures[i].path;
            std::string note = path.empty() ? "" : path + ": ";
            input.notes.push_back(std::move(note += warning));
        }
        input.image_ms += watch.elapsed_ms();
        CLASP_ASSIGN_OR_RETURN(SeenImage seen, see_image(*picture, request, i, session, memory, input));
        if (request.on_images) request.on_images(static_cast<double>(i + 1));
        seen.picture = picture->number;
        seen.image = picture->image;
        seen.frames = picture->frames;
        input.images.push_back(std::move(seen));
    }
    return input;
}

Grid method_grid(const ImageLayout& layout) {
    const Grid grid = layout.regions.front().grid;
    const bool is_one = layout.regions.size() == 1 && layout.n_tokens() == grid.height * grid.width;
    return is_one ? grid : Grid{layout.n_tokens(), 1};
}

}  // namespace clasp::engine
