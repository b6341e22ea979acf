#include "base/cpu_share.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/control_groups.h"
#include "base/text.h"

namespace clasp::base {

namespace {

std::optional<double> ratio(std::string_view quota, std::string_view period) {
    const auto a = parse_double(quota);
    const auto b = parse_double(period);
    if (!a || !b || *a <= 0.0 || *b <= 0.0) return std::nullopt;
    return *a / *b;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

// Of one group; nothing when it sets no limit ("max" in version 2, -1 in version 1).
std::optional<double> quota_of(const GroupFolder& folder) {
    if (folder.is_v2) {
        const std::string text = first_line(kernel_text(folder.path + "/cpu.max"));
        const std::size_t space = text.find(' ');
        if (space == std::string::npos) return std::nullopt;
        return ratio(std::string_view(text).substr(0, space), std::string_view(text).substr(space + 1));
    }
    return ratio(first_line(kernel_text(folder.path + "/cpu.cfs_quota_us")),
                 first_line(kernel_text(folder.path + "/cpu.cfs_period_us")));
}

std::size_t affinity_count() {
    cpu_set_t set;
    CPU_ZERO(&set);
    // Fails on machines with more processors than the set has room for; then all of them count.
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
    }
    return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

std::string share_file() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime == '/') return std::string(runtime) + "/clasp-cpus";
    return "/tmp/clasp-cpus-" + std::to_string(::geteuid());
}

// Only a file of this user's is trusted: others could lock it for ever.
int open_share(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (descriptor < 0) return -1;
    struct stat info {};
    if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid()) {
        return descriptor;
    }
    ::close(descriptor);
    return -1;
}

struct flock one_byte(std::size_t place, int type) {
    struct flock lock {};
    lock.l_type = static_cast<short>(type);
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(place);
    lock.l_len = 1;
    return lock;
}

}  // namespace

std::optional<double> cpu_quota(std::string_view groups, const std::string& root) {
    std::optional<double> smallest;
    for (const GroupFolder& folder : group_folders(groups, "cpu", root)) {
        const auto quota = quota_of(folder);
        if (quota && (!smallest || *quota < *smallest)) smallest = quota;
    }
    return smallest;
}

std::size_t usable_cpus() {
    const std::size_t cpus = affinity_count();
    const auto quota = cpu_quota(kernel_text("/proc/self/cgroup"), "/sys/fs/cgroup");
    if (!quota || *quota >= static_cast<double>(cpus)) return cpus;
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(*quota)));
}

std::size_t max_threads() {
    return 4 * usable_cpus();
}

std::optional<double> waiting_share() {
    constexpr double kMinNanoseconds = 5e6;
    struct Times {
        double running = 0.0;
        double waiting = 0.0;
    };
    thread_local Times last;
    std::ifstream in("/proc/thread-self/schedstat");
    Times now;
    if (!(in >> now.running >> now.waiting)) return std::nullopt;
    const double running = now.running - last.running;
    const double waiting = now.waiting - last.waiting;
    if (running + waiting < kMinNanoseconds) return std::nullopt;
    last = now;
    return waiting / (running + waiting);
}

std::size_t ThreadGovernor::threads(std::size_t share, std::optional<double> waiting, Clock::time_point now) {
    using std::chrono::milliseconds;
    constexpr double kBusy = 0.15;
    constexpr milliseconds kFirstPause{500};
    constexpr milliseconds kLongestPause{16000};
    allowed_ = std::min(allowed_, share);
    if (!waiting) return std::max<std::size_t>(1, allowed_);
    if (*waiting > kBusy) {
        allowed_ = std::max<std::size_t>(1, allowed_ / 2);
        pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
        retry_ = now + pause_;
    } else if (now >= retry_ && allowed_ < share) {
        allowed_ = std::min(share, std::max<std::size_t>(1, allowed_) * 2);
    }
    return std::max<std::size_t>(1, allowed_);
}

CpuShare::CpuShare(std::size_t n_cpus) : CpuShare(n_cpus, share_file()) {}

CpuShare::CpuShare(std::size_t n_cpus, const std::string& path)
    : n_cpus_(std::max<std::size_t>(1, n_cpus)), descriptor_(open_share(path)) {}

CpuShare::~CpuShare() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void CpuShare::enter() {
    if (descriptor_ < 0 || seat_) return;
    for (std::size_t place = 0; place < n_cpus_; ++place) {
        struct flock lock = one_byte(place, F_WRLCK);
        if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) continue;
        seat_ = place;
        return;
    }
}

void CpuShare::leave() {
    if (!seat_) return;
    struct flock lock = one_byte(*seat_, F_UNLCK);
    static_cast<void>(::fcntl(descriptor_, F_OFD_SETLK, &lock));
    seat_.reset();
}

std::size_t CpuShare::threads() const {
    if (descriptor_ < 0) return n_cpus_;
    if (!seat_) return 1;  // as many processes as processors compute already
    std::size_t n_processes = 1;
    for (std::size_t place = 0; place < n_cpus_; ++place) {
        if (place == *seat_) continue;
        struct flock lock = one_byte(place, F_WRLCK);
        if (::fcntl(descriptor_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) ++n_processes;
    }
    return std::max<std::size_t>(1, n_cpus_ / n_processes);
}

}  // namespace clasp::base
