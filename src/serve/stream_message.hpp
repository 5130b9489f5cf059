#pragma once
#include <string>
#include <string_view>

#include "base/choice.hpp"
#include "base/json.hpp"

namespace omnirt::serve {

enum class StreamCall { generate, follow, cancel };

// What a client says over a WebSocket (docs/server.md).
struct StreamMessage {
  StreamCall type = StreamCall::generate;
  std::string ref;     // of the client's, told in the answer; "": none
  Json request;        // generate: an object
  std::string job;     // follow, cancel
  int64_t after = -1;  // follow: the number of the event that was seen last
};

inline constexpr size_t max_stream_ref_bytes = 64;

// Throws InvalidFile where it is no JSON, InvalidRequest with all that is wrong.
StreamMessage read_stream_message(std::string_view text);

}  // namespace omnirt::serve

template <>
struct omnirt::ChoiceNames<omnirt::serve::StreamCall> {
  static constexpr std::array names{"generate", "follow", "cancel"};
};
