#!/bin/sh
# Writes the advisories of the file `advisories` into FOLDER, each as a security advisory of CSAF 2.0 in JSON.
#
#     sh packaging/csaf.sh FOLDER
#
# Refuses one that lacks a field, and all as long as the file `project` has no real page, whose address each of them has.
set -eu
export LC_ALL=C.UTF-8
[ $# -eq 1 ] || { echo 'usage: csaf.sh FOLDER' >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
address() { sed -n "s/^$1=//p" "$here/project"; } # NAME

awk -v folder="$1" -v page="$(address page)" -v contact="$(address contact)" '
function die(words) { print "csaf.sh: " words >"/dev/stderr"; failed = 1; exit 1 }
# Letter by letter: programs differ in what gsub() makes of a backslash.
function json(text,    out, i, letter) {
    for (i = 1; i <= length(text); i++) {
        letter = substr(text, i, 1)
        out = out (letter == "\t" ? "\\t" : letter == "\\" || letter == "\"" ? "\\" letter : letter)
    }
    return "\"" out "\""
}
function product(category, name, id) {
    return "{\"category\": \"" category "\", \"name\": " json(name) ", \"product\": {\"product_id\": \"" id "\", \"name\": " json("wrensshd " name) "}}"
}
function write_advisory(    needed, count, i, name, path, url) {
    count = split("id published title details introduced fixed", needed, " ")
    for (i = 1; i <= count; i++) {
        if (value[needed[i]] == "") { die((value["id"] == "" ? "an advisory" : value["id"]) " lacks " needed[i]) }
    }
    if (value["id"] !~ /^WREN-[0-9]+-[0-9]+$/) { die("\"" value["id"] "\" is no id such as WREN-2027-1") }
    if (value["published"] !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z$/) {
        die(value["id"] ": \"" value["published"] "\" is no time such as 2027-01-31T12:00:00Z")
    }
    if (page ~ /\.example$/) { die(value["id"] ": packaging/project has no real page") }
    name = tolower(value["id"]) ".json"
    path = folder "/" name
    url = page "/releases/" name
    print "{" >path
    print "  \"document\": {" >path
    print "    \"category\": \"csaf_security_advisory\", \"csaf_version\": \"2.0\", \"lang\": \"en\"," >path
    print "    \"title\": " json(value["title"]) "," >path
    print "    \"distribution\": {\"tlp\": {\"label\": \"WHITE\"}}," >path
    print "    \"publisher\": {\"category\": \"vendor\", \"name\": \"The wrenssh developers\", \"namespace\": " json(page) \
        ", \"contact_details\": " json(contact) "}," >path
    print "    \"notes\": [{\"category\": \"summary\", \"text\": " json(value["title"]) "}]," >path
    print "    \"references\": [{\"category\": \"self\", \"summary\": \"This advisory\", \"url\": " json(url) "}]," >path
    print "    \"tracking\": {\"id\": " json(value["id"]) ", \"status\": \"final\", \"version\": \"1\"," >path
    print "      \"initial_release_date\": " json(value["published"]) ", \"current_release_date\": " json(value["published"]) "," >path
    print "      \"revision_history\": [{\"number\": \"1\", \"date\": " json(value["published"]) ", \"summary\": \"Published.\"}]}" >path
    print "  }," >path
    print "  \"product_tree\": {\"branches\": [{\"category\": \"vendor\", \"name\": \"wrenssh\", \"branches\": [" >path
    print "    {\"category\": \"product_name\", \"name\": \"wrensshd\", \"branches\": [" >path
    print "      " product("product_version_range", "vers:generic/>=" value["introduced"] "|<" value["fixed"], "affected") "," >path
    print "      " product("product_version", value["fixed"], "fixed") "]}]}]}," >path
    print "  \"vulnerabilities\": [{" >path
    if (value["cve"] != "") { print "    \"cve\": " json(value["cve"]) "," >path }
    print "    \"title\": " json(value["title"]) "," >path
    print "    \"notes\": [{\"category\": \"description\", \"text\": " json(value["details"]) "}]," >path
    print "    \"product_status\": {\"known_affected\": [\"affected\"], \"fixed\": [\"fixed\"]}," >path
    print "    \"remediations\": [{\"category\": \"vendor_fix\", \"details\": " json("Update to version " value["fixed"] " or later.") \
        ", \"product_ids\": [\"affected\"]}]" >path
    print "  }]" >path
    print "}" >path
    if (close(path) != 0) { die("can not write " path) }
    print name
}
function end_block() {
    if (lines > 0) { write_advisory() }
    split("", value)
    lines = 0
}
/^#/ { next }
/^[ \t]*$/ { end_block(); next }
/^[a-z]+: / {
    name = $1
    sub(/:$/, "", name)
    if (" id cve published title details introduced fixed " !~ " " name " ") { die("line " NR ": unknown field " name) }
    if (name in value && value[name] != "") { die("line " NR ": a second " name) }
    value[name] = substr($0, length(name) + 3)
    lines++
    next
}
{ die("line " NR ": no field: " $0) }
END { if (!failed) { end_block() } }' "$here/advisories"
