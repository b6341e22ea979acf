// All weights of a model in one buffer, with gradients and AdamW's moments beside them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::training {

// A named tensor; rows x columns, row-major; a vector has one row.
struct Param {
    std::string name;
    std::size_t offset = 0;
    int rows = 0;
    int columns = 0;
    bool decays = false;  // weight decay applies to matrices only
    int parts = 0;        // matrices under each other that Muon updates; 0 = left to AdamW

    std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
};

// Heads that only training has: no exported file holds them.
bool is_auxiliary(const Param& param);

// A handle that stays valid while the store grows.
using ParamId = std::size_t;

class ParamStore {
   public:
    // Registers a tensor filled with `fill`, or with normal noise of this deviation.
    ParamId add_constant(std::string name, int rows, int columns, float fill);
    ParamId add_normal(std::string name, int rows, int columns, float deviation, bool decays = true);

    float* value(ParamId id) { return values_.data() + params_[id].offset; }
    const float* value(ParamId id) const { return values_.data() + params_[id].offset; }
    float* grad(ParamId id) { return grads_.data() + params_[id].offset; }
    const Param& info(ParamId id) const { return params_[id]; }
    void use_muon(ParamId id, int parts) { params_[id].parts = parts; }
    const std::vector<Param>& params() const { return params_; }
    // The handle with this name, or params().size().
    ParamId find(std::string_view name) const;

    std::vector<float>& values() { return values_; }
    const std::vector<float>& values() const { return values_; }
    std::vector<float>& grads() { return grads_; }
    std::vector<float>& first_moments() { return first_; }
    std::vector<float>& second_moments() { return second_; }
    const std::vector<float>& first_moments() const { return first_; }
    const std::vector<float>& second_moments() const { return second_; }

    void zero_grads();
    void zero_grad(ParamId id);

   private:
    ParamId add(std::string name, int rows, int columns, bool decays);

    std::vector<Param> params_;
    std::vector<float> values_, grads_, first_, second_;
};

struct AdamW {
    float rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.98F;
    float epsilon = 1e-8F;
    float decay = 0.05F;
};

// Norm of the whole gradient.
float gradient_norm(ParamStore& store);

// One AdamW update of the parameters with parts == 0; `step` counts from 1, `scale` multiplies the
// gradient (clipping). A parameter whose gradient is zero everywhere (a part that does not take part)
// is left alone, decay included.
void adamw_update(ParamStore& store, const AdamW& options, float scale, long step);

// True if any entry of the parameter's gradient is not zero.
bool has_gradient(ParamStore& store, ParamId id);

}  // namespace clasp::training
