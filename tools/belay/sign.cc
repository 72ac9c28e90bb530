// `belay keygen`, `belay sign`, `belay verify-signature`.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/header.h"
#include "runtime/program/program.h"
#include "runtime/program/signature.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

absl::StatusOr<std::string> ReadKey(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  if (file->bytes().size() > 1024) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is too long for a key"));
  }
  return std::string(AsString(file->bytes()));
}

// Creates a file with these permissions; never replaces an existing one.
absl::Status WriteNew(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    const std::string message =
        absl::StrCat("cannot create ", path, ": ", std::generic_category().message(errno));
    return errno == EEXIST ? absl::AlreadyExistsError(message) : absl::UnavailableError(message);
  }
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(fd) != 0 || !written) {
    ::unlink(path.c_str());
    return absl::UnavailableError(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

absl::Status MakeKeys(const std::string& name) {
  const std::string secret_path = absl::StrCat(name, ".key");
  const Ed25519SecretKey secret = GenerateSecretKey();
  ABSL_RETURN_IF_ERROR(WriteNew(secret_path, absl::StrCat(FormatKey(secret.seed), "\n"), 0600));
  const std::string key = FormatKey(PublicKeyOf(secret).bytes);
  if (const absl::Status status =
          WriteNew(absl::StrCat(name, ".pub"), absl::StrCat(key, "\n"), 0644);
      !status.ok()) {
    ::unlink(secret_path.c_str());
    return status;
  }
  std::cout << key << "\n";
  return absl::OkStatus();
}

absl::Status SignWithKey(const SignOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, ReadKey(options.key));
  const absl::StatusOr<Ed25519SecretKey> key = ParseSecretKey(text);
  if (!key.ok()) return Annotate(key.status(), options.key);
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(options.file));
  const std::string signature = belay::Sign(file->bytes(), *key);
  const std::string_view piece = signature;
  const std::string path = absl::StrCat(options.file, ".sig");
  ABSL_RETURN_IF_ERROR(WriteFileAtomically(path, absl::MakeConstSpan(&piece, 1)));
  std::cout << path << ": signed with " << FormatKey(PublicKeyOf(*key).bytes) << "\n";
  return absl::OkStatus();
}

absl::StatusOr<Ed25519Verifier> MakeVerifier(const VerifySignatureOptions& options) {
  Ed25519Verifier::Options verifier;
  for (const std::string& path : options.keys) {
    ABSL_ASSIGN_OR_RETURN(const std::string text, ReadKey(path));
    const absl::StatusOr<Ed25519PublicKey> key = ParsePublicKey(text);
    if (!key.ok()) return Annotate(key.status(), path);
    verifier.keys.push_back(*key);
  }
  return Ed25519Verifier(std::move(verifier));
}

}  // namespace

int Keygen(const KeygenOptions& options) { return Report(MakeKeys(options.name)); }

int SignFile(const SignOptions& options) { return Report(SignWithKey(options)); }

int VerifySignature(const VerifySignatureOptions& options) {
  const absl::StatusOr<Ed25519Verifier> verifier = MakeVerifier(options);
  if (!verifier.ok()) return Report(verifier.status());
  const auto file = MappedFile::Open(options.file);
  if (!file.ok()) return Report(file.status());
  absl::Status status = verifier->VerifyFile(options.file, (*file)->bytes());
  if (!status.ok()) status = Annotate(status, options.file);
  if (status.ok() && HasProgramMagic((*file)->bytes())) {
    Program::Options open;
    open.verifier = &*verifier;
    status = Program::Open(options.file, open).status();
  }
  if (status.ok()) {
    std::cout << options.file << ": the signature is valid\n";
    return kDone;
  }
  Report(status);
  return status.code() == absl::StatusCode::kDataLoss ||
                 status.code() == absl::StatusCode::kPermissionDenied
             ? kNegative
             : kBadInput;
}

Command KeygenCommand() {
  const auto keygen = std::make_shared<KeygenOptions>();
  return {
      .name = "keygen",
      .about = "Creates a key pair: NAME.key and NAME.pub.",
      .options =
          {{"name", &keygen->name, "path of the key pair, without extension", {.required = true}}},
      .footer = "Example: belay keygen release",
      .owned = keygen,
      .run = [keygen] { return Keygen(*keygen); },
  };
}

Command SignCommand() {
  const auto sign = std::make_shared<SignOptions>();
  return {
      .name = "sign",
      .about = "Signs a file: writes FILE.sig next to it.",
      .options = {{"file", &sign->file, "the file", {.required = true}},
                  {"--key", &sign->key, "the secret key, from keygen", {.required = true}}},
      .footer = "Example: belay sign model.belay --key release.key",
      .owned = sign,
      .run = [sign] { return SignFile(*sign); },
  };
}

Command VerifySignatureCommand() {
  const auto verify = std::make_shared<VerifySignatureOptions>();
  return {
      .name = "verify-signature",
      .about = "Checks FILE.sig, and for programs the digests of companion files.",
      .options = {{"file", &verify->file, "the file", {.required = true}},
                  {"--key",
                   &verify->keys,
                   "trusted public keys (repeatable)",
                   {.required = true, .repeatable = true}}},
      .footer = "Example: belay verify-signature model.belay --key release.pub",
      .owned = verify,
      .run = [verify] { return VerifySignature(*verify); },
  };
}

}  // namespace belay::tools
