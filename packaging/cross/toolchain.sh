#!/bin/sh
# Makes what the cross builds need, below build/cross/: for each architecture a compiler for static musl programs and
# a Meson cross file; and below subprojects/ the sources of libsodium and Check. Nothing is installed but Debian's compilers and
# qemu, and those only when root runs this; no foreign architecture is added, and apt's own state is left alone.
#
#     sh packaging/cross/toolchain.sh [--cc gcc|clang] [ARCH]...
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/packaging/cross/targets.sh"
work=$top/build/cross
sources=$work/sources
compiler=clang
PATH=$PATH:/usr/sbin:/sbin

die() { echo "toolchain.sh: $*" >&2; exit 1; }
. "$top/tests/packages.sh"

while [ $# -gt 0 ]; do
    case $1 in
    --cc)
        [ $# -ge 2 ] || die "--cc takes clang or gcc"
        compiler=$2
        shift 2
        ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown option: $1" ;;
    *) break ;;
    esac
done
case $compiler in gcc | clang) ;; *) die "--cc takes clang or gcc, not $compiler" ;; esac
[ $# -gt 0 ] || eval "set -- $all_targets"
for arch; do target "$arch" || die "unknown architecture: $arch (options first, then some of: $all_targets $more_targets)"; done

# ---- the distribution's packages -------------------------------------------------------------------------------------

find_emulator() { command -v "$emulator-static" || command -v "$emulator" || true; }

# Clang needs GCC's cross compilers, too, for libgcc; ssh-keygen is for the unit tests, mandoc for the archives.
list_packages() { # ARCH...
    needed="
meson:has meson
ninja-build:has ninja
xz-utils:has xz
patch:has patch
mandoc:has mandoc
lld:has ld.lld
llvm:has llvm-strip
make:has make
libc6-dev:test -e /usr/include/stdio.h
openssh-client:has ssh-keygen
"
    [ "$compiler" = gcc ] || needed="$needed
clang:has clang
"
    for arch; do
        target "$arch"
        needed="$needed
$compiler_package:has $triple-gcc
"
        [ -n "$native" ] || needed="$needed
qemu-user-static:has $emulator-static || has $emulator
"
    done
}

# ---- apt, with a state of its own ------------------------------------------------------------------------------------

# The machine's own sources, for source packages. Reads both of apt's formats.
copy_sources() { # FOLDER
    mkdir -p "$1"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] || continue
        sed -n "s/^[[:space:]]*deb[[:space:]]/deb-src /p" "$file" |
            sed 's/arch=[^] ]*//; s/\[ *\]//' >"$1/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        sed "s/^Types:.*/Types: deb-src/; /^Architectures:/d" "$file" >"$1/$(basename "$file")"
    done
}

# The machine's own settings of apt (proxies, keys), without the hooks, which would change the machine.
copy_settings() { # FOLDER
    mkdir -p "$1/apt.conf.d"
    for file in /etc/apt/apt.conf.d/*; do
        [ -e "$file" ] && ! grep -q 'Invoke' "$file" && cp "$file" "$1/apt.conf.d/"
    done
    echo "Dir::Etc::parts \"$1/apt.conf.d\";" >"$1/apt.conf"
}

private_apt() { # apt-get's arguments
    APT_CONFIG=$state/apt.conf apt-get -q -oDir::State="$state" -oDir::State::status="$state/status" \
        -oDir::State::lists="$state/lists" -oDir::Cache="$state/cache" -oDir::Etc::sourcelist=/dev/null \
        -oDir::Etc::sourceparts="$state/sources" -oAPT::Sandbox::User="$(id -un)" "$@"
}

# Leaves a source package in $sources. If only the update fails, for one of the machine's sources, the rest still counts.
download() { # PACKAGE
    state=$work/apt
    rm -rf "$state"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$sources"
    : >"$state/status"
    copy_sources "$state/sources"
    copy_settings "$state"
    updated='went well'
    private_apt update >"$state/log" 2>&1 || updated=failed
    (cd "$sources" && private_apt source --download-only "$1" >>"$state/log" 2>&1) || {
        grep '^[EW]:' "$state/log" | tail -n 5 >&2
        die "apt-get found no source package $1, and apt-get update $updated; the whole log is in ${state#"$top/"}/log"
    }
    rm -rf "$state/lists" "$state/cache"
}

# ---- what is made ----------------------------------------------------------------------------------------------------

apply_patches() { # TREE PACKAGE, of which a .debian.tar archive is unpacked in TREE
    series=$1/debian/patches/series
    [ ! -e "$series" ] || sed 's/[[:space:]#].*//; /^$/d' "$series" | while read -r name; do
        patch -d "$1" -p1 -F0 -s <"$1/debian/patches/$name" >&2 || die "$name of ${2##*/} does not apply"
    done || exit 1
}

# Removes a folder's own C files but these. Files for single processors, in folders below it, stay.
keep() { # FOLDER NAME...
    folder=$1
    shift
    for file in "$folder"/*.c; do
        case " $* " in *" $(basename "$file" .c) "*) ;; *) rm "$file" ;; esac
    done
}

# More than half of musl's files, which none of our programs and tests link: mathematics, wide characters, locales, name service,
# C11's threads, rare calls. To compile them would take two minutes. If a program needs one of them, the linker names the
# function: then its pattern goes, or its file's name comes into a list.
leave_out() { # FOLDER
    (
        cd "$1" || exit
        rm -rf aio complex crypt fenv ipc mq passwd regex sched search
        find math -type f ! -name '__fpclassify*' ! -name '__signbit*' ! -name 'copysign*' ! -name 'fabs*' ! -name 'floor*' \
            ! -name 'fmod*' ! -name 'frexp*' ! -name 'scalbn*' -delete
        keep ctype tolower toupper
        keep dirent closedir fdopendir opendir readdir
        keep ldso dl_iterate_phdr
        keep legacy getpagesize
        keep linux chroot clone flock getrandom memfd_create mount ppoll prctl setgroups signalfd sysinfo unshare xattr
        keep locale __lctrans c_locale langinfo
        keep misc getauxval getopt getresgid getresuid getrlimit ioctl nftw openpty pty realpath setrlimit syscall
        keep multibyte internal mbrtowc mbsinit mbtowc wcrtomb wctomb
        keep prng rand
        keep process _Fork execv execve fork posix_spawn posix_spawn_file_actions_addclose posix_spawn_file_actions_adddup2 \
            posix_spawn_file_actions_destroy posix_spawn_file_actions_init posix_spawnattr_destroy posix_spawnattr_init \
            posix_spawnattr_setflags posix_spawnattr_setsigdefault posix_spawnattr_setsigmask system wait waitpid
        keep signal block getitimer kill killpg raise restore setitimer sigaction sigaddset sigemptyset sigfillset sigismember \
            signal sigpending sigprocmask sigtimedwait sigwait sigwaitinfo
        keep stdlib atoi qsort qsort_nr strtod strtol
        rm -f string/wc* string/wmem* stdio/*wc*.c stdio/*ws.c stdio/*wprintf.c stdio/*wscanf.c stdio/ext* stdio/t*nam.c \
            network/dn* network/gethost* network/getserv* network/res* network/*addrinfo.c network/*name?info.c \
            network/lookup_[ns]* thread/cnd_* thread/mtx_* thread/thrd_* thread/tss_* \
            thread/pthread_condattr* thread/pthread_mutexattr* thread/pthread_spin* thread/sem_[gou]*
    )
}

# From the distribution's source package, as its libc.a is built for speed. For size it saves 4,944 bytes of the daemon on
# aarch64, 6,536 on x86_64 and 2,148 on armv7. By GCC, with the canaries of the distribution's.
build_musl() { # ARCH
    sysroot=$work/$1/sysroot
    # An earlier toolchain.sh left the musl of a binary package, without libgcc.a.
    [ -e "$sysroot/lib/libgcc.a" ] && [ -e "$sysroot/version" ] && return 0
    ls "$sources"/musl_*.debian.tar.* >/dev/null 2>&1 || download musl
    tree=$work/$1/musl
    rm -rf "$tree" "$sysroot"
    mkdir -p "$tree" "$sysroot"
    tar -xzf "$sources"/musl_*.orig.tar.gz -C "$tree" --strip-components=1
    tar -xf "$sources"/musl_*.debian.tar.* -C "$tree"
    apply_patches "$tree" "$sources"/musl_*.debian.tar.*
    leave_out "$tree/src"
    (cd "$tree" && ./configure --target="$triple" --disable-shared --enable-optimize=size --prefix=/ \
        CC="$triple-gcc" CFLAGS="$machine_flags -fPIE -fstack-protector-strong -fno-asynchronous-unwind-tables" &&
        make -j "$(getconf _NPROCESSORS_ONLN)" && make install-headers install-libs DESTDIR="$sysroot") \
        >"$work/$1/musl.log" 2>&1 </dev/null || die "musl can't be built for $1: see ${work#"$top/"}/$1/musl.log"
    # Without tables for unwinding: on MIPS lld can't make their addresses relative.
    "$triple-objcopy" --remove-section .eh_frame --remove-section .rel.eh_frame \
        "$("$triple-gcc" -print-libgcc-file-name)" "$sysroot/lib/libgcc.a"
    cp "$tree/debian/copyright" "$sysroot/copyright"
    sed -n '1s/^musl (\(.*\)) .*/\1/p' "$tree/debian/changelog" >"$sysroot/version"
    rm -rf "$tree"
}

setting_of() { sed -n "s/^$2 = //p" "$top/subprojects/$1.wrap"; } # WRAP NAME

# Whether FOLDER has the source package of NAME: the archive of the project, and the distribution's patches for it.
has_source() { # FOLDER NAME
    [ -e "$1/$archive" ] && ls "$1/$2"_*.debian.tar.* >/dev/null 2>&1
}

# With the distribution's patches, because a released archive stays as it is when a hole becomes known.
unpack_source() { # FOLDER NAME
    tree=$top/subprojects/$unpacked
    rm -rf "$tree"
    tar -xzf "$1/$archive" -C "$top/subprojects"
    set -- "$2" "$1/$2"_*.debian.tar.*
    [ $# = 2 ] || die "several versions of $1's patches: $*; remove the older ones"
    tar -xf "$2" -C "$tree"
    apply_patches "$tree" "$2"
    cp -R "$top/subprojects/packagefiles/$1/." "$tree/"
}

# The distribution's source packages, verified by apt; Meson takes the unpacked tree before it looks for an archive. An
# archive of ours in packagecache, with the sum of the wrap file, goes first: a release of the distribution may have another
# version.
fetch_sources() {
    for package in libsodium check; do
        unpacked=$(setting_of $package directory)
        archive=${package}_${unpacked#"$package-"}.orig.tar.gz
        if has_source "$top/subprojects/packagecache" $package; then
            echo "$(setting_of $package source_hash)  $top/subprojects/packagecache/$archive" |
                sha256sum --check --status || die "subprojects/packagecache/$archive has another sum than $package.wrap"
            unpack_source "$top/subprojects/packagecache" $package
            continue
        fi
        has_source "$sources" $package || download $package
        has_source "$sources" $package || die "this release has no $unpacked, only $(cd "$sources" && echo "$package"_*);" \
            "put $archive and ${package}_*.debian.tar.xz of another release into subprojects/packagecache"
        unpack_source "$sources" $package
    done
}

write_wrapper() { # ARCH
    gcc=$triple-gcc
    case $compiler in
    gcc) command=$gcc headers=$($gcc -print-file-name=include) ;;
    clang) command="clang --target=$triple -Qunused-arguments" headers=$(clang -print-file-name=include) ;;
    esac
    # GCC looks for `ld.lld` beside its own tools only.
    mkdir -p "$work/$1/bin"
    ln -sf "$(command -v ld.lld)" "$work/$1/bin/ld.lld"
    sed -e "s|@COMPILER@|$command|g; s|@ARCH@|$1|g; s|@FOLDER@|$work/$1|g" \
        -e "s|@COMPILER_HEADERS@|$headers|g; s|@PAGE_BYTES@|$page_bytes|g; s|@LINK_FLAGS@|$link_flags|g" \
        -e "s|@LIBGCC_FOLDER@|$(dirname "$($gcc -print-libgcc-file-name)")|g" \
        "$top/packaging/cross/cc.in" >"$work/$1/bin/cc.new"
    chmod 755 "$work/$1/bin/cc.new"
    mv "$work/$1/bin/cc.new" "$work/$1/bin/cc-$compiler"
}

list() { printf "'%s', " "$@" | sed 's/, $//'; }

# meson.build has the hardening flags, so that every build has them. Bytes that each adds to the stripped daemon here,
# with Clang 14:
#
#                                         x86_64   aarch64    armv7
#   none of them                         239,560   215,472  190,188
#   -fstack-clash-protection                +800         -        -   Clang 14 has it for x86_64 only
#   -ftrivial-auto-var-init=zero          +5,184    +3,528   +3,072   without crypto/ and libsodium; not on the ARMs,
#                                                                     whose size limit has no room for it
#   -mbranch-protection=pac-ret                -    +5,304        -
#
# Left out, because they add bytes and protect nothing here:
#   BTI (+440 bytes on aarch64)   the kernel enforces it only if every object of the program says that it has landing
#                                 pads, and musl's do not: the linker drops the mark
#   CET (+384 bytes on x86_64)    Linux has no indirect branch tracking for programs, and shadow stacks need a C library
#                                 that asks for them, which musl does not
#   _FORTIFY_SOURCE               musl has none of the functions that it calls: meson.build asks for it, and nothing
#                                 changes. Builds with glibc have it
write_cross_file() { # ARCH
    emulator_line='' needs_emulator=false
    if [ -z "$native" ]; then
        # shellcheck disable=SC2086 # empty or one word
        emulator_line="exe_wrapper = [$(list "$(find_emulator)" ${emulator_cpu:+-cpu $emulator_cpu})]"
        needs_emulator=true
    fi
    # GCC's link-time optimization works with GNU ld only.
    case $compiler in
    gcc) prefix=$triple- lto=false ;;
    clang) prefix=llvm- lto=true ;;
    esac
    # llvm-strip, as GNU's finds no room for the headers of what lld links for riscv64.
    # shellcheck disable=SC2086 # a list of flags
    cat >"$work/$1/$compiler.ini" <<END
[binaries]
c = '$work/$1/bin/cc-$compiler'
ar = '${prefix}ar'
strip = 'llvm-strip'
$emulator_line

[built-in options]
c_args = [$(list $machine_flags -fno-asynchronous-unwind-tables -fno-unwind-tables)]
default_library = 'static'
b_lto = $lto
b_pie = true
b_staticpic = false

[project options]
accounts = 'files'
small_printf = true
no_heap = true
zeroed_locals = $zeroed_locals

[properties]
needs_exe_wrapper = $needs_emulator

[host_machine]
system = 'linux'
cpu_family = '$cpu_family'
cpu = '$cpu'
endian = '$endian'
END
}

mkdir -p "$work"
# shellcheck disable=SC2034 # packages.sh reads it
useful=''
list_packages "$@"
ensure_packages "$work/apt.log" "nothing is built"
fetch_sources
for arch; do
    target "$arch"
    mkdir -p "$work/$arch"
    build_musl "$arch"
    write_wrapper "$arch"
    write_cross_file "$arch"
done
