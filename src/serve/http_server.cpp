#include "serve/http_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text.h"
#include "serve/deadline_stream.h"
#include "serve/random_id.h"

namespace clasp::serve {

namespace {

constexpr const char* kIdHeader = "X-Request-Id";
constexpr std::size_t kMaxIdBytes = 64;
// Connections above the cap that still get to hear why they are closed.
constexpr std::size_t kRefusedConnections = 16;
// How often a connection that waits looks whether the server stops.
constexpr std::chrono::milliseconds kGlanceAtLine{100};
// The same for the thread that takes connections in.
constexpr std::chrono::milliseconds kListenGlance{20};

bool is_safe_id(std::string_view id) {
    constexpr std::string_view kSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:";
    return !id.empty() && id.size() <= kMaxIdBytes && id.find_first_not_of(kSafe) == std::string_view::npos;
}

// One thread for each connection. The library's own pool has a queue, behind which a question after the
// server's health would wait for those that generate.
class ConnectionThreads final : public httplib::TaskQueue {
   public:
    explicit ConnectionThreads(std::size_t limit) : limit_(limit) {}

    bool enqueue(std::function<void()> work) override {
        const std::lock_guard lock(mutex_);
        if (n_ == limit_) return false;
        try {
            std::thread([this, work = std::move(work)] {
                work();
                const std::lock_guard done(mutex_);
                --n_;
                all_done_.notify_all();
            }).detach();
        } catch (const std::system_error&) {  // no thread to be had
            return false;
        }
        ++n_;
        return true;
    }

    void shutdown() override {
        std::unique_lock lock(mutex_);
        all_done_.wait(lock, [this] { return n_ == 0; });
    }

   private:
    const std::size_t limit_;
    std::mutex mutex_;
    std::condition_variable all_done_;
    std::size_t n_ = 0;
};

// How many connections there are, together and from each address.
class ConnectionCounts {
   public:
    explicit ConnectionCounts(const HttpLimits& limits) : limits_(limits) {}

    // Whether one more is within both caps. It counts either way, until leave().
    bool enter(const std::string& address) {
        const std::lock_guard lock(mutex_);
        const std::size_t from_here = ++by_address_[address];
        return ++n_ <= limits_.max_connections && from_here <= limits_.max_connections_per_address;
    }
    void leave(const std::string& address) {
        const std::lock_guard lock(mutex_);
        --n_;
        const auto entry = by_address_.find(address);
        if (--entry->second == 0) by_address_.erase(entry);
        left_.notify_all();
    }
    void wait_until_empty() {
        std::unique_lock lock(mutex_);
        left_.wait(lock, [this] { return n_ == 0; });
    }

   private:
    const HttpLimits& limits_;
    std::mutex mutex_;
    std::condition_variable left_;
    std::size_t n_ = 0;
    std::map<std::string, std::size_t> by_address_;
};

class SinkOut final : public StreamOut {
   public:
    SinkOut(httplib::DataSink& sink, std::function<bool()> gone, std::size_t& n_bytes)
        : sink_(sink), gone_(std::move(gone)), n_bytes_(n_bytes) {}
    bool write(std::string_view piece) override {
        n_bytes_ += piece.size();
        return sink_.write(piece.data(), piece.size());
    }
    bool gone() override { return gone_(); }

   private:
    httplib::DataSink& sink_;
    std::function<bool()> gone_;
    std::size_t& n_bytes_;
};

HttpRequest translate(const httplib::Request& from) {
    HttpRequest request;
    request.id = from.get_header_value(kIdHeader);
    request.method = from.method;
    request.path = from.path;
    request.target = from.target;
    for (const auto& [name, value] : from.headers) request.headers.emplace_back(name, value);
    request.address = from.remote_addr;
    request.local_address = from.local_addr;
    request.gone = from.is_connection_closed;
    return request;
}

void set_nonblocking(int socket) {
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL, 0) | O_NONBLOCK);
}

// A socket to listen on at an address that the system makes up; negative when there is none to be had.
int unknown_listener() {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) return made;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto* const any = reinterpret_cast<const sockaddr*>(&address);
    if (bind(made, any, sizeof(address.sun_family)) == 0 && listen(made, 1) == 0) return made;
    close(made);
    return -1;
}

// The stream of the connection that this thread serves: the library tells its handlers nothing of it.
thread_local const DeadlineStream* this_connection = nullptr;

// The same of the reply that this thread gives.
struct ReplyRecord {
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    std::string code = {};
    std::function<std::string()> note = {};
    bool is_streamed = false;
    std::size_t n_bytes = 0;

    [[nodiscard]] ReplyFacts facts(int status) const {
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
        return {status, n_bytes, elapsed.count(), code, note ? note() : std::string()};
    }
};
thread_local ReplyRecord this_reply;

// The status of a failure to read: the limit that was exceeded if it was one, else what the library says.
int read_failure(int library_status) {
    const int refusal = this_connection != nullptr ? this_connection->refusal() : 0;
    return refusal != 0 ? refusal : library_status;
}

// A whole reply for a connection that the library never gets to see.
std::string plain_reply(const HttpReply& reply, const HeaderList& more) {
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " " +
                       httplib::status_message(reply.status) + "\r\nContent-Type: " + reply.type +
                       "\r\nContent-Length: " + std::to_string(reply.body.size()) +
                       "\r\nConnection: close\r\n";
    for (const HeaderList& headers : {reply.headers, more}) {
        for (const auto& [name, value] : headers) text.append(name).append(": ").append(value).append("\r\n");
    }
    return text + "\r\n" + reply.body;
}

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
    const std::string wanted = base::lower(name);
    for (const auto& [key, value] : headers) {
        if (base::lower(key) == wanted) return &value;
    }
    return nullptr;
}

class HttpServer::Impl final : public httplib::Server {
   public:
    Impl(const HttpLimits& limits, HttpHandlers handlers)
        : limits_(limits), handlers_(std::move(handlers)), counts_(limits_) {
        new_task_queue = [this] {
            return new ConnectionThreads(limits_.max_connections + kRefusedConnections);
        };
        set_payload_max_length(limits_.max_body_bytes);
        set_keep_alive_max_count(limits_.max_requests_per_connection);
        set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(limits_.idle_time).count());
        set_tcp_nodelay(true);
        set_idle_interval(0, std::chrono::microseconds(kListenGlance).count());
        set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
            return check(from, to) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
        });
        const auto without_body = [this](const httplib::Request& from, httplib::Response& to) {
            answer(translate(from), to);
        };
        const auto with_body = [this](const httplib::Request& from, httplib::Response& to,
                                      const httplib::ContentReader& read) {
            read_and_answer(from, to, read);
        };
        Get(".*", without_body);
        Options(".*", without_body);
        Post(".*", with_body);
        Put(".*", with_body);
        Patch(".*", with_body);
        Delete(".*", with_body);
        set_error_handler([this](const httplib::Request& from, httplib::Response& to) {
            if (to.body.empty()) put(handlers_.refuse(translate(from), read_failure(to.status)), to);
            return HandlerResponse::Handled;
        });
        set_exception_handler(
            [this](const httplib::Request& from, httplib::Response& to, const std::exception_ptr&) {
                put(handlers_.refuse(translate(from), 500), to);
            });
        set_post_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
            const HttpRequest head = translate(from);
            for (const auto& [name, value] : handlers_.common_headers(head)) to.set_header(name, value);
            if (this_reply.is_streamed) return;  // it is over when its last piece is
            this_reply.n_bytes = to.body.size();
            if (handlers_.on_reply) handlers_.on_reply(head, this_reply.facts(to.status));
        });
    }

    Status begin(const std::string& host, int port) {
        port_ = port == 0 ? bind_to_any_port(host) : bind_to_port(host, port) ? port : -1;
        if (port_ <= 0) {
            return {Code::Unavailable, "cannot listen on " + base::printable(host, 256) + " port " +
                                           std::to_string(port) + "; is another server there?"};
        }
        set_nonblocking(svr_sock_.load());
        listener_ = std::thread([this] { listen_after_bind(); });
        wait_until_ready();
        return ok_status();
    }

    [[nodiscard]] int port() const { return port_; }

    void serve(int socket) { process_and_close_socket(socket); }

    // The library gives replies in pieces up as soon as it has no socket to listen on. So it gets one that
    // nobody can know, and the one that everybody knows is closed.
    void stop_listening() {
        if (is_stopping_.exchange(true) || !listener_.joinable()) return;
        const socket_t nobodys = unknown_listener();
        if (nobodys < 0) {
            stop();
            return;
        }
        const socket_t known = svr_sock_.exchange(nobodys);
        std::this_thread::sleep_for(2 * kListenGlance);  // whoever looked at the old one has looked away
        shutdown(known, SHUT_RDWR);
        close(known);
    }

    void join() {
        counts_.wait_until_empty();
        stop();
        if (listener_.joinable()) listener_.join();
    }

   private:
    bool process_and_close_socket(socket_t socket) override {
        const std::string address = remote_address(socket);
        DeadlineStream stream(socket, limits_);
        this_connection = &stream;
        const bool is_welcome = counts_.enter(address);
        const bool ended_well = serve_guarded([&] {
            if (is_welcome) return serve_connection(stream, address, local_address(socket));
            refuse(stream, 503, address);
            return false;
        });
        counts_.leave(address);
        this_connection = nullptr;
        // What was not read would reset the connection and take our last words with it.
        shutdown(socket, SHUT_WR);
        std::array<char, 4096> rest{};
        for (int i = 0; i < 8 && recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i) {
        }
        close(socket);
        return ended_well;
    }

    bool serve_connection(DeadlineStream& stream, const std::string& address, const std::string& local) {
        for (std::size_t left = limits_.max_requests_per_connection; left > 0; --left) {
            if (!wait_for_request(stream)) return true;
            stream.begin_request();
            this_reply = {};
            bool is_closed = false;
            const bool ended_well =
                process_request(stream, address, 0, local, 0, left == 1 || is_stopping_.load(), is_closed,
                                [&](httplib::Request& request) { prepare(stream, request); });
            if (!ended_well && stream.refusal() != 0 && !stream.has_written())
                refuse(stream, stream.refusal(), address);
            if (!ended_well || is_closed) return ended_well;
        }
        return true;
    }

    bool wait_for_request(DeadlineStream& stream) const {
        const auto until = DeadlineStream::Clock::now() + limits_.idle_time;
        while (!is_stopping_ && DeadlineStream::Clock::now() < until) {
            if (stream.wait_for_request(kGlanceAtLine)) return true;
            if (stream.is_gone()) return false;
        }
        return false;
    }

    // Between the head and whatever looks at it.
    void prepare(DeadlineStream& stream, httplib::Request& request) const {
        request.ranges.clear();  // our replies are whole
        const std::string id = request.get_header_value(kIdHeader);
        request.headers.erase(kIdHeader);
        request.set_header(kIdHeader, is_safe_id(id) ? id : random_id("req-"));
        stream.begin_body(request.has_header("Content-Length")
                              ? request.get_header_value_u64("Content-Length", limits_.max_body_bytes)
                              : limits_.max_body_bytes);
    }

    // A reply before there is a request.
    void refuse(DeadlineStream& stream, int status, const std::string& address) const {
        HttpRequest head;
        head.id = random_id("req-");
        head.address = address;
        const HttpReply reply = handlers_.refuse(head, status);
        const std::string text = plain_reply(reply, handlers_.common_headers(head));
        if (handlers_.on_reply) {
            handlers_.on_reply(head, {.status = status, .bytes = reply.body.size(), .code = reply.code});
        }
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t n = stream.write(text.data() + at, text.size() - at);
            if (n <= 0) return;
            at += static_cast<std::size_t>(n);
        }
    }

    // True: the request ends here, before its body.
    bool check(const httplib::Request& from, httplib::Response& to) const {
        const HttpRequest head = translate(from);
        std::optional<HttpReply> reply = handlers_.check(head);
        if (!reply && from.has_header("Content-Length") &&
            from.get_header_value_u64("Content-Length", limits_.max_body_bytes + 1) >
                limits_.max_body_bytes) {
            reply = handlers_.refuse(head, 413);
        }
        if (!reply && (from.is_multipart_form_data() ||
                       (from.has_header("Content-Encoding") &&
                        base::lower(from.get_header_value("Content-Encoding")) != "identity"))) {
            reply = handlers_.refuse(head, 415);
        }
        if (!reply) return false;
        put(std::move(*reply), to);
        return true;
    }

    void read_and_answer(const httplib::Request& from, httplib::Response& to,
                         const httplib::ContentReader& read) const {
        HttpRequest request = translate(from);
        const bool is_whole = read([&](const char* data, std::size_t n) {
            if (n > limits_.max_body_bytes - request.body.size()) {
                to.status = 413;
                return false;
            }
            request.body.append(data, n);
            return true;
        });
        if (is_whole) {
            answer(std::move(request), to);
            return;
        }
        put(handlers_.refuse(request, read_failure(to.status == 413 ? 413 : 400)), to);
    }

    void answer(HttpRequest request, httplib::Response& to) const {
        HttpReply reply = handlers_.handle(request);
        if (reply.stream) {
            request.body = {};
            put_stream(std::move(reply), std::move(request), to);
        } else {
            put(std::move(reply), to);
        }
    }

    void put_stream(HttpReply reply, HttpRequest head, httplib::Response& to) const {
        put_head(reply, to);
        this_reply.is_streamed = true;
        const int status = reply.status;
        std::function<bool()> gone = head.gone;
        to.set_chunked_content_provider(
            reply.type,
            [stream = std::move(reply.stream), gone = std::move(gone)](std::size_t, httplib::DataSink& sink) {
                SinkOut out(sink, gone, this_reply.n_bytes);
                stream(out);
                sink.done();
                return true;
            },
            [this, head = std::move(head), status](bool) {
                if (handlers_.on_reply) handlers_.on_reply(head, this_reply.facts(status));
                this_reply = {};
            });
    }

    static void put_head(const HttpReply& reply, httplib::Response& to) {
        to.status = reply.status;
        for (const auto& [name, value] : reply.headers) to.set_header(name, value);
        this_reply.code = reply.code;
        this_reply.note = reply.note;
    }

    static void put(HttpReply reply, httplib::Response& to) {
        put_head(reply, to);
        if (reply.status != 204) to.set_content(std::move(reply.body), reply.type);
    }

    const HttpLimits limits_;
    const HttpHandlers handlers_;
    ConnectionCounts counts_;
    std::thread listener_;
    std::atomic<bool> is_stopping_{false};
    int port_ = 0;
};

HttpServer::HttpServer(const HttpLimits& limits, HttpHandlers handlers)
    : impl_(std::make_unique<Impl>(limits, std::move(handlers))) {}

HttpServer::~HttpServer() {
    stop_listening();
    join();
}

Status HttpServer::start(const std::string& host, int port) {
    return impl_->begin(host, port);
}

int HttpServer::port() const {
    return impl_->port();
}

void HttpServer::serve(int socket) {
    impl_->serve(socket);
}

void HttpServer::stop_listening() {
    impl_->stop_listening();
}

void HttpServer::join() {
    impl_->join();
}

}  // namespace clasp::serve
