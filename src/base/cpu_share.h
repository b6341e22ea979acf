// How many threads are worth starting: what the system lets this process use, shared with the other processes
// of the same user that compute at the same moment, and fewer while the machine is busy with other things.
//
// ggml's threads wait for each other by spinning. With more of them than processors, one that waits takes the
// time of the one it waits for, and everything takes tens of times longer. So processes tell each other that
// they compute: each locks one byte of a small file while it does, and counts the bytes that others have
// locked. A lock ends with its process, however that ends, and nobody waits for one. Work of others shows in
// how long a thread stands in line for a processor.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace clasp::base {

// Processors of the affinity mask, or fewer if a control group allows less time. At least 1.
std::size_t usable_cpus();

// The most threads that may be asked for: four for each of those. Graphs run on no more than one for each
// (Compute::threads_now()): more would wait for each other.
std::size_t max_threads();

// The processors' time that control groups allow: the smallest limit of the group and those around it.
// `groups` is the text of /proc/self/cgroup, `root` the folder where control groups are mounted.
std::optional<double> cpu_quota(std::string_view groups, const std::string& root);

// The share of its time that the calling thread stood in line for a processor since it last asked, or since
// it began. Nothing when too little time has passed to tell, or the kernel does not say.
std::optional<double> waiting_share();

// One process's place among those that compute. Not thread safe.
class CpuShare {
   public:
    // The file is that of the user, in the runtime folder or in /tmp. Without one nothing is shared.
    explicit CpuShare(std::size_t n_cpus);
    // With a file of one's own, for tests.
    CpuShare(std::size_t n_cpus, const std::string& path);
    ~CpuShare();
    CpuShare(const CpuShare&) = delete;
    CpuShare& operator=(const CpuShare&) = delete;

    // From now on until leave() this process counts as one that computes.
    void enter();
    void leave();
    // Threads for this process, between enter() and leave(): all processors divided by the processes that
    // compute, at least 1.
    [[nodiscard]] std::size_t threads() const;

   private:
    std::size_t n_cpus_;
    int descriptor_ = -1;
    std::optional<std::size_t> seat_;  // the byte that is locked
};

// How many threads to use next, from the share of this process and from how long it had to wait of late:
// halved when it waited much, doubled again after a while without. Not thread safe.
class ThreadGovernor {
   public:
    using Clock = std::chrono::steady_clock;

    // share: of CpuShare::threads(); waiting: of waiting_share().
    std::size_t threads(std::size_t share, std::optional<double> waiting, Clock::time_point now);

   private:
    std::size_t allowed_ = static_cast<std::size_t>(-1);
    Clock::time_point retry_ = {};        // not more threads before this
    std::chrono::milliseconds pause_{0};  // how long the last reduction lasted
};

}  // namespace clasp::base
