
#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <thread>

#include "base/error.hpp"
#include "serve/http_connection.hpp"
#include "serve/survive.hpp"

namespace omnirt::serve {
namespace {

using Tcp = net::ip::tcp;

[[noreturn]] void cannot_listen(const std::string& host, uint16_t port, const std::string& why) {
  throw InvalidRequest({"--host, --port", host + ":" + std::to_string(port),
                        "the server cannot listen there: " + why,
                        "give an address of this machine and a port that is free"});
}

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpLimits& limits, HttpProgram program) {
    shared->limits = limits;
    shared->program = std::move(program);
    shared->workers = std::make_unique<net::thread_pool>(limits.workers);
  }

  void listen(const std::string& host, uint16_t port) {
    beast::error_code error;
    const auto address = net::ip::make_address(address_of_host(host), error);
    if (error) cannot_listen(host, port, "this is no address");
    const Tcp::endpoint endpoint(address, port);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
    if (error) cannot_listen(host, port, error.message());
  }

  void accept() {
    acceptor.async_accept([this](beast::error_code error, Tcp::socket socket) {
      if (error == net::error::operation_aborted || shared->stopping) return;
      if (!error) take(std::move(socket));
      if (!error) return accept();
      // Too many open files, say: again once some are closed.
      later.expires_after(std::chrono::milliseconds(100));
      later.async_wait([this](beast::error_code stopped) {
        if (!stopped) accept();
      });
    });
  }

  void take(Tcp::socket socket) {
    constexpr size_t most_turned_away = 64;
    beast::error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    auto connection =
        std::make_shared<HttpConnection>(beast::tcp_stream(std::move(socket)), shared);
    open.remove_if([](const auto& each) { return each.expired(); });
    open.push_back(connection);
    if (const std::string why = refuses(connection->peer()); why.empty())
      connection->start();
    else if (shared->turned_away < most_turned_away)
      connection->turn_away(why);
    else
      connection->close();
  }

  // "" where a connection of this peer is taken. One that says nothing makes room for it.
  std::string refuses(const std::string& peer) {
    auto its = shared->peers.find(peer);
    if (its != shared->peers.end() && its->second >= shared->limits.connections_per_peer &&
        !close_waiting(peer))
      return "this address has as many connections as one may have";
    if (shared->connections >= shared->limits.connections && !close_waiting(""))
      return "the server has as many connections as it may have";
    return "";
  }

  // Closes the connection that has waited longest for a request's header: of `peer`, or ("") of
  // the peer that has most. False where all are being answered.
  bool close_waiting(const std::string& peer) {
    std::shared_ptr<HttpConnection> longest;
    size_t most = 0;
    for (const auto& each : open) {
      auto connection = each.lock();
      if (!connection || connection->waiting_since_ms() == 0) continue;
      if (!peer.empty() && connection->peer() != peer) continue;
      const size_t count = shared->peers[connection->peer()];
      const bool sooner = longest && connection->waiting_since_ms() >= longest->waiting_since_ms();
      if (count < most || (count == most && sooner)) continue;
      most = count;
      longest = std::move(connection);
    }
    if (longest) longest->close();
    return longest != nullptr;
  }

  // A connection whose handler throws (for want of memory, say) ends, and the others go on.
  void run() {
    while (!survive("a connection", [this] { shared->io.run(); })) {
    }
  }

  void close_all() {
    shared->stopping = true;
    beast::error_code ignored;
    acceptor.close(ignored);
    later.cancel();
    for (const auto& each : open) {
      if (auto connection = each.lock()) connection->close();
    }
    work.reset();
  }

  std::shared_ptr<HttpShared> shared = std::make_shared<HttpShared>();
  Tcp::acceptor acceptor{shared->io};
  net::steady_timer later{shared->io};
  net::executor_work_guard<net::io_context::executor_type> work{shared->io.get_executor()};
  std::list<std::weak_ptr<HttpConnection>> open;
  std::thread thread;
};

HttpServer::HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits,
                       HttpProgram program)
    : impl_(std::make_unique<Impl>(limits, std::move(program))) {
  impl_->listen(host, port);
}

HttpServer::~HttpServer() {
  stop();
}

uint16_t HttpServer::port() const {
  return impl_->acceptor.local_endpoint().port();
}

void HttpServer::start() {
  impl_->accept();
  impl_->thread = std::thread([this] { impl_->run(); });
}

// The workers first: what they answer is still sent.
void HttpServer::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->shared->workers->join();
  net::post(impl_->shared->io, [this] { impl_->close_all(); });
  impl_->thread.join();
}

void HttpServer::later(std::function<void()> work) {
  net::post(*impl_->shared->workers,
            [work = std::move(work)] { survive("work of a server", work); });
}

size_t HttpServer::connections() const {
  return impl_->shared->connections;
}

}  // namespace omnirt::serve
