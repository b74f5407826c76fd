# The authority by git's own setting; the repository holds one file. Without a family: only asks for its references.
here=$(pwd)
git() { GIT_TERMINAL_PROMPT=0 command git -c http.sslCAInfo="$here/ca.pem" "$@"; }

while [ $# -ge 3 ]; do
  url=https://$2:$3/repo.git
  into=$(mktemp -d)
  if [ "$1" = any ]; then
    git ls-remote "$url" HEAD >/dev/null && echo "$1 $2 $3: over" || echo "$1 $2 $3: refused"
  else
    git clone -q "-$1" "$url" "$into/copy" && echo "$1 $2 $3: $(cat "$into/copy/file")" || echo "$1 $2 $3: refused"
  fi
  shift 3
done
