#include "hub/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "hub/curl_library.hpp"
#include "hub/proxy.hpp"

namespace omnirt::hub {
namespace {

constexpr long most_redirections = 5;
constexpr long connect_seconds = 30;
constexpr long silent_seconds = 60;  // without a byte: the connection is given up
constexpr size_t max_header_bytes = size_t{64} << 10;
constexpr int ok = 200, partial = 206;

// Those that another try does not mend.
bool is_final(CURLcode code) {
  constexpr std::array codes{CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,
                             CURLE_TOO_MANY_REDIRECTS,   CURLE_PEER_FAILED_VERIFICATION,
                             CURLE_SSL_CERTPROBLEM,      CURLE_SSL_CACERT_BADFILE,
                             CURLE_OUT_OF_MEMORY,        CURLE_FAILED_INIT};
  return std::ranges::find(codes, code) != codes.end();
}

// What a user can do where no connection comes about.
std::string fix_of(CURLcode code, const std::string& address) {
  const std::string host = host_of(address);
  constexpr std::array not_reached{
      CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
      CURLE_OPERATION_TIMEDOUT,    CURLE_RECV_ERROR,           CURLE_GOT_NOTHING,
      CURLE_SSL_CONNECT_ERROR};
  if (std::ranges::find(not_reached, code) == not_reached.end()) return "";
  if (auto proxy = proxy_of(address))
    return fmt::format(
        "; {} is asked through the proxy {} ({}): check it, or add the host to "
        "NO_PROXY",
        host, proxy->address, proxy->variable);
  return fmt::format(
      "; check the network, or name another address of the hub in HF_ENDPOINT ({} "
      "cannot be reached)",
      host);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  return text;
}

// "HTTP/1.1 206 Partial Content" is 206.
int status_of(std::string_view line) {
  size_t space = line.find(' ');
  int status = 0;
  for (char c : line.substr(std::min(line.size(), space + 1)).substr(0, 3))
    status = c >= '0' && c <= '9' ? status * 10 + (c - '0') : 0;
  return space == line.npos ? 0 : status;
}

}  // namespace

std::string Answer::header(const std::string& name) const {
  auto it = headers.find(name);
  return it == headers.end() ? "" : it->second;
}

bool Answer::has_content() const {
  return status == ok || status == partial;
}

struct Connection::Transfer {
  Answer answer;
  size_t header_bytes = 0;
  const Sink* sink = nullptr;
  std::exception_ptr thrown;
};

Connection::Connection(const Settings& settings)
    : curl_(curl_library().curl_easy_init()),
      encrypted_(settings.endpoint.starts_with("https://")) {
  if (!curl_) throw RunFailed("libcurl gives no connection");
  auto* headers = curl_library().curl_slist_append(nullptr, "User-Agent: omnirt");
  if (!settings.token.empty())
    headers = curl_library().curl_slist_append(
        headers, fmt::format("Authorization: Bearer {}", settings.token).c_str());
  headers_ = headers;
}

Connection::~Connection() {
  curl_library().curl_slist_free_all(static_cast<curl_slist*>(headers_));
  curl_library().curl_easy_cleanup(curl_);
}

// Headers of the answer that redirects are dropped when those of the next one begin.
size_t Connection::on_header(char* text, size_t size, size_t count, void* transfer) {
  auto& to = *static_cast<Transfer*>(transfer);
  const std::string_view line(text, size * count);
  to.header_bytes += line.size();
  if (to.header_bytes > max_header_bytes) return 0;
  if (line.starts_with("HTTP/")) {
    to.answer = {status_of(line), {}};
  } else if (size_t colon = line.find(':'); colon != line.npos) {
    to.answer.headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return line.size();
}

// No exception may pass through libcurl's frames.
size_t Connection::on_body(char* bytes, size_t size, size_t count, void* transfer) {
  auto& to = *static_cast<Transfer*>(transfer);
  if (!to.answer.has_content()) return size * count;
  try {
    (*to.sink)(to.answer, std::as_bytes(std::span(bytes, size * count)));
    return size * count;
  } catch (...) {
    to.thrown = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

void Connection::prepare(const std::string& address, uint64_t from, Transfer& transfer) {
  auto set = [this](CURLoption option, auto value) {
    if (curl_library().curl_easy_setopt(curl_, option, value) != CURLE_OK)
      throw RunFailed(fmt::format("libcurl takes no option {}", static_cast<int>(option)));
  };
  const char* protocols = encrypted_ ? "https" : "http,https";
  set(CURLOPT_URL, address.c_str());
  set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(headers_));
  set(CURLOPT_PROTOCOLS_STR, protocols);
  set(CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, most_redirections);
  set(CURLOPT_CONNECTTIMEOUT, connect_seconds);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, silent_seconds);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(0));
  // A range, not libcurl's resumption: that fails where a server sends the whole file.
  const std::string range = fmt::format("{}-", from);
  set(CURLOPT_RANGE, from > 0 ? range.c_str() : static_cast<const char*>(nullptr));
  set(CURLOPT_HEADERFUNCTION, &Connection::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  set(CURLOPT_WRITEFUNCTION, &Connection::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
}

Answer Connection::get(const std::string& address, uint64_t from, const Sink& sink) {
  Transfer transfer;
  transfer.sink = &sink;
  prepare(address, from, transfer);
  const CURLcode code = curl_library().curl_easy_perform(curl_);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (code == CURLE_OK && transfer.answer.status > 0) return transfer.answer;
  const std::string what = fmt::format("{}: {}{}", address, curl_library().curl_easy_strerror(code),
                                       fix_of(code, address));
  if (is_final(code)) throw RunFailed(what);
  throw ConnectionLost(what);
}

}  // namespace omnirt::hub
