#include "hub/digest.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "io/file.hpp"

namespace omnirt::hub {
namespace {

constexpr size_t piece_bytes = size_t{1} << 20;

class Digest {
 public:
  explicit Digest(const EVP_MD* kind) : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    ensure(state_ && EVP_DigestInit_ex(state_.get(), kind, nullptr) == 1, "no digest");
  }
  void add(const void* bytes, size_t count) {
    ensure(EVP_DigestUpdate(state_.get(), bytes, count) == 1, "a digest took no bytes");
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned count = 0;
    ensure(EVP_DigestFinal_ex(state_.get(), bytes.data(), &count) == 1, "a digest did not end");
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state_;
};

}  // namespace

std::string digest_of(const std::filesystem::path& path, const RemoteFile& listed) {
  Digest digest(listed.large ? EVP_sha256() : EVP_sha1());
  if (!listed.large) {
    const std::string head = fmt::format("blob {}", listed.bytes);
    digest.add(head.c_str(), head.size() + 1);
  }
  io::OpenFile file = io::open_regular(path);
  std::vector<char> piece(piece_bytes);
  for (;;) {
    const ssize_t got = read(file.fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw RunFailed(fmt::format("{} cannot be read: {}", path.string(),
                                  std::generic_category().message(errno)));
    if (got == 0) return digest.hex();
    digest.add(piece.data(), static_cast<size_t>(got));
  }
}

}  // namespace omnirt::hub
