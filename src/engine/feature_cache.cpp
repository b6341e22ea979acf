#include "engine/feature_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/sha256.h"

namespace clasp::engine {

using base::put_u64;
using base::take_u64;

namespace {

constexpr std::size_t kDigestSize = 32;
constexpr std::uint64_t kMaxLayers = 1024;
constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30U;

std::string file_name(const FeatureKey& key) {
    return key + std::string(kFeatureSuffix);
}

Status corrupt(const char* what) {
    return {Code::Corrupt, std::string("cached features: ") + what};
}

std::size_t bytes_of(const model::VisionLayers& layers) {
    std::size_t n = 0;
    for (const model::LayerOutput& layer : layers.layers) n += layer.values.size() + layer.class_row.size();
    for (const model::ClassAttention& one : layers.class_attention)
        n += one.per_head.size() + one.mean.size();
    for (const model::LayerKeys& keys : layers.keys) n += keys.values.size();
    for (const model::ClassQuery& query : layers.class_query) n += query.values.size();
    return n * sizeof(float);
}

}  // namespace

std::string serialise_layers(const FeatureKey& key, const model::VisionLayers& layers) {
    std::string out(kFeatureMagic);
    out += key;
    put_u64(out, layers.shape.patches.height);
    put_u64(out, layers.shape.patches.width);
    put_u64(out, layers.shape.n_prefix);
    put_u64(out, layers.shape.merge);
    put_u64(out, layers.shape.projects_prefix ? 1 : 0);
    put_u64(out, layers.shape.tower);
    put_u64(out, layers.width);
    put_u64(out, static_cast<std::uint64_t>(layers.compat));
    put_u64(out, layers.layers.size());
    for (const model::LayerOutput& layer : layers.layers) put_u64(out, layer.layer);
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
    const auto height = take_u64(rest);
    const auto width = take_u64(rest);
    const auto n_prefix = take_u64(rest);
    const auto merge = take_u64(rest);
    const auto projects_prefix = take_u64(rest);
    const auto tower = take_u64(rest);
    const auto channels = take_u64(rest);
    const auto compat = take_u64(rest);
    const auto n_layers = take_u64(rest);
    if (!n_layers || *n_layers > kMaxLayers || *compat > 1 || *n_prefix > 1 || *merge == 0 ||
        *projects_prefix > 1)
        return corrupt("the header is wrong");
    model::VisionLayers layers;
    layers.shape = {.patches = {*height, *width},
                    .n_prefix = *n_prefix,
                    .merge = *merge,
                    .projects_prefix = *projects_prefix == 1,
                    .tower = *tower};
    layers.width = *channels;
    layers.compat = *compat == 0 ? Compat::Original : Compat::LlamaCpp;
    for (std::uint64_t i = 0; i < *n_layers; ++i) {
        const auto layer = take_u64(rest);
        if (!layer) return corrupt("the file is cut short");
        layers.layers.push_back({*layer, {}});
    }
    const auto n_patches = base::checked_multiply(*height, *width);
    const auto n_tokens =
        n_patches ? base::checked_add(*n_patches, layers.shape.n_class_tokens()) : std::nullopt;
    const auto n_values = n_tokens ? base::checked_multiply(*n_tokens, *channels) : std::nullopt;
    const auto n_bytes = n_values ? base::checked_multiply(*n_values, sizeof(float)) : std::nullopt;
    const auto all_bytes = n_bytes ? base::checked_multiply(*n_bytes, *n_layers) : std::nullopt;
    if (!all_bytes || *all_bytes != rest.size()) return corrupt("the sizes do not add up");
    if (*n_patches == 0 || *n_values == 0) return corrupt("its layers are empty");
    for (model::LayerOutput& layer : layers.layers) {
        layer.values.resize(*n_values);
        std::memcpy(layer.values.data(), rest.data(), *n_bytes);
        rest.remove_prefix(*n_bytes);
    }
    return layers;
}

FeatureCache::FeatureCache(std::size_t max_images, std::string dir, LogSink log, std::size_t max_bytes,
                           std::size_t max_file_bytes)
    : max_images_(max_images),
      max_bytes_(max_bytes),
      files_(std::move(dir), max_file_bytes, log),
      log_(std::move(log)) {}

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
    if (in_memory != nullptr && has_all(*in_memory)) {
        // A server that answers from memory for days still wants the file after its next start.
        if (!files_.is_off()) files_.touch(file_name(key));
        return in_memory;
    }
    if (files_.is_off()) return nullptr;
    const auto bytes = files_.read(file_name(key), kMaxFileBytes);
    if (!bytes) return nullptr;
    auto layers = parse_layers(key, *bytes);
    if (!layers) {
        log(log_, LogLevel::Warning,
            layers.status().with_context(files_.path_of(file_name(key))).message() +
                "; the picture is encoded again");
        return nullptr;
    }
    if (!has_all(*layers)) return nullptr;
    files_.touch(file_name(key));
    auto from_file = std::make_shared<const model::VisionLayers>(std::move(layers).value());
    remember(key, from_file, picture);
    return from_file;
}

void FeatureCache::store(const FeatureKey& key, const SharedLayers& layers, const std::string& picture) {
    remember(key, layers, picture);
    if (!files_.is_off()) files_.write(file_name(key), serialise_layers(key, *layers));
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
    for (const Entry& entry : entries_) {
        const bool is_new = std::find(pictures.begin(), pictures.end(), entry.picture) == pictures.end();
        if (is_new) pictures.push_back(entry.picture);
    }
    const auto is_too_much = [&] {
        return pictures.size() > max_images_ || (max_bytes_ > 0 && held_bytes() > max_bytes_);
    };
    for (; pictures.size() > 1 && is_too_much(); pictures.pop_back())
        entries_.remove_if([&](const Entry& entry) { return entry.picture == pictures.back(); });
}

std::size_t FeatureCache::held_bytes() const {
    std::size_t n = 0;
    for (const Entry& entry : entries_) n += bytes_of(*entry.layers);
    return n;
}

std::size_t FeatureCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return held_bytes();
}

}  // namespace clasp::engine
