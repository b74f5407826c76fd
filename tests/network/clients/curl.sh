# Arguments in threes: 4, 6 or any; a host; a port. One line of output for each.
while [ $# -ge 3 ]; do
  family=-$1
  [ "$1" = any ] && family=
  echo "$1 $2 $3: $(curl -sS $family --max-time 10 "http://$2:$3/" || echo refused)"
  shift 3
done
