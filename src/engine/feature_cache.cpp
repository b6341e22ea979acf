#include "engine/feature_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/file.h"
#include "base/sha256.h"

namespace clasp::engine {

namespace {

constexpr std::size_t kDigestSize = 32;
constexpr std::uint64_t kMaxLayers = 1024;
constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30U;

void put(std::string& out, std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xffU));
}

// Reads numbers from the front of a view; a view that is too short yields nothing.
std::optional<std::uint64_t> take(std::string_view& bytes) {
    if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    bytes.remove_prefix(sizeof value);
    return value;
}

Status corrupt(const char* what) {
    return {Code::Corrupt, std::string("cached features: ") + what};
}

}  // namespace

std::string serialise_layers(const FeatureKey& key, const model::VisionLayers& layers) {
    std::string out(kFeatureMagic);
    out += key;
    put(out, layers.shape.patches.height);
    put(out, layers.shape.patches.width);
    put(out, layers.shape.n_prefix);
    put(out, layers.shape.merge);
    put(out, layers.width);
    put(out, static_cast<std::uint64_t>(layers.compat));
    put(out, layers.layers.size());
    for (const model::LayerOutput& layer : layers.layers) put(out, layer.layer);
    for (const model::LayerOutput& layer : layers.layers) {
        out.append(reinterpret_cast<const char*>(layer.values.data()), layer.values.size() * sizeof(float));
    }
    const base::Digest digest = base::sha256(base::as_bytes(out));
    out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    return out;
}

Result<model::VisionLayers> parse_layers(const FeatureKey& key, std::string_view bytes) {
    if (!bytes.starts_with(kFeatureMagic)) return corrupt("not a feature file");
    if (bytes.size() < kFeatureMagic.size() + key.size() + kDigestSize)
        return corrupt("the file is cut short");
    const std::string_view body = bytes.substr(0, bytes.size() - kDigestSize);
    const base::Digest digest = base::sha256(base::as_bytes(body));
    if (std::memcmp(digest.data(), bytes.data() + body.size(), kDigestSize) != 0) {
        return corrupt("the checksum does not match");
    }
    std::string_view rest = body.substr(kFeatureMagic.size());
    if (!rest.starts_with(key)) return corrupt("the file belongs to another image or model");
    rest.remove_prefix(key.size());
    const auto height = take(rest);
    const auto width = take(rest);
    const auto n_prefix = take(rest);
    const auto merge = take(rest);
    const auto channels = take(rest);
    const auto compat = take(rest);
    const auto n_layers = take(rest);
    if (!n_layers || *n_layers > kMaxLayers || *compat > 1 || *n_prefix > 1 || *merge == 0)
        return corrupt("the header is wrong");
    model::VisionLayers layers;
    layers.shape = {.patches = {*height, *width}, .n_prefix = *n_prefix, .merge = *merge};
    layers.width = *channels;
    layers.compat = *compat == 0 ? Compat::Original : Compat::LlamaCpp;
    for (std::uint64_t i = 0; i < *n_layers; ++i) {
        const auto layer = take(rest);
        if (!layer) return corrupt("the file is cut short");
        layers.layers.push_back({*layer, {}});
    }
    const auto n_tokens = base::checked_multiply(*height, *width);
    const auto n_values = n_tokens ? base::checked_multiply(*n_tokens, *channels) : std::nullopt;
    const auto n_bytes = n_values ? base::checked_multiply(*n_values, sizeof(float)) : std::nullopt;
    const auto all_bytes = n_bytes ? base::checked_multiply(*n_bytes, *n_layers) : std::nullopt;
    if (!all_bytes || *all_bytes != rest.size()) return corrupt("the sizes do not add up");
    if (*n_values == 0) return corrupt("its layers are empty");
    for (model::LayerOutput& layer : layers.layers) {
        layer.values.resize(*n_values);
        std::memcpy(layer.values.data(), rest.data(), *n_bytes);
        rest.remove_prefix(*n_bytes);
    }
    return layers;
}

FeatureCache::FeatureCache(std::size_t max_images, std::string dir, LogSink log)
    : max_images_(max_images), dir_(std::move(dir)), log_(std::move(log)) {}

std::string FeatureCache::path_of(const FeatureKey& key) const {
    return dir_ + "/" + key + std::string(kFeatureSuffix);
}

SharedLayers FeatureCache::known(const FeatureKey& key) {
    const std::lock_guard lock(mutex_);
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
    if (entry == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->layers;
}

SharedLayers FeatureCache::find(const FeatureKey& key, const std::vector<std::size_t>& wanted,
                                const std::string& picture) {
    const auto has_all = [&](const model::VisionLayers& layers) {
        return std::all_of(wanted.begin(), wanted.end(),
                           [&](std::size_t l) { return layers.find(l) != nullptr; });
    };
    SharedLayers in_memory = known(key);
    if (in_memory != nullptr && has_all(*in_memory)) return in_memory;
    if (dir_.empty()) return nullptr;
    const auto bytes = base::read_file(path_of(key), kMaxFileBytes);
    if (!bytes) {
        if (bytes.status().code() != Code::NotFound) log(log_, LogLevel::Warning, bytes.status().message());
        return nullptr;
    }
    auto layers = parse_layers(key, *bytes);
    if (!layers) {
        log(log_, LogLevel::Warning,
            layers.status().with_context(path_of(key)).message() + "; the picture is encoded again");
        return nullptr;
    }
    if (!has_all(*layers)) return nullptr;
    auto from_file = std::make_shared<const model::VisionLayers>(std::move(layers).value());
    remember(key, from_file, picture);
    return from_file;
}

void FeatureCache::store(const FeatureKey& key, const SharedLayers& layers, const std::string& picture) {
    remember(key, layers, picture);
    if (dir_.empty()) return;
    const Status written = base::write_file_atomic(path_of(key), serialise_layers(key, *layers));
    if (!written.ok()) log(log_, LogLevel::Warning, written.message());
}

void FeatureCache::forget(const FeatureKey& key) {
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const Entry& entry) { return entry.key == key; });
}

void FeatureCache::remember(const FeatureKey& key, SharedLayers layers, const std::string& picture) {
    if (max_images_ == 0) return;
    // Layers that only an earlier request read: two requests in turn must not encode again and again. They
    // are joined before the lock is taken.
    if (const SharedLayers before = known(key); before != nullptr && before->shape == layers->shape) {
        std::shared_ptr<model::VisionLayers> joined;
        for (const model::LayerOutput& layer : before->layers) {
            if (layers->find(layer.layer) != nullptr) continue;
            if (joined == nullptr) joined = std::make_shared<model::VisionLayers>(*layers);
            joined->layers.push_back(layer);
        }
        if (joined != nullptr) layers = std::move(joined);
    }
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const Entry& entry) { return entry.key == key; });
    entries_.push_front({key, picture.empty() ? key : picture, std::move(layers)});
    std::vector<std::string> pictures;  // from the most recently used on
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const bool is_new = std::find(pictures.begin(), pictures.end(), entry->picture) == pictures.end();
        if (is_new && pictures.size() == max_images_) {
            entry = entries_.erase(entry);
            continue;
        }
        if (is_new) pictures.push_back(entry->picture);
        ++entry;
    }
}

}  // namespace clasp::engine
