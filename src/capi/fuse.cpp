#include "clasp/fuse.h"

#include <span>
#include <vector>

#include "capi/support.h"

using namespace clasp;  // NOLINT(google-build-using-namespace): only C functions follow

static_assert(static_cast<int>(FloatType::F32) == CLASP_F32 &&
              static_cast<int>(FloatType::F16) == CLASP_F16 &&
              static_cast<int>(FloatType::BF16) == CLASP_BF16);

namespace {

Result<LayerView> read_view(const clasp_layer_view& view, std::size_t index) {
    if (view.type != CLASP_F32 && view.type != CLASP_F16 && view.type != CLASP_BF16) {
        return Status(Code::InvalidArgument,
                      "layers[" + std::to_string(index) + "].type is not a clasp_float_type");
    }
    return LayerView{view.data, static_cast<FloatType>(view.type), view.n_tokens, view.width, view.stride};
}

// The grid stated, or one row of all tokens so that equal counts need no grid.
Grid grid_of(const clasp_layer_view& view) {
    if (view.grid_height == 0 && view.grid_width == 0) return {1, view.n_tokens};
    return {view.grid_height, view.grid_width};
}

}  // namespace

clasp_code clasp_fuse(const clasp_layer_view* layers, const float* weights, size_t n_layers,
                      clasp_upsample upsample, float* out, size_t out_size, clasp_pool* pool,
                      clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (layers == nullptr) return capi::null_argument("layers");
        if (weights == nullptr) return capi::null_argument("weights");
        if (out == nullptr) return capi::null_argument("out");
        std::vector<LayerView> views;
        std::vector<Grid> grids;
        bool grids_are_equal = true;
        for (std::size_t i = 0; i < n_layers; ++i) {
            CLASP_ASSIGN_OR_RETURN(const LayerView view, read_view(layers[i], i));
            views.push_back(view);
            grids.push_back(grid_of(layers[i]));
            grids_are_equal = grids_are_equal && grids[i] == grids[0];
        }
        const std::span<const float> weight_span(weights, n_layers);
        const std::span<float> out_span(out, out_size);
        if (grids_are_equal) return fuse_layers(views, weight_span, out_span, capi::threads_of(pool));
        return fuse_grids(views, grids, weight_span, grids.back(),
                          upsample == CLASP_NEAREST ? Upsample::Nearest : Upsample::Bilinear, out_span,
                          capi::threads_of(pool));
    });
}
