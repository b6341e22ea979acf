#include "nn/params.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "world/random.h"

namespace clasp::training {
namespace {

std::uint64_t hash_name(std::string_view name) {
    std::uint64_t hash = 0x9a3;
    for (const char c : name) hash = world::mix_seed(hash, static_cast<unsigned char>(c));
    return hash;
}

}  // namespace

bool is_auxiliary(const Param& param) {
    return param.name.starts_with("aux.");
}

ParamId ParamStore::add(std::string name, int rows, int columns, bool decays) {
    Param param{std::move(name), values_.size(), rows, columns, decays};
    const std::size_t total = values_.size() + param.size();
    values_.resize(total);
    grads_.resize(total);
    first_.resize(total);
    second_.resize(total);
    params_.push_back(std::move(param));
    return params_.size() - 1;
}

ParamId ParamStore::add_constant(std::string name, int rows, int columns, float fill) {
    const ParamId id = add(std::move(name), rows, columns, false);
    std::fill_n(value(id), params_[id].size(), fill);
    return id;
}

ParamId ParamStore::add_normal(std::string name, int rows, int columns, float deviation, bool decays) {
    const ParamId id = add(std::move(name), rows, columns, decays);
    world::Random rng(hash_name(params_[id].name));
    float* out = value(id);
    for (std::size_t i = 0; i < params_[id].size(); ++i) {
        const float radius = std::sqrt(-2.0F * std::log(1.0F - rng.uniform()));
        out[i] = deviation * radius * std::cos(2 * std::numbers::pi_v<float> * rng.uniform());
    }
    return id;
}

ParamId ParamStore::find(std::string_view name) const {
    const auto at = std::ranges::find(params_, name, &Param::name);
    return static_cast<ParamId>(at - params_.begin());
}

void ParamStore::zero_grads() {
    std::ranges::fill(grads_, 0.0F);
}

void ParamStore::zero_grad(ParamId id) {
    std::fill_n(grad(id), params_[id].size(), 0.0F);
}

float gradient_norm(ParamStore& store) {
    double square = 0;
    for (const Param& param : store.params()) {
        const float* g = store.grads().data() + param.offset;
        float sum = 0;
        for (std::size_t i = 0; i < param.size(); ++i) sum += g[i] * g[i];
        square += static_cast<double>(sum);
    }
    return static_cast<float>(std::sqrt(square));
}

bool has_gradient(ParamStore& store, ParamId id) {
    const float* g = store.grad(id);
    return std::any_of(g, g + store.info(id).size(), [](float x) { return x != 0.0F; });
}

void adamw_update(ParamStore& store, const AdamW& options, float scale, long step) {
    const float correct1 = 1.0F - std::pow(options.beta1, static_cast<float>(step));
    const float correct2 = 1.0F - std::pow(options.beta2, static_cast<float>(step));
    const float rate = options.rate / correct1;
    for (ParamId id = 0; id < store.params().size(); ++id) {
        const Param& param = store.info(id);
        if (param.parts > 0 || !has_gradient(store, id)) continue;
        float* w = store.value(id);
        float* m = store.first_moments().data() + param.offset;
        float* v = store.second_moments().data() + param.offset;
        const float* g = store.grad(id);
        const float shrink = param.decays ? 1.0F - options.rate * options.decay : 1.0F;
        for (std::size_t i = 0; i < param.size(); ++i) {
            const float gradient = g[i] * scale;
            m[i] = options.beta1 * m[i] + (1 - options.beta1) * gradient;
            v[i] = options.beta2 * v[i] + (1 - options.beta2) * gradient * gradient;
            w[i] = w[i] * shrink - rate * m[i] / (std::sqrt(v[i] / correct2) + options.epsilon);
        }
    }
}

}  // namespace clasp::training
