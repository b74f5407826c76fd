import socket
import sys

import requests
import urllib3.util.connection

families = {"4": socket.AF_INET, "6": socket.AF_INET6, "any": socket.AF_UNSPEC}
args = sys.argv[1:]
while args:
    family, host, port, *args = args
    urllib3.util.connection.allowed_gai_family = lambda: families[family]
    try:
        print(f"{family} {host} {port}: {requests.get(f'http://{host}:{port}/', timeout=10).text}")
    except requests.exceptions.RequestException:
        print(f"{family} {host} {port}: refused")
