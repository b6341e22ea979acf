// The tensors of a checkpoint, of which a family takes those it knows: what is left over in the end would
// change the model in silence, so it is an error.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "convert/checkpoint.h"
#include "convert/output_plan.h"

namespace clasp::convert {

class TensorPool {
   public:
    explicit TensorPool(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

    [[nodiscard]] bool has(std::string_view name) const { return checkpoint_.find(name) != nullptr; }
    // Errors: corrupt (there is none, or it has another shape; extents of 1 in front do not count),
    // unsupported (its elements are no floating-point numbers).
    Result<const StoredTensor*> take(const std::string& name, const std::vector<std::uint64_t>& shape);
    // Its shape is whatever it is.
    Result<const StoredTensor*> take(const std::string& name);
    // Not needed: known, and left out.
    void leave_out(const std::string& name) { used_.insert(name); }
    void leave_out_prefix(std::string_view prefix);
    void leave_out_suffix(std::string_view suffix);

    // Error: unsupported, naming the first tensor that was neither taken nor left out.
    [[nodiscard]] Status check_all_used() const;
    [[nodiscard]] const std::string& folder() const { return checkpoint_.folder(); }

   private:
    const Checkpoint& checkpoint_;
    std::set<std::string, std::less<>> used_;
};

// Adds a tensor to a file as it is: its shape reversed, leading extents of 1 left out.
void add_tensor(OutputFile& file, const std::string& name, TensorUse use, const StoredTensor& source);
// Rows of it.
void add_rows(OutputFile& file, const std::string& name, TensorUse use, const StoredTensor& source,
              std::uint64_t first_row, std::uint64_t n_rows, std::vector<std::uint32_t> rows = {});
// Numbers that are in no checkpoint.
void add_values(OutputFile& file, const std::string& name, std::vector<float> values);

}  // namespace clasp::convert
