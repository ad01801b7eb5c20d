# packaging/nix/package.nix with real Nix, but without nixpkgs: what the recipe takes from nixpkgs is stated here, with the
# programs of the Debian chroot that nix-build runs in. glibc, libsodium and busybox are copied into the store, so that a root
# that has nothing but the store can serve.
let
  path = "/usr/local/bin:/usr/bin:/bin";

  run =
    name: script: more:
    derivation (
      {
        inherit name;
        system = builtins.currentSystem;
        builder = "/bin/sh";
        args = [
          "-euc"
          script
        ];
        PATH = path;
      }
      // more
    );

  glibc = run "glibc" ''
    mkdir -p $out/lib
    for name in ld-linux-x86-64.so.2 libc.so.6; do cp -L /lib/x86_64-linux-gnu/$name $out/lib; done
  '' { };
  libsodium = run "libsodium" ''
    mkdir -p $out/lib
    cp -L /lib/x86_64-linux-gnu/libsodium.so.23 $out/lib
  '' { };
  busybox = run "busybox" ''
    mkdir -p $out/bin
    cp /usr/bin/busybox $out/bin
    for name in sh id cat ls stat; do ln -s busybox $out/bin/$name; done
  '' { };

  # A compiler whose programs find their loader and their libraries in the store alone.
  compiler = run "compiler" ''
    mkdir -p $out/bin
    printf '#!/bin/sh\nexec gcc "$@" -Wl,--dynamic-linker=%s,-rpath,%s,-rpath,%s\n' \
      $glibc/lib/ld-linux-x86-64.so.2 $glibc/lib $libsodium/lib >$out/bin/cc
    chmod 755 $out/bin/cc
  '' { inherit glibc libsodium; };

  lib = {
    fakeHash = "none yet";
    licenses.isc = "ISC";
    platforms.linux = [ builtins.currentSystem ];
  };
  fetchurl =
    { url, hash }:
    assert hash == lib.fakeHash;
    run (baseNameOf url) "cp /build/${baseNameOf url} $out" { };

  # The steps of stdenv, and of meson's setup hook.
  mkDerivation =
    recipe:
    let
      attributes = recipe attributes;
    in
    run "${attributes.pname}-${attributes.version}" ''
      cd "$(mktemp -d)"
      tar -xJf $src
      cd *
      meson setup build --prefix=$out --sbindir=$out/sbin --libexecdir=$out/libexec --buildtype=plain \
        --auto-features=enabled --wrap-mode=nodownload $mesonFlags
      ninja -C build
      meson install -C build --no-rebuild
      strip -s $out/sbin/wrensshd
      # As the hook move-sbin.sh of nixpkgs.
      mkdir -p $out/bin
      mv $out/sbin/* $out/bin
      rmdir $out/sbin
      ln -s bin $out/sbin
    '' {
      inherit (attributes) src mesonFlags;
      CC = "${compiler}/bin/cc";
    };

  packages = {
    inherit lib fetchurl libsodium;
    stdenv = { inherit mkDerivation; };
    # These are found in the chroot.
    meson = null;
    ninja = null;
    pkg-config = null;
  };
  callPackage = function: function (builtins.intersectAttrs (builtins.functionArgs function) packages);
in
{
  wrensshd = callPackage (import /source/packaging/nix/package.nix);
  inherit busybox;
}
