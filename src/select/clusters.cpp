#include "select/clusters.h"

#include <algorithm>

namespace clasp::selection {
namespace {

void list_members(SelectWorkspace::Buffers& buffers) {
    std::fill(buffers.member_begin.begin(), buffers.member_begin.end(), 0U);
    for (const std::uint32_t k : buffers.assignment) ++buffers.member_begin[k];
    std::uint32_t end = 0;
    for (std::uint32_t& begin : buffers.member_begin) {
        end += begin;
        begin = end;
    }
    // Filled from the back, each begin moves from its cluster's end to its cluster's begin.
    for (std::size_t t = buffers.assignment.size(); t-- > 0;) {
        buffers.members[--buffers.member_begin[buffers.assignment[t]]] = static_cast<std::uint32_t>(t);
    }
}

}  // namespace

void start_clusters(std::size_t n, std::size_t n_clusters, SelectWorkspace::Buffers& buffers) {
    buffers.assignment.assign(n, static_cast<std::uint32_t>(n_clusters));
    buffers.next_assignment.resize(n);
    buffers.best.resize(n);
    buffers.member_begin.resize(n_clusters + 1);
    buffers.members.resize(n);
    buffers.changed.resize(n_clusters + 1);
    buffers.pending.resize(n_clusters);
}

std::span<const std::uint32_t> members_of(const SelectWorkspace::Buffers& buffers, std::size_t cluster) {
    const std::uint32_t begin = buffers.member_begin[cluster];
    return std::span(buffers.members).subspan(begin, buffers.member_begin[cluster + 1] - begin);
}

bool take_assignment(SelectWorkspace::Buffers& buffers) {
    std::fill(buffers.changed.begin(), buffers.changed.end(), std::uint8_t{0});
    bool any = false;
    for (std::size_t t = 0; t < buffers.assignment.size(); ++t) {
        if (buffers.assignment[t] == buffers.next_assignment[t]) continue;
        buffers.changed[buffers.assignment[t]] = 1;
        buffers.changed[buffers.next_assignment[t]] = 1;
        any = true;
    }
    if (!any) return false;
    buffers.assignment.swap(buffers.next_assignment);
    list_members(buffers);
    return true;
}

}  // namespace clasp::selection
