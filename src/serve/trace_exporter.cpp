#include "serve/trace_exporter.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "hub/curl_library.hpp"

namespace omnirt::serve {
namespace {

constexpr std::chrono::milliseconds batch_time{1000};
constexpr long connect_ms = 2000, send_ms = 5000;
constexpr double tell_again_ms = 60'000;

std::string url_of(const std::string& endpoint) {
  const size_t scheme = endpoint.find("://");
  const std::string before = endpoint.substr(0, scheme == std::string::npos ? 0 : scheme);
  const std::string rest = scheme == std::string::npos ? "" : endpoint.substr(scheme + 3);
  const bool odd = std::any_of(endpoint.begin(), endpoint.end(),
                               [](unsigned char each) { return each <= ' ' || each == 0x7f; });
  if ((before != "http" && before != "https") || rest.empty() || rest.front() == '/' || odd ||
      endpoint.size() > 2048)
    throw InvalidRequest({"--otlp-endpoint", endpoint.substr(0, 200),
                          "is no address of a collector",
                          "give http://HOST:4318, or the whole address with its path"});
  const size_t slash = rest.find('/');
  if (slash == std::string::npos) return endpoint + "/v1/traces";
  return slash + 1 == rest.size() ? endpoint + "v1/traces" : endpoint;
}

size_t ignore_answer(char*, size_t size, size_t count, void*) {
  return size * count;
}

// One request. "" where it was taken; else why not.
std::string post(const std::string& url, const std::string& body) {
  const hub::CurlLibrary& curl = hub::curl_library();
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl.curl_easy_init(),
                                                      curl.curl_easy_cleanup);
  if (!handle) return "libcurl has no memory";
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      curl.curl_slist_append(nullptr, "Content-Type: application/json"), curl.curl_slist_free_all);
  auto set = [&](CURLoption option, auto value) {
    curl.curl_easy_setopt(handle.get(), option, value);
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_POSTFIELDS, body.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_WRITEFUNCTION, &ignore_answer);
  set(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  set(CURLOPT_TIMEOUT_MS, send_ms);
  set(CURLOPT_NOSIGNAL, 1L);
  if (const CURLcode code = curl.curl_easy_perform(handle.get()); code != CURLE_OK)
    return curl.curl_easy_strerror(code);
  long status = 0;
  curl.curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300 ? "" : fmt::format("it answers {}", status);
}

}  // namespace

TraceExporter::TraceExporter(const std::string& endpoint) : url_(url_of(endpoint)) {
  hub::curl_library();
  thread_ = std::thread([this] { work(); });
}

TraceExporter::~TraceExporter() {
  {
    std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TraceExporter::add(Span span) {
  if (!span.within.sampled) return;
  std::scoped_lock lock(mutex_);
  if (kept_.size() >= most_kept) {
    ++counts_.dropped;
    return;
  }
  kept_.push_back(std::move(span));
  if (kept_.size() >= most_sent) changed_.notify_all();
}

TraceExporter::Counts TraceExporter::counts() const {
  std::scoped_lock lock(mutex_);
  return counts_;
}

// At the end as long as batches are taken: a collector that is gone holds nothing up twice.
void TraceExporter::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, batch_time, [this] { return stopping_ || kept_.size() >= most_sent; });
    if (kept_.empty() && stopping_) return;
    if (kept_.empty()) continue;
    const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(std::min(kept_.size(), most_sent));
    const std::vector<Span> batch(std::make_move_iterator(kept_.begin()),
                                  std::make_move_iterator(end));
    kept_.erase(kept_.begin(), end);
    const size_t dropped = counts_.dropped;
    lock.unlock();
    send(batch);
    lock.lock();
    if (stopping_ && counts_.dropped > dropped) return;
  }
}

// Whatever fails costs these spans and nothing else.
std::string TraceExporter::try_send(const std::vector<Span>& spans) const {
  try {
    return post(url_, otlp_text(spans));
  } catch (const std::exception& error) {
    return error.what();
  }
}

void TraceExporter::send(const std::vector<Span>& spans) {
  const std::string why = try_send(spans);
  std::scoped_lock lock(mutex_);
  (why.empty() ? counts_.sent : counts_.dropped) += spans.size();
  if (why.empty() || (told_ms_ > 0 && now_ms() - told_ms_ < tell_again_ms)) return;
  told_ms_ = now_ms();
  spdlog::warn("{} spans are dropped so far: {}: {}", counts_.dropped, url_, why);
}

std::unique_ptr<TraceExporter> open_traces(const std::string& endpoint) {
  return endpoint.empty() ? nullptr : std::make_unique<TraceExporter>(endpoint);
}

}  // namespace omnirt::serve
