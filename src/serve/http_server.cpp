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
    const auto address = net::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
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
    const bool too_many = shared->connections >= shared->limits.connections;
    beast::error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    auto connection =
        std::make_shared<HttpConnection>(beast::tcp_stream(std::move(socket)), shared);
    open.remove_if([](const auto& each) { return each.expired(); });
    open.push_back(connection);
    if (too_many)
      connection->turn_away();
    else
      connection->start();
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
  impl_->thread = std::thread([this] {
    // Connections other than the one whose handler threw go on.
    while (!survive("connections", [this] { impl_->shared->io.run(); })) {
    }
  });
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
