while [ $# -ge 3 ]; do
  family=-$1
  [ "$1" = any ] && family=
  echo "$1 $2 $3: $(wget $family -qO- --tries=1 --timeout=10 "http://$2:$3/" || echo refused)"
  shift 3
done
