// Makes the hostile files of scripts/torture, and the generated seeds of the fuzzers.
//     clasp_torture_files images|models|families|seeds DIR
#include <gguf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/bmp.h"
#include "support/family_models.h"
#include "support/image_bombs.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace {

namespace fs = std::filesystem;
using namespace clasp::test;

bool write(const fs::path& path, std::string_view bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(file.flush());
}

bool write(const fs::path& path, const PictureBytes& bytes) {
    return write(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

template <typename T>
std::string raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// ---- Pictures ----

// Each near the limits of size, so that work is all that can stop it.
bool write_images(const fs::path& folder) {
    const PictureBytes scans = flat_jpeg({.width = 7000, .height = 7000, .is_progressive = true});
    return write(folder / "jpeg-markers.jpg", with_markers(flat_jpeg({}), 0xE1, 100'000)) &&
           write(folder / "jpeg-more-markers.jpg", with_markers(flat_jpeg({}), 0xE1, 5'000'000)) &&
           write(folder / "jpeg-comments.jpg", with_markers(flat_jpeg({}), 0xFE, 5'000'000)) &&
           write(folder / "jpeg-99-scans.jpg", with_more_scans(scans, 89)) &&
           write(folder / "jpeg-many-scans.jpg", with_more_scans(scans, 10'000)) &&
           write(folder / "jpeg-restarts.jpg",
                 flat_jpeg({.width = 7000, .height = 7000, .restart_interval = 1})) &&
           write(folder / "jpeg-arithmetic.jpg",
                 flat_jpeg({.width = 7000, .height = 7000, .is_progressive = true, .is_arithmetic = true})) &&
           write(folder / "png-interlaced.png",
                 flat_png({.width = 5000, .height = 5000, .bits = 16, .is_interlaced = true})) &&
           write(folder / "png-leftovers.png", flat_png({.leftover_bytes = 1'500'000'000})) &&
           write(folder / "png-text.png", with_chunks(flat_png({}), "zTXt", 1'000'000)) &&
           write(folder / "png-profile.png", with_chunks(flat_png({}), "iCCP", 1, 15'000'000)) &&
           write(folder / "png-data.png", with_chunks(flat_png({}), "IDAT", 1'000'000)) &&
           write(folder / "gif-clears.gif", gif_of_clear_codes(16, 16, 50'000'000)) &&
           write(folder / "gif-comments.gif", with_comments(flat_gif(16, 16), 4'000'000)) &&
           write(folder / "bmp-runs.bmp", bmp_of_runs(7000, 7000, 10'000'000)) &&
           write(folder / "bmp-moves.bmp", bmp_of_moves(7000, 7000, 5'000'000)) &&
           write(folder / "webp-large.webp", flat_webp(7000, 7000)) &&
           write(folder / "webp-chunks.webp", with_riff_chunks(flat_webp(16, 16), 2'500'000));
}

// A TIFF structure with one entry: orientation 6.
std::string exif_block() {
    std::string tiff("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0", 26);
    return std::string("Exif\0\0", 6) + tiff;
}

// Text models whose keys have sections of rotation, deepstack and windows, and a vision file that libmtmd
// reads, each as small as it can be.
bool write_model_seeds(const fs::path& folder) {
    fs::create_directories(folder / "text_gguf");
    bool is_written = true;
    for (const char* architecture : {"qwen2vl", "qwen3vl", "gemma3"}) {
        RandomLlama text = random_architecture(architecture);
        text.n_layers = 2;
        text.width = text.ffn_width = 32;
        text.n_heads = 2;
        text.n_kv_heads = 1;
        text.head_width = 16;
        text.n_deepstack = std::min(text.n_deepstack, 1);
        text.type = GGML_TYPE_Q4_0;
        is_written =
            is_written &&
            write_random_llama((folder / "text_gguf" / (architecture + std::string(".gguf"))).string(), text);
    }
    MmprojSpec janus = mtmd_family_vision("janus_pro");
    janus.image_size = 16;
    janus.width = janus.ffn_width = janus.projector_width = janus.output_width = 16;
    janus.n_heads = 2;
    janus.n_blocks = 1;
    return is_written && write(folder / "mmproj/janus-tiny.gguf", random_mmproj(janus));
}

bool write_seeds(const fs::path& folder) {
    const std::string text = make_bmp(4, 4, [](std::uint32_t i) { return i * 5; });
    return write(folder / "jpeg/baseline.jpg", flat_jpeg({})) &&
           write(folder / "jpeg/progressive.jpg", flat_jpeg({.is_progressive = true})) &&
           write(folder / "jpeg/arithmetic.jpg", flat_jpeg({.is_arithmetic = true})) &&
           write(folder / "jpeg/restarts.jpg", flat_jpeg({.restart_interval = 1})) &&
           write(folder / "jpeg/markers.jpg", with_markers(flat_jpeg({}), 0xE1, 3, 8)) &&
           write(folder / "jpeg/scans.jpg", with_more_scans(flat_jpeg({.is_progressive = true}), 4)) &&
           write(folder / "png/plain.png", flat_png({})) &&
           write(folder / "png/interlaced16.png", flat_png({.bits = 16, .is_interlaced = true})) &&
           write(folder / "png/leftovers.png", flat_png({.leftover_bytes = 5000})) &&
           write(folder / "png/chunks.png", with_chunks(flat_png({}), "eXIf", 2, 30)) &&
           write(folder / "webp/lossless.webp", flat_webp(16, 16)) &&
           write(folder / "webp/extended.webp", with_riff_chunks(flat_webp(16, 16), 2)) &&
           write(folder / "gif/plain.gif", flat_gif(8, 8)) &&
           write(folder / "gif/comments.gif", with_comments(flat_gif(8, 8), 3)) &&
           write(folder / "gif/clears.gif", gif_of_clear_codes(8, 8, 50)) &&
           write(folder / "bmp/plain.bmp", text) && write(folder / "bmp/runs.bmp", bmp_of_runs(16, 16, 20)) &&
           write(folder / "bmp/moves.bmp", bmp_of_moves(16, 16, 20)) &&
           write(folder / "exif/orientation", exif_block()) &&
           write(folder / "exif/bare", exif_block().substr(6)) && write_model_seeds(folder);
}

// ---- Models ----

RandomLlama small_text() {
    RandomLlama text;
    text.n_layers = 2;
    text.type = GGML_TYPE_F16;
    return text;
}

MmprojSpec small_vision() {
    MmprojSpec vision;
    vision.image_size = 28;
    vision.n_blocks = 2;
    vision.output_width = 64;
    return vision;
}

// Where the description of a tensor stands behind its name: the number of dimensions, each of them, the type.
// npos: there is no such tensor.
std::size_t entry_place(const std::string& file, const std::string& tensor) {
    const std::size_t at = file.find(raw<std::uint64_t>(tensor.size()) + tensor);
    return at == std::string::npos ? at : at + 8 + tensor.size();
}

struct FreeGguf {
    void operator()(gguf_context* context) const { gguf_free(context); }
};

// The file with one tensor of another type, laid out as it should be, all values zero: the type is all that
// is odd about it. Types that ggml does not know, or whose blocks do not fit a row, are only named.
bool write_type(const fs::path& source, const std::string& file, const std::string& tensor,
                std::uint32_t type, const fs::path& path) {
    const auto known = static_cast<ggml_type>(type);
    const std::size_t entry = entry_place(file, tensor);
    std::uint32_t n_dims = 0;
    std::memcpy(&n_dims, file.data() + entry, sizeof n_dims);
    std::int64_t row = 0;
    std::memcpy(&row, file.data() + entry + 4, sizeof row);
    const bool is_known = type < GGML_TYPE_COUNT && ggml_type_size(known) > 0 && ggml_blck_size(known) > 0;
    if (!is_known || row % ggml_blck_size(known) != 0) {
        std::string variant = file;
        variant.replace(entry + 4 + std::size_t{n_dims} * 8, 4, raw(type));
        return write(path, variant);
    }
    const std::unique_ptr<gguf_context, FreeGguf> context(
        gguf_init_from_file(source.c_str(), {.no_alloc = true, .ctx = nullptr}));
    if (context == nullptr) return false;
    gguf_set_tensor_type(context.get(), tensor.c_str(), known);
    fs::create_directories(path.parent_path());
    if (!gguf_write_to_file(context.get(), path.c_str(), true)) return false;
    std::size_t n_bytes = 0;
    for (std::int64_t i = 0; i < gguf_get_n_tensors(context.get()); ++i) {
        n_bytes = gguf_get_tensor_offset(context.get(), i) +
                  (gguf_get_tensor_size(context.get(), i) + 31) / 32 * 32;
    }
    fs::resize_file(path, gguf_get_meta_size(context.get()) + n_bytes);
    return true;
}

// Every type number that ggml knows or has retired, and some that it does not, in every role.
bool write_types(const fs::path& folder, const fs::path& source, const std::vector<std::string>& tensors) {
    const std::string file = read(source);
    for (const std::string& tensor : tensors) {
        if (entry_place(file, tensor) == std::string::npos) return false;
        for (const std::uint32_t type :
             {0U,  1U,  2U,  3U,  4U,  6U,  7U,  8U,  9U,          10U,        11U, 12U,
              13U, 14U, 15U, 16U, 19U, 20U, 23U, 24U, 25U,         26U,        27U, 28U,
              29U, 30U, 31U, 34U, 35U, 39U, 40U, 41U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
            const fs::path path = folder / ("type-" + tensor + "-" + std::to_string(type) + ".gguf");
            if (!write_type(source, file, tensor, type, path)) return false;
        }
    }
    return true;
}

// The same file with one more key, which moves everything behind it, so it is padded as before.
bool write_alignments(const fs::path& folder, const std::string& name, const std::string& file) {
    const std::string key = "general.alignment";
    for (const std::uint32_t alignment :
         {0U, 1U, 2U, 3U, 4U, 8U, 16U, 24U, 32U, 64U, 4096U, 0x80000000U, 0xFFFFFFFFU}) {
        std::string variant = file;
        // 8 + 17 + 4 + 4 bytes; the rest of two units of 32 is a key of its own.
        const std::string filler(64 - 33 - 8 - 4 - 1, 'x');
        const std::string keys = raw<std::uint64_t>(key.size()) + key + raw<std::uint32_t>(4) +
                                 raw(alignment) + raw<std::uint64_t>(filler.size()) + filler +
                                 raw<std::uint32_t>(7) + '\0';
        std::uint64_t n_keys = 0;
        std::memcpy(&n_keys, variant.data() + 16, sizeof n_keys);
        variant.replace(16, 8, raw(n_keys + 2));
        variant.insert(24, keys);
        if (!write(folder / (name + "-alignment-" + std::to_string(alignment) + ".gguf"), variant))
            return false;
    }
    return true;
}

bool write_damage(const fs::path& folder, const std::string& name, const std::string& file,
                  int n_flips = 40) {
    for (const std::size_t percent : {0U, 1U, 5U, 20U, 50U, 90U, 99U}) {
        const std::string cut = file.substr(0, file.size() * percent / 100);
        if (!write(folder / (name + "-cut-" + std::to_string(percent) + ".gguf"), cut)) return false;
    }
    std::uint32_t state = 7;
    for (int i = 0; i < n_flips; ++i) {
        std::string variant = file;
        for (int n = 0; n < 1 + i % 4; ++n) {  // most of the header is within the first kilobytes
            state = state * 1664525U + 1013904223U;
            variant[(state >> 8) % std::min<std::size_t>(variant.size(), 4096)] =
                static_cast<char>(state >> 3);
        }
        if (!write(folder / (name + "-flip-" + std::to_string(i) + ".gguf"), variant)) return false;
    }
    return true;
}

// Control bytes in every text that a program might show: what they replace has the same length.
bool write_escapes(const fs::path& folder, const std::string& name, const std::string& file,
                   const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        std::string variant = file;
        const std::size_t at = variant.find(raw<std::uint64_t>(word.size()) + word);
        if (at == std::string::npos) return false;
        std::string evil = "\x1b[2J\n\r\a\x9b\x7f\x1b]0;evil\a";
        evil.resize(word.size(), '\x1b');
        variant.replace(at + 8, word.size(), evil);
        if (!write(folder / (name + "-" + word + ".gguf"), variant)) return false;
    }
    return true;
}

bool write_models(const fs::path& folder) {
    fs::create_directories(folder);
    const fs::path text_path = folder / "text.gguf";
    if (!write_random_llama(text_path.string(), small_text())) return false;
    const std::string text = read(text_path);
    const std::string vision = random_mmproj(small_vision());
    return write(folder / "mmproj.gguf", vision) &&
           write(folder / "picture.bmp", make_bmp(40, 40, [](std::uint32_t i) { return i * 3 / 5 % 256; })) &&
           write_types(folder / "text", text_path,
                       {"token_embd.weight", "output_norm.weight", "output.weight", "blk.0.attn_norm.weight",
                        "blk.0.attn_q.weight", "blk.1.ffn_down.weight"}) &&
           write_types(
               folder / "vision", folder / "mmproj.gguf",
               {"v.patch_embd.weight", "v.blk.0.attn_q.weight", "v.blk.0.ln1.weight", "mm.0.weight"}) &&
           write_alignments(folder / "text", "text", text) &&
           write_alignments(folder / "vision", "vision", vision) &&
           write_damage(folder / "text", "text", text) && write_damage(folder / "vision", "vision", vision) &&
           write_escapes(folder / "escape-text", "text", text,
                         {"general.architecture", "llama", "llama.block_count", "tokenizer.ggml.model",
                          "output_norm.weight"}) &&
           write_escapes(folder / "escape-vision", "vision", vision,
                         {"clip", "mmproj", "mlp", "clip.projector_type", "mm.0.weight"});
}

// ---- Models of every family ----

// Some tensors of a file, from its first to its last.
std::vector<std::string> tensors_of(const fs::path& path, std::int64_t n_wanted) {
    std::vector<std::string> names;
    const std::unique_ptr<gguf_context, FreeGguf> context(
        gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
    const std::int64_t n = context == nullptr ? 0 : gguf_get_n_tensors(context.get());
    for (std::int64_t i = 0; i < n_wanted && n > 0; ++i)
        names.emplace_back(gguf_get_tensor_name(context.get(), i * (n - 1) / (n_wanted - 1)));
    return names;
}

// Q8_1, I8 and F64, which cannot be computed with.
constexpr std::array<std::uint32_t, 3> kTelling = {9, 24, 28};

bool write_variants(const fs::path& folder, const fs::path& source) {
    constexpr std::int64_t kTensors = 3;
    constexpr int kFlips = 4;
    const std::string file = read(source);
    for (const std::string& tensor : tensors_of(source, kTensors)) {
        for (const std::uint32_t type : kTelling) {
            const fs::path path = folder / ("type-" + tensor + "-" + std::to_string(type) + ".gguf");
            if (!write_type(source, file, tensor, type, path)) return false;
        }
    }
    return write_damage(folder, "damage", file, kFlips);
}

// A folder for each: both files, and variants of either. libmtmd trusts its files, and says so.
bool write_families(const fs::path& folder) {
    for (const std::string& name : family_names()) {
        const FamilyModel model = family_model(name);
        if (model.needs_libmtmd) continue;
        const fs::path place = folder / name;
        fs::create_directories(place);
        const bool is_written = write_random_llama((place / "text.gguf").string(), model.text) &&
                                write(place / "mmproj.gguf", model.vision) &&
                                write_variants(place / "text", place / "text.gguf") &&
                                write_variants(place / "vision", place / "mmproj.gguf");
        if (!is_written) return false;
    }
    return write(folder / "picture.bmp", make_bmp(60, 44, [](std::uint32_t i) { return i * 3 / 5 % 256; }));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc == 3 ? argv[1] : "";
    bool is_written = false;
    if (what == "images") {
        is_written = write_images(argv[2]);
    } else if (what == "models") {
        is_written = write_models(argv[2]);
    } else if (what == "families") {
        is_written = write_families(argv[2]);
    } else if (what == "seeds") {
        is_written = write_seeds(argv[2]);
    } else {
        std::fputs("usage: clasp_torture_files images|models|families|seeds DIR\n", stderr);
        return 2;
    }
    if (!is_written) std::fputs("clasp_torture_files: a file could not be written\n", stderr);
    return is_written ? 0 : 1;
}
