# shellcheck shell=sh disable=SC2034,SC2154
# Ansible: the integration tests of its connections through OpenSSH's client, with each way to transfer files
version=2.19.14
packages=$python_packages
fetch() { from_python ansible-core $version; }
build() { with_python ansible-core==$version; }
play() {
    export ANSIBLE_REMOTE_TMP="$TMPDIR/remote" ANSIBLE_LOCAL_TEMP="$TMPDIR/local" ANSIBLE_NOCOLOR=1
    cd test/integration/targets/connection || return
    for transfer in sftp scp piped; do
        echo "== $transfer"
        for book in test_connection test_reset_connection test_reset_connection_templated; do
            ANSIBLE_SSH_TRANSFER_METHOD=$transfer ../../../../venv/bin/python -m ansible playbook $book.yml \
                -i ../connection_ssh/test_connection.inventory -e target_hosts=ssh -e action_prefix= -e ansible_scp_extra_args=-TO \
                -e local_tmp="$TMPDIR/near" -e remote_tmp="$TMPDIR/far" 2>&1 | awk '
                    /^TASK \[/ { sub(/^TASK \[/, ""); sub(/\] \**$/, ""); task = $0 }
                    /^(ok|changed|fatal|unreachable): \[/ { print ($1 ~ /^(ok|changed)/ ? "ok " : "failed ") task, $2 }
                    { print "    " $0 }'
        done
    done
}
