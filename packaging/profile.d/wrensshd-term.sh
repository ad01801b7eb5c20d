# shellcheck shell=sh
# For /etc/profile.d: replaces the name of a terminal that terminfo lacks here, such as xterm-kitty, by the nearest one that
# it has. A name that is known stays, and so does any name on a machine without terminfo.
wren_known_term() { # NAME
    wren_ifs=$IFS IFS=:
    # As terminfo(5) has it: a folder for each first letter.
    for wren_folder in ${TERMINFO:-} ${HOME:+"$HOME/.terminfo"} \
        ${TERMINFO_DIRS:-/etc/terminfo:/lib/terminfo:/usr/share/terminfo:/usr/lib/terminfo:/usr/local/share/terminfo}; do
        if [ -e "$wren_folder/${1%"${1#?}"}/$1" ]; then
            IFS=$wren_ifs
            return 0
        fi
    done
    IFS=$wren_ifs
    return 1
}

if [ -n "${SSH_CONNECTION:-}" ] && [ "${TERM:-dumb}" != dumb ] && ! wren_known_term "$TERM"; then
    case $TERM in
    tmux* | screen*) wren_terms="tmux-256color screen-256color tmux screen" ;;
    rxvt*) wren_terms="rxvt-unicode-256color rxvt" ;;
    linux*) wren_terms=linux ;;
    vt[0-9]*) wren_terms="vt220 vt102 vt100" ;;
    *) wren_terms= ;;
    esac
    for wren_term in $wren_terms xterm-256color xterm vt100; do
        if wren_known_term "$wren_term"; then
            TERM=$wren_term
            export TERM
            break
        fi
    done
fi
unset -f wren_known_term
unset wren_ifs wren_folder wren_terms wren_term
