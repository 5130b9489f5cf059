#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace omnirt {

// One thing found wrong (or doubtful) with what a user gave: what, where, and the fix.
struct Finding {
  std::string field;    // dotted path of the request field, or the file and tensor name
  std::string value;    // the value as given
  std::string message;  // what is wrong, with the limit
  std::string way_out;  // what to do instead; may be empty
  std::string text() const;
};

// The base of all errors that this project throws. `exit_code` is what a command ends with.
class Error : public std::runtime_error {
 public:
  Error(std::string kind, const std::string& what, int exit_code)
      : std::runtime_error(what), kind_(std::move(kind)), exit_code_(exit_code) {}
  const std::string& kind() const { return kind_; }
  int exit_code() const { return exit_code_; }

 private:
  std::string kind_;
  int exit_code_;
};

// A request or file that cannot be served as given; holds every finding, not only the first.
class InvalidRequest : public Error {
 public:
  explicit InvalidRequest(std::vector<Finding> findings);
  explicit InvalidRequest(Finding finding);
  const std::vector<Finding>& findings() const { return findings_; }

 protected:
  InvalidRequest(std::string kind, std::vector<Finding> findings);

 private:
  std::vector<Finding> findings_;
};

class UnknownModel : public InvalidRequest {
 public:
  explicit UnknownModel(Finding finding) : InvalidRequest("UnknownModel", {std::move(finding)}) {}
};

// Something well-formed that this build does not do.
class Unsupported : public InvalidRequest {
 public:
  explicit Unsupported(Finding finding) : InvalidRequest("Unsupported", {std::move(finding)}) {}
  explicit Unsupported(std::vector<Finding> findings)
      : InvalidRequest("Unsupported", std::move(findings)) {}
};

// A file from outside that is broken or is not what its place says.
class InvalidFile : public InvalidRequest {
 public:
  explicit InvalidFile(Finding finding) : InvalidRequest("InvalidFile", {std::move(finding)}) {}
};

// A checkpoint whose tensors do not match the network: all missing, unexpected and mis-shaped ones
// together.
class WeightMismatch : public InvalidRequest {
 public:
  explicit WeightMismatch(std::vector<Finding> findings)
      : InvalidRequest("WeightMismatch", std::move(findings)) {}
};

class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& what) : Error("OutOfMemory", what, 3) {}
};

class Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& what) : Error("Cancelled", what, 130) {}
};

// A write or a device that failed while the run was under way.
class RunFailed : public Error {
 public:
  explicit RunFailed(const std::string& what) : Error("RunFailed", what, 3) {}
};

// A state that only this project's own code can bring about.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& what) : Error("InternalError", what, 3) {}
};

}  // namespace omnirt
