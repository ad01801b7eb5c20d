# For nixpkgs or a configuration of NixOS: pkgs.callPackage ./package.nix { }
#
# To fill in: the URL, the hash and maintainers, with the first release.
{
  lib,
  stdenv,
  fetchurl,
  libsodium,
  meson,
  ninja,
  pkg-config,
}:

stdenv.mkDerivation (finalAttrs: {
  pname = "wrensshd";
  version = "1.0.0";

  src = fetchurl {
    url = "https://wrenssh.example/releases/wrenssh-${finalAttrs.version}.tar.xz";
    hash = lib.fakeHash;
  };

  strictDeps = true;
  nativeBuildInputs = [
    meson
    ninja
    pkg-config
  ];
  buildInputs = [ libsodium ];

  # Nix filters the system calls of what it builds, and so two unit tests of the sandbox would fail: no tests here.
  mesonFlags = [
    "-Dinitramfs=false"
    "-Dtests=false"
  ];

  meta = {
    description = "Small SSH server for one connection, with a sandbox around the network";
    homepage = "https://wrenssh.example/";
    license = lib.licenses.isc;
    platforms = lib.platforms.linux;
    mainProgram = "wrensshd";
  };
})
