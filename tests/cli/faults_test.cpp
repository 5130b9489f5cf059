// A job of the server while calls of the system fail, each in turn, or are the last of the process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>

#include "cli/server_process.hpp"
#include "io/image.hpp"
#include "plugins/failing_calls.hpp"
#include "serve/http_client.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

#ifdef OMNIRT_FAILING_CALLS

// All calls are tried with OMNIRT_EVERY_FAULT set, which takes minutes; else each `few`-th.
int64_t stride(int64_t few) {
  return std::getenv("OMNIRT_EVERY_FAULT") ? 1 : few;
}

// The page that a test and the program share.
class Faults {
 public:
  Faults() : file_(folder_.write("calls", std::string(sizeof(FailingCalls), '\0'))) {
    const int fd = ::open(file_.c_str(), O_RDWR);
    page_ = static_cast<FailingCalls*>(
        ::mmap(nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ~Faults() { ::munmap(page_, sizeof(FailingCalls)); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  std::vector<std::string> variables() const {
    return {"LD_PRELOAD=" OMNIRT_FAILING_CALLS, "OMNIRT_FAILING_CALLS=" + file_};
  }
  // The n-th call from now, from 1.
  void set(Call call, Fault fault, int error, int64_t at) {
    page_->call = Call::none;
    page_->fault = fault;
    page_->error = error;
    page_->at = at;
    page_->seen = 0;
    page_->call = call;
  }
  // How many calls there were; none fails any more.
  int64_t clear() {
    page_->call = Call::none;
    return page_->seen;
  }

 private:
  Scratch folder_;
  std::string file_;
  FailingCalls* page_;
};

Json ask(uint16_t port, const std::string& path) {
  return serve::HttpClient(port).get(path).json();
}

// An image to be changed, so that the job has files of its own, and previews.
std::string submit(uint16_t port) {
  const Json request = {{"inputs", {{"prompt", "a red apple"}}},
                        {"config", {{"seed", 7}, {"num_inference_steps", 2}, {"preview_every", 1}}},
                        {"async", true}};
  const std::string image = io::encode_image(io::Image::zeros(128, 128, 3), io::ImageFormat::png);
  std::string body;
  for (const auto& [name, bytes] :
       {std::pair{"request", request.dump()}, {"image", image}, {"mask", image}})
    body += "--xx\r\nContent-Disposition: form-data; name=\"" + std::string(name) + "\"\r\n\r\n" +
            bytes + "\r\n";
  const auto answer = serve::HttpClient(port).post(
      "/v1/generate", body + "--xx--\r\n", "Content-Type: multipart/form-data; boundary=xx\r\n");
  if (answer.status == 202) return answer.json()["id"];
  // A refusal says so.
  if (answer.status != 0) {
    EXPECT_GE(answer.status, 500) << answer.body;
    EXPECT_TRUE(answer.json().contains("detail")) << answer.body;
  }
  return "";
}

void follow(uint16_t port, const std::string& id) {
  serve::HttpClient reader(port);
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_all();
}

std::string image_of(uint16_t port, const std::string& id) {
  return serve::HttpClient(port).get("/v1/jobs/" + id + "/artifacts/0").body;
}

// A state folder, and what became of the jobs in it.
class Jobs {
 public:
  std::vector<std::string> flags() const {
    return {"-m", "emoji=" + source_path("models/emoji").string(), "--state", state_.file("state")};
  }
  // One more with the fault; whether it is accepted. Its end is a state with its reason.
  bool run(uint16_t port) {
    const std::string id = submit(port);
    if (id.empty()) return false;
    accepted_.push_back(id);
    follow(port, id);
    return true;
  }
  // Each is there, and has ended well or says why not; those that were done are as they were.
  void check(uint16_t port) {
    for (const std::string& id : accepted_) {
      follow(port, id);
      const Json job = ask(port, "/v1/jobs/" + id);
      const std::string state = job.value("state", "lost");
      ++ends_[state];
      EXPECT_TRUE(state == "done" || job.contains("error")) << job;
      if (state != "done") continue;
      const std::string image = image_of(port, id);
      if (image_.empty()) image_ = image;
      EXPECT_TRUE(image == image_) << id << " has another image";
    }
  }
  // That an image is made after all.
  void expect_one_more(uint16_t port) {
    const std::string id = submit(port);
    ASSERT_FALSE(id.empty());
    accepted_ = {id};
    const int before = ends_["done"];
    check(port);
    EXPECT_EQ(ends_["done"], before + 1);
  }
  const std::map<std::string, int>& ends() const { return ends_; }
  void forget() { accepted_.clear(); }

 private:
  Scratch state_;
  std::vector<std::string> accepted_;
  std::map<std::string, int> ends_;
  std::string image_;
};

struct Kind {
  const char* name;
  Call call;
  Fault fault;
  int error;
  int64_t few;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class FailingCall : public ::testing::TestWithParam<Kind> {};

// Twice: the first server's jobs load the model, until a job gets past the loading; from then on
// the walk begins anew with what a job does by itself.
TEST_P(FailingCall, EndsNoServerAndLosesNoJob) {
  const Kind& kind = GetParam();
  Faults faults;
  Jobs jobs;
  ServerProcess server(jobs.flags(), faults.variables());
  ASSERT_NE(server.port(), 0);
  int64_t walked = 0;
  for (int walk = 0; walk < 2; ++walk) {
    for (int64_t at = 1;; at += stride(kind.few)) {
      faults.set(kind.call, kind.fault, kind.error, at);
      jobs.run(server.port());
      const int64_t seen = faults.clear();
      ASSERT_EQ(ask(server.port(), "/healthz")["status"], "ok") << at << "\n" << server.end().err;
      ++walked;
      if (seen < at) break;
    }
  }
  jobs.expect_one_more(server.port());
  EXPECT_EQ(server.end(SIGTERM).exit_code, 0);
  ServerProcess next(jobs.flags());
  jobs.check(next.port());
  EXPECT_EQ(next.end(SIGTERM).exit_code, 0);
  EXPECT_EQ(jobs.ends().count("lost"), 0u);
  RecordProperty("jobs", static_cast<int>(walked));
}

INSTANTIATE_TEST_SUITE_P(
    All, FailingCall,
    ::testing::Values(Kind{"FullDiskAtWrite", Call::write, Fault::error, ENOSPC, 5},
                      Kind{"BrokenDiskAtWrite", Call::write, Fault::error, EIO, 7},
                      Kind{"PartOfAWrite", Call::write, Fault::part, 0, 7},
                      Kind{"BrokenDiskAtSync", Call::sync, Fault::error, EIO, 3},
                      Kind{"FullDiskAtRename", Call::rename, Fault::error, ENOSPC, 1},
                      Kind{"TooManyFiles", Call::open, Fault::error, EMFILE, 7},
                      Kind{"NoMemoryToMap", Call::map, Fault::error, ENOMEM, 3},
                      Kind{"NoMemory", Call::allocate, Fault::error, ENOMEM, 7}),
    [](const auto& info) { return info.param.name; });

// The next server begins where the last one was killed.
TEST(KilledServer, LosesNoJobWhateverCallWasTheLast) {
  for (const Fault fault : {Fault::kill_before, Fault::kill_after}) {
    Faults faults;
    Jobs jobs;
    bool accepted = false;  // most calls come before it, and the others matter more
    for (int64_t at = 1;; at += stride(accepted ? 3 : 11)) {
      SCOPED_TRACE(at);
      ServerProcess server(jobs.flags(), faults.variables());
      ASSERT_NE(server.port(), 0);
      jobs.check(server.port());
      jobs.forget();
      faults.set(Call::any_of_files, fault, 0, at);
      accepted |= jobs.run(server.port());
      const bool all = faults.clear() < at;
      const Ended& ended = server.end(all ? SIGTERM : 0);
      ASSERT_EQ(ended.exit_code, all ? 0 : 128 + SIGKILL) << ended.err;
      if (all) break;
    }
    EXPECT_EQ(jobs.ends().size(), 1u) << "but done";
    EXPECT_GT(jobs.ends().at("done"), 1);
  }
}

#endif

}  // namespace
}  // namespace omnirt::testing
