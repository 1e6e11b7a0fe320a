"""Programs that stand in for those of a machine without namespaces, which know nothing of pods:
`hostname` and `getent`, as short scripts at the front of a container's path.
"""

from pathlib import Path

_HOSTNAME = """\
#!/bin/sh
# The name and address of the pod, not of the machine.
whole() {
    awk -v name="$HOSTNAME" '$1 !~ /^#/ { for (i = 2; i <= NF; i++)
        if ($i == name) { print $2; exit } }' "$FLEETQUEUE_NAMES"
}
case "${1:-}" in
    -i | -I | --ip-address | --all-ip-addresses) echo "$FLEETQUEUE_POD_IP" ;;
    -f | --fqdn | --long) found=$(whole); echo "${found:-$HOSTNAME}" ;;
    -d | --domain) found=$(whole); echo "${found#"$HOSTNAME"}" | sed 's/^\\.//' ;;
    "" | -s | --short) echo "$HOSTNAME" ;;
    *) echo "hostname: you must be root to change the host name" >&2; exit 1 ;;
esac
"""
_GETENT = """\
#!/bin/sh
# The names of the cluster first, then what the machine knows.
case "${1:-}" in
    hosts | ahosts | ahostsv4)
        base=$1 name=${2:-} found=
        # Also by its address: names in a command may have been replaced by theirs.
        found=$(awk -v name="$name" '$1 !~ /^#/ { for (i = 1; i <= NF; i++)
            if ($i == name) { if (!seen[$1]++) print; break } }' "$FLEETQUEUE_NAMES")
        if [ -n "$name" ] && [ -n "$found" ]; then
            echo "$found" | while read -r address names; do
                if [ "$base" = hosts ]; then
                    echo "$address $names"
                else
                    for kind in STREAM DGRAM RAW; do echo "$address $kind $name"; done
                fi
            done
            exit 0
        fi ;;
esac
own=$(cd "$(dirname "$0")" && pwd)
rest=
IFS=:
for place in $PATH; do
    [ "$place" = "$own" ] || rest=${rest:+$rest:}$place
done
unset IFS
PATH=$rest
export PATH
exec getent "$@"
"""
_PROGRAMS = {"hostname": _HOSTNAME, "getent": _GETENT}


def write_stand_ins(directory: Path) -> None:
    """Puts them into a directory for the path of containers."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in _PROGRAMS.items():
        path = directory / name
        path.write_text(text)
        path.chmod(0o755)
