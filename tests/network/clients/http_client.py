import http.client
import sys

args = sys.argv[1:]
while args:
    family, host, port, *args = args
    try:
        connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=10)
        connection.request("GET", "/")
        print(f"{family} {host} {port}: {connection.getresponse().read().decode()}")
    except OSError:
        print(f"{family} {host} {port}: refused")
