#!/bin/sh
set -eu
curl -H "Accept: text/plain" https://example.com/
