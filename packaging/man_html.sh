#!/bin/sh
# Writes the man pages as HTML into FOLDER, with links between them, index.html and man.css, which suits light and dark.
#
#     sh packaging/man_html.sh FOLDER
#
# packaging/cross/build.sh puts them into the archives. A page that mandoc warns of is refused. Same pages, same bytes.
set -eu
export LC_ALL=C.UTF-8
top=$(cd "$(dirname "$0")/.." && pwd)
case ${1:-} in
'' | -*) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
esac
version=$(sed -n "s/^ *version: '\(.*\)',.*/\1/p" "$top/meson.build" | head -n 1)
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# mandoc links a page that it finds here by the first form, any other one by the second.
cd "$top/man"
for page in *.[1-9]; do
    mandoc -T html -W warning,stop -I os="wrensshd $version" \
        -O 'style=man.css,man=%N.%S.html;https://manpages.debian.org/%N.%S' "$page" >"$folder/$page.html"
done

title_of() { echo "$1" | sed 's/\.\(.\)$/(\1)/'; }                                           # NAME.SECTION: NAME(SECTION)
purpose_of() { sed -n 's/^\.Nd //p' "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; } # PAGE: its line in NAME
{
    cat <<END
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8"/>
  <meta name="viewport" content="width=device-width, initial-scale=1.0"/>
  <link rel="stylesheet" href="man.css" type="text/css" media="all"/>
  <title>Man pages of wrensshd $version</title>
</head>
<body>
<h1>Man pages of wrensshd $version</h1>
<ul>
END
    for page in wrensshd.8 wrensshd-*.[1-9]; do
        echo "<li><a href=\"$page.html\">$(title_of "$page")</a>: $(purpose_of "$page")</li>"
    done
    printf '</ul>\n</body>\n</html>\n'
} >"$folder/index.html"

cat >"$folder/man.css" <<'END'
:root { color-scheme: light dark; }
body { max-width: 48rem; margin: auto; padding: 1rem; font: 1rem/1.5 sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.3rem; margin: 2rem 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
p { margin: .8rem 0; }
pre, code { font: .9rem/1.4 monospace; }
pre { overflow-x: auto; }
dt { margin-top: .5rem; }
dd { margin-left: 2rem; }
td { vertical-align: top; padding: 0 1rem .3rem 0; }
table.head, table.foot { width: 100%; opacity: .75; }
td.head-vol { text-align: center; }
td.head-rtitle, td.foot-os { text-align: right; padding-right: 0; }
a.permalink { color: inherit; text-decoration: none; }
a.permalink:hover { text-decoration: underline; }
code.Nm, code.Fl, code.Cm, h1.Sh, h2.Ss { font-weight: bold; }
.Pa { font-style: italic; }
.Nd { display: inline; }
.Fl, .Xr { white-space: nowrap; }
.Bd-indent { margin-left: 2rem; }
.Bl-compact > dt { margin-top: 0; }
END
