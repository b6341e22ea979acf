#include "model/take_over.h"

#include <algorithm>

namespace clasp::training {
namespace {

// Which of `before` blocks becomes block `number` of `after`: the first of those that growing would make of
// it.
int block_kept(int number, int before, int after, int fixed) {
    if (number < fixed) return number;
    const int old = before - fixed;
    const int kept = after - fixed;
    return fixed + ((number - fixed) * old + kept - 1) / kept;
}

std::string source_of(const std::string& name, const ModelShape& from, const ModelShape& to) {
    const std::size_t at = name.find("blk.");
    if (at == std::string::npos) return name;
    const std::size_t dot = name.find('.', at + 4);
    const int number = std::stoi(name.substr(at + 4, dot - at - 4));
    const bool vision = at > 0;
    const int block = vision ? block_kept(number, from.vision_blocks, to.vision_blocks, 0)
                             : block_kept(number, from.decoder_blocks, to.decoder_blocks, kLeadingBlocks);
    return name.substr(0, at + 4) + std::to_string(block) + name.substr(dot);
}

}  // namespace

void take_over(const Model& from, Model& to) {
    const ParamStore& old = from.store();
    ParamStore& store = to.store();
    for (ParamId id = 0; id < store.params().size(); ++id) {
        const Param& param = store.info(id);
        const ParamId at = old.find(source_of(param.name, from.shape(), to.shape()));
        if (at == old.params().size()) continue;
        const float* values = old.value(at);
        if (param.size() == old.info(at).size()) {
            std::copy_n(values, param.size(), store.value(id));
        } else if (param.name == "v.position_embd.weight") {
            const int grid = to.shape().grid;
            const int corner = (from.shape().grid - grid) / 2;
            const int width = param.columns;
            std::copy_n(values, width, store.value(id));
            for (int row = 0; row < grid; ++row)
                std::copy_n(values + (1 + (corner + row) * from.shape().grid + corner) * width, grid * width,
                            store.value(id) + (1 + row * grid) * width);
        }
    }
}

}  // namespace clasp::training
