// The sessions and runs of omnirt.h.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "capi/guarded.hpp"
#include "capi/result.hpp"
#include "catalogue/make_session.hpp"
#include "engine/session.hpp"
#include "request/request_text.hpp"

// Each call holds the session on its own, so that omnirt_session_destroy may come while it lasts.
struct omnirt_session {
  std::shared_ptr<omnirt::Session> session = omnirt::make_session();
};

namespace omnirt::capi {
namespace {

GenerateRequest read_request(const char* text) {
  require(text, "request");
  return parse_request_text({text, strnlen(text, max_request_bytes + 1)}, "request");
}

bool is_strict(unsigned flags) {
  constexpr unsigned known = OMNIRT_STRICT;
  if (flags & ~known)
    throw InvalidRequest({"flags", fmt::format("{:#x}", flags), "holds flags that are not known",
                          "give 0 or OMNIRT_STRICT"});
  return flags & OMNIRT_STRICT;
}

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// What is said of a request that cannot be read.
Json refused(const InvalidRequest& error) {
  Json errors = Json::array();
  for (const Finding& finding : error.findings()) errors.push_back(to_json(finding));
  return {{"ok", false}, {"errors", errors}, {"warnings", Json::array()}};
}

// Writes what was settled, or why it was not; throws the errors.
void check(Session& session, const char* request, bool strict, char*& settled) {
  GenerateRequest read;
  try {
    read = read_request(request);
  } catch (const InvalidRequest& error) {
    settled = copy_of(text_of(refused(error)));
    throw InvalidRequest(error.findings());
  }
  const CheckReport checked = session.check(read, strict, Files::where_named);
  settled = copy_of(text_of(checked.to_json()));
  if (!checked.ok) throw InvalidRequest(checked.errors);
}

// Fills the result in whatever happens, and returns what was thrown.
std::exception_ptr run(Session& session, const GenerateRequest& request, bool strict,
                       omnirt_on_progress on_progress, void* user, omnirt_result& result) {
  CancelToken cancel;
  SessionHooks hooks;
  hooks.files = Files::where_named;
  hooks.on_artifact = [&](const Artifact& artifact) { result.take(artifact); };
  if (on_progress) {
    hooks.on_progress = [&](const SessionProgress& at) {
      omnirt_progress progress{at.stage.c_str(), at.step, at.steps};
      if (on_progress(&progress, user) != 0) cancel.cancel();
    };
  }
  RunReport report;
  std::exception_ptr thrown;
  try {
    session.run(request, strict, cancel, hooks, report);
  } catch (...) {
    thrown = std::current_exception();
    result.drop_images();
  }
  result.take(report);
  return thrown;
}

}  // namespace
}  // namespace omnirt::capi

using namespace omnirt::capi;

int omnirt_api_version(void) {
  return OMNIRT_API_VERSION;
}

const char* omnirt_last_error(void) {
  return last_error().c_str();
}

omnirt_status omnirt_session_create(omnirt_session** session) {
  return guarded([&] {
    require(session, "session");
    *session = nullptr;
    *session = new omnirt_session;
  });
}

omnirt_status omnirt_session_confine(omnirt_session* session, const char* folder) {
  return guarded([&] {
    require(session, "session");
    require(folder, "folder");
    session->session->confine(folder);
  });
}

void omnirt_session_destroy(omnirt_session* session) {
  delete session;
}

omnirt_status omnirt_validate(omnirt_session* session, const char* request, unsigned flags,
                              char** findings) {
  return guarded([&] {
    require(findings, "findings");
    *findings = nullptr;
    require(session, "session");
    require(request, "request");
    const std::shared_ptr<omnirt::Session> held = session->session;
    check(*held, request, is_strict(flags), *findings);
  });
}

void omnirt_text_destroy(char* text) {
  std::free(text);
}

omnirt_status omnirt_run(omnirt_session* session, const char* request, unsigned flags,
                         omnirt_on_progress on_progress, void* user, omnirt_result** result) {
  return guarded([&] {
    require(result, "result");
    *result = nullptr;
    require(session, "session");
    const std::shared_ptr<omnirt::Session> held = session->session;
    const bool strict = is_strict(flags);
    const omnirt::GenerateRequest read = read_request(request);
    // The caller's once the run has ended: on_progress cannot destroy it.
    auto made = std::make_unique<omnirt_result>();
    const std::exception_ptr thrown = run(*held, read, strict, on_progress, user, *made);
    *result = made.release();
    if (thrown) std::rethrow_exception(thrown);
  });
}
