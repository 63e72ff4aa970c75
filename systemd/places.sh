# Where the service lives, for install-service and uninstall-service. The unit and the command hold the same paths.
# shellcheck shell=bash disable=SC2034

UNIT=/etc/systemd/system/frontdesk.service
COMMAND=/usr/local/bin/frontdesk
PROGRAM=/opt/frontdesk
VENVS=$PROGRAM/venvs
CURRENT=$PROGRAM/.venv
SETTINGS=/etc/frontdesk
CONFIG=$SETTINGS/frontdesk.toml
SECRETS=$SETTINGS/secrets
STATE=/var/lib/frontdesk
RUNS_AS=frontdesk

say() {
    printf '%s\n' "$@"
}

give_up() {
    printf '%s\n' "$@" >&2
    exit 1
}

# As root, on a machine that runs systemd, and alone.
need_rights_to() {
    [ "$(id -u)" = 0 ] || give_up "To $1 the service takes root: sudo make $1-service"
    [ -d /run/systemd/system ] || give_up "systemd does not run here; without it, make run starts the desk."
    exec 9>/run/frontdesk-install.lock
    flock --nonblock 9 || give_up "Another install or uninstall of the service runs; try again when it is done."
}

# Ours are told by a word that the files of this folder begin with.
is_ours() {
    head -n 2 "$1" 2>/dev/null | grep -q "^# Frontdesk[,']"
}
