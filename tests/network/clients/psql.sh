psql=$1
shift
while [ $# -ge 3 ]; do
  host=${2#[}
  echo "$1 $2 $3: $($psql -h "${host%]}" -p "$3" -U nobody -At -c 'SELECT c' base || echo refused)"
  shift 3
done
