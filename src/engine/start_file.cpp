#include "engine/start_file.h"

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/checked.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/sha256.h"
#include "engine/cache_folder.h"
#include "engine/key_hash.h"

namespace clasp::engine {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStartDigestSize = 32;
constexpr std::uint64_t kMaxStartLayers = 1024;
constexpr std::uint64_t kMaxStartRows = std::uint64_t{1} << 20U;
constexpr std::size_t kMaxStartBytes = std::size_t{1} << 30U;
// Flags of a layer.
constexpr std::uint64_t kIsPrecise = 1;
constexpr std::uint64_t kHasHidden = 2;

Status damaged(const char* what) {
    return {Code::Corrupt, std::string("cached prefix: ") + what};
}

void put_bytes(std::string& out, const void* data, std::size_t n) {
    out.append(static_cast<const char*>(data), n);
}

// Moves the front of a view, which must be long enough, to a vector.
template <typename Value>
void take_values(std::string_view& bytes, std::size_t n_bytes, std::vector<Value>& values) {
    values.resize(n_bytes / sizeof(Value));
    if (n_bytes > 0) std::memcpy(values.data(), bytes.data(), n_bytes);
    bytes.remove_prefix(n_bytes);
}

}  // namespace

std::string serialise_start(const std::string& key, const PromptStart& start) {
    std::string out(kPrefixMagic);
    out += key;
    const std::size_t n_cells = start.layers.empty() ? 0 : start.layers.front().keys.size();
    std::size_t n_values = 0;
    for (const PromptStart::Layer& layer : start.layers) {
        if (!layer.hidden.empty()) n_values = layer.hidden.size();
    }
    for (const std::size_t number : {start.n_rows, start.layers.size(), n_cells, n_values}) {
        base::put_u64(out, number);
    }
    for (const PromptStart::Layer& layer : start.layers) {
        base::put_u64(out, (layer.is_precise ? kIsPrecise : 0) | (layer.hidden.empty() ? 0 : kHasHidden));
        put_bytes(out, layer.keys.data(), layer.keys.size());
        put_bytes(out, layer.values.data(), layer.values.size());
        put_bytes(out, layer.hidden.data(), layer.hidden.size() * sizeof(float));
    }
    const base::Digest digest = base::sha256(base::as_bytes(out));
    put_bytes(out, digest.data(), digest.size());
    return out;
}

Result<PromptStart> parse_start(const std::string& key, std::string_view bytes) {
    if (!bytes.starts_with(kPrefixMagic)) return damaged("not a file of a prefix");
    if (bytes.size() < kPrefixMagic.size() + key.size() + kStartDigestSize) {
        return damaged("the file is cut short");
    }
    const std::string_view body = bytes.substr(0, bytes.size() - kStartDigestSize);
    const base::Digest digest = base::sha256(base::as_bytes(body));
    if (std::memcmp(digest.data(), bytes.data() + body.size(), kStartDigestSize) != 0) {
        return damaged("the checksum does not match");
    }
    std::string_view rest = body.substr(kPrefixMagic.size());
    if (!rest.starts_with(key)) return damaged("the file belongs to another text or model");
    rest.remove_prefix(key.size());
    const auto n_rows = base::take_u64(rest);
    const auto n_layers = base::take_u64(rest);
    const auto n_cells = base::take_u64(rest);
    const auto n_values = base::take_u64(rest);
    if (!n_values || *n_layers > kMaxStartLayers || *n_rows > kMaxStartRows) {
        return damaged("the header is wrong");
    }
    const auto n_hidden = base::checked_multiply(*n_values, sizeof(float));
    if (!n_hidden || *n_cells > rest.size() || *n_hidden > rest.size()) {
        return damaged("the sizes do not add up");
    }
    PromptStart start;
    start.n_rows = *n_rows;
    for (std::uint64_t i = 0; i < *n_layers; ++i) {
        const auto flags = base::take_u64(rest);
        if (!flags || *flags > (kIsPrecise | kHasHidden)) return damaged("the sizes do not add up");
        const bool has_hidden = (*flags & kHasHidden) != 0;
        // Each of the three is below the file's size, so that the sum cannot overflow.
        if (rest.size() < 2 * *n_cells + (has_hidden ? *n_hidden : 0) || (has_hidden && *n_hidden == 0)) {
            return damaged("the sizes do not add up");
        }
        PromptStart::Layer& layer = start.layers.emplace_back();
        layer.is_precise = (*flags & kIsPrecise) != 0;
        take_values(rest, *n_cells, layer.keys);
        take_values(rest, *n_cells, layer.values);
        if (has_hidden) take_values(rest, *n_hidden, layer.hidden);
    }
    if (!rest.empty()) return damaged("the sizes do not add up");
    return start;
}

StartFolder::StartFolder(std::string dir, std::string model_id, StartStore* next, LogSink log,
                         std::size_t max_bytes)
    : dir_(std::move(dir)),
      model_id_(std::move(model_id)),
      next_(next),
      log_(std::move(log)),
      max_bytes_(max_bytes) {}

std::string StartFolder::name_of(const std::string& key) const {
    KeyHash hash("prefix file");
    hash.add(model_id_);
    hash.add(key);
    return hash.finish();
}

std::string StartFolder::path_of(const std::string& name) const {
    return dir_ + "/" + name + std::string(kPrefixSuffix);
}

SharedStart StartFolder::find(StartPart part, const std::string& key) {
    SharedStart known = next_ != nullptr ? next_->find(part, key) : nullptr;
    if (known != nullptr || part != StartPart::Prefix) return known;
    const std::string name = name_of(key);
    const std::string path = path_of(name);
    const auto bytes = base::read_file(path, kMaxStartBytes);
    if (!bytes) {
        if (bytes.status().code() != Code::NotFound) log(log_, LogLevel::Warning, bytes.status().message());
        return nullptr;
    }
    auto start = parse_start(name, *bytes);
    if (!start) {
        log(log_, LogLevel::Warning,
            start.status().with_context(path).message() + "; the text is read again");
        return nullptr;
    }
    std::error_code ignored;  // only the order in which files go depends on it
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    known = std::make_shared<const PromptStart>(std::move(start).value());
    if (next_ != nullptr) next_->keep(part, key, known);
    return known;
}

void StartFolder::keep(StartPart part, const std::string& key, SharedStart start) {
    if (part == StartPart::Prefix && start->bytes() <= max_bytes_) {
        const std::string name = name_of(key);
        const Status written = base::write_file_atomic(path_of(name), serialise_start(name, *start));
        if (!written.ok()) log(log_, LogLevel::Warning, written.message());
        make_room();
    }
    if (next_ != nullptr) next_->keep(part, key, std::move(start));
}

void StartFolder::make_room() const {
    auto files = list_cache(dir_);
    if (!files.ok()) return;
    std::erase_if(*files, [](const CacheFile& file) { return !file.name.ends_with(kPrefixSuffix); });
    std::size_t n_bytes = 0;
    for (const CacheFile& file : *files) n_bytes += file.n_bytes;
    for (const CacheFile& file : *files) {  // the oldest first
        if (n_bytes <= max_bytes_) return;
        std::error_code ignored;  // somebody else was faster
        fs::remove(fs::path(dir_) / file.name, ignored);
        n_bytes -= file.n_bytes;
    }
}

}  // namespace clasp::engine
