#include "engine/start_file.h"

#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/sha256.h"
#include "engine/key_hash.h"

namespace clasp::engine {

namespace {

constexpr std::size_t kStartDigestSize = 32;
constexpr std::uint64_t kMaxStartLayers = 1024;
constexpr std::uint64_t kMaxStartRows = std::uint64_t{1} << 20U;
constexpr std::size_t kMaxStartBytes = std::size_t{1} << 30U;
// Flags of a layer.
constexpr std::uint64_t kIsPrecise = 1;
constexpr std::uint64_t kHasHidden = 2;

std::string file_of(const std::string& name) {
    return name + std::string(kPrefixSuffix);
}

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
    : model_id_(std::move(model_id)),
      next_(next),
      log_(log),
      files_(std::move(dir), max_bytes, std::move(log)) {}

std::string StartFolder::name_of(const std::string& key) const {
    KeyHash hash("prefix file");
    hash.add(model_id_);
    hash.add(key);
    return hash.finish();
}

SharedStart StartFolder::find(StartPart part, const std::string& key) {
    SharedStart known = next_ != nullptr ? next_->find(part, key) : nullptr;
    if (part != StartPart::Prefix) return known;
    const std::string name = name_of(key);
    if (known != nullptr) {
        files_.touch(file_of(name));
        return known;
    }
    const auto bytes = files_.read(file_of(name), kMaxStartBytes);
    if (!bytes) return nullptr;
    auto start = parse_start(name, *bytes);
    if (!start) {
        log(log_, LogLevel::Warning,
            start.status().with_context(files_.path_of(file_of(name))).message() +
                "; the text is read again");
        return nullptr;
    }
    files_.touch(file_of(name));
    known = std::make_shared<const PromptStart>(std::move(start).value());
    if (next_ != nullptr) next_->keep(part, key, known);
    return known;
}

void StartFolder::keep(StartPart part, const std::string& key, SharedStart start) {
    if (part == StartPart::Prefix) {
        const std::string name = name_of(key);
        const std::string bytes = serialise_start(name, *start);
        // What find() would not take is not written.
        if (bytes.size() <= kMaxStartBytes) files_.write(file_of(name), bytes);
    }
    if (next_ != nullptr) next_->keep(part, key, std::move(start));
}

}  // namespace clasp::engine
