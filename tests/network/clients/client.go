// A static program without any libc: its own resolver reads /etc/resolv.conf and /etc/hosts, and asks by itself.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

func get(network, address string) string {
	connection, err := net.DialTimeout(network, address, 10*time.Second)
	if err != nil {
		return "refused"
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return "refused"
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		return "refused"
	}
	_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
	return body
}

func main() {
	for args := os.Args[1:]; len(args) >= 3; args = args[3:] {
		network := "tcp" + strings.TrimPrefix(args[0], "any")
		fmt.Printf("%s %s %s: %s\n", args[0], args[1], args[2], get(network, args[1]+":"+args[2]))
	}
}
