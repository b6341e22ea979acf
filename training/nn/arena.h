// Bump allocator for activations: grows during the first steps, then never allocates again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace clasp::training {

class Arena {
   public:
    // Uninitialised floats, valid until reset().
    float* take(std::size_t count) {
        count = (count + 15) / 16 * 16;
        while (current_ < blocks_.size() && used_ + count > blocks_[current_].size) {
            ++current_;
            used_ = 0;
        }
        if (current_ == blocks_.size()) {
            const std::size_t size = std::max(count, kBlock);
            blocks_.push_back({std::make_unique_for_overwrite<float[]>(size), size});
            used_ = 0;
        }
        float* out = blocks_[current_].data.get() + used_;
        used_ += count;
        return out;
    }

    float* take_zeroed(std::size_t count) {
        float* out = take(count);
        std::fill_n(out, count, 0.0F);
        return out;
    }

    // Forgets all allocations but keeps the memory.
    void reset() { current_ = used_ = 0; }

    // Scratch of a scope: everything taken after mark() is given back by release().
    struct Mark {
        std::size_t block = 0;
        std::size_t used = 0;
    };
    Mark mark() const { return {current_, used_}; }
    void release(Mark mark) {
        current_ = mark.block;
        used_ = mark.used;
    }

   private:
    static constexpr std::size_t kBlock = std::size_t{16} << 20;
    struct Block {
        std::unique_ptr<float[]> data;
        std::size_t size;
    };
    std::vector<Block> blocks_;
    std::size_t current_ = 0;
    std::size_t used_ = 0;
};

}  // namespace clasp::training
