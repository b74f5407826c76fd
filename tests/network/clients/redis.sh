while [ $# -ge 3 ]; do
  host=${2#[}
  echo "$1 $2 $3: $(redis-cli -h "${host%]}" -p "$3" GET key || echo refused)"
  shift 3
done
