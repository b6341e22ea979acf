#include "gguf/layout.h"

namespace clasp::training {
namespace {

class Layout {
   public:
    explicit Layout(const ParamStore& store) : store_(store) {}

    // Rows [first, first + rows) of a parameter under the file's name.
    void rows(const std::string& from, const std::string& to, int first, int rows) {
        const Param& param = store_.info(store_.find(from));
        const auto width = static_cast<std::size_t>(param.columns);
        std::vector<std::uint64_t> shape = {width};
        if (rows > 1) shape.push_back(static_cast<std::uint64_t>(rows));
        add(from, to, static_cast<std::size_t>(first) * width, static_cast<std::size_t>(rows) * width,
            std::move(shape));
    }

    // A part of a vector.
    void slice(const std::string& from, const std::string& to, int first, int count) {
        add(from, to, static_cast<std::size_t>(first), static_cast<std::size_t>(count),
            {static_cast<std::uint64_t>(count)});
    }

    void whole(const std::string& from, const std::string& to) {
        rows(from, to, 0, store_.info(store_.find(from)).rows);
    }
    void same(const std::string& name) { whole(name, name); }

    void patch_embedding() {
        const Param& param = store_.info(store_.find("v.patch_embd.weight"));
        add(param.name, param.name, 0, param.size(), {14, 14, 3, static_cast<std::uint64_t>(param.rows)});
    }

    std::vector<StoredTensor> take() { return std::move(tensors_); }

   private:
    void add(const std::string& from, const std::string& to, std::size_t first, std::size_t count,
             std::vector<std::uint64_t> shape) {
        const ParamId id = store_.find(from);
        tensors_.push_back({to, id, first, count, std::move(shape), is_stored_in_half(store_.info(id))});
    }

    const ParamStore& store_;
    std::vector<StoredTensor> tensors_;
};

}  // namespace

bool is_stored_in_half(const Param& param) {
    return param.rows > 1 && !param.name.ends_with(".t_embd");
}

std::vector<StoredTensor> text_tensors(const ModelShape& shape, const ParamStore& store) {
    Layout out(store);
    out.same("token_embd.weight");
    out.same("output_norm.weight");
    out.same("output.weight");
    for (int i = 0; i < shape.decoder_blocks; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        const int d = shape.width;
        out.same(p + "attn_norm.weight");
        out.rows(p + "attn_qkv.weight", p + "attn_q.weight", 0, d);
        out.rows(p + "attn_qkv.weight", p + "attn_k.weight", d, d);
        out.rows(p + "attn_qkv.weight", p + "attn_v.weight", 2 * d, d);
        out.same(p + "attn_output.weight");
        out.same(p + "ffn_norm.weight");
        out.rows(p + "ffn_gate_up.weight", p + "ffn_gate.weight", 0, shape.decoder_ffn);
        out.rows(p + "ffn_gate_up.weight", p + "ffn_up.weight", shape.decoder_ffn, shape.decoder_ffn);
        out.same(p + "ffn_down.weight");
    }
    return out.take();
}

std::vector<StoredTensor> vision_tensors(const ModelShape& shape, const ParamStore& store) {
    Layout out(store);
    out.same("v.class_embd");
    out.patch_embedding();
    out.same("v.position_embd.weight");
    out.same("v.pre_ln.weight");
    out.same("v.pre_ln.bias");
    for (int i = 0; i < shape.vision_blocks; ++i) {
        const std::string p = "v.blk." + std::to_string(i) + ".";
        const char* const names[] = {"attn_q", "attn_k", "attn_v"};
        for (int part = 0; part < 3; ++part) {
            const std::string to = p + names[part];
            out.rows(p + "attn_qkv.weight", to + ".weight", part * shape.width, shape.width);
            out.slice(p + "attn_qkv.bias", to + ".bias", part * shape.width, shape.width);
        }
        for (const char* tail : {".weight", ".bias"}) {
            out.same(p + "attn_out" + tail);
            out.same(p + "ln1" + tail);
            out.same(p + "ln2" + tail);
            // LLaVA's files call the first layer of the feed-forward part "down" and the second "up".
            out.whole(p + "fc1" + tail, p + "ffn_down" + tail);
            out.whole(p + "fc2" + tail, p + "ffn_up" + tail);
        }
    }
    for (int i = 0; shape.frames > 1 && i < shape.vision_blocks; ++i) {
        const std::string p = "vv.blk." + std::to_string(i) + ".";
        out.same(p + "t_embd");
        const char* const names[] = {"t_attn_q", "t_attn_k", "t_attn_v"};
        for (int part = 0; part < 3; ++part) {
            const std::string to = p + names[part];
            out.rows(p + "t_attn_qkv.weight", to + ".weight", part * shape.width, shape.width);
            out.slice(p + "t_attn_qkv.bias", to + ".bias", part * shape.width, shape.width);
        }
        for (const char* tail : {".weight", ".bias"}) {
            out.same(p + "t_attn_out" + tail);
            out.same(p + "t_ln" + tail);
        }
    }
    for (const char* name : {"mm.0.weight", "mm.0.bias", "mm.2.weight", "mm.2.bias"}) out.same(name);
    return out.take();
}

}  // namespace clasp::training
