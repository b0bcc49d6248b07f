// A TCP proxy that adds a delay in each direction and buffers without limit, so that only the windows of SSH limit.
//
// The first line printed is the address listened on; the end of standard input ends the proxy.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"
)

const (
	pieceBytes  = 65536
	piecesAhead = 1 << 16
)

type piece struct {
	due  time.Time
	data []byte
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, of this machine")
	target := flag.String("target", "", "address to connect to, of this machine")
	delay := flag.Duration("delay", 10*time.Millisecond, "delay in each direction")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		server, err := net.Dial("tcp", *target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go carry(client.(*net.TCPConn), server.(*net.TCPConn), *delay)
		go carry(server.(*net.TCPConn), client.(*net.TCPConn), *delay)
	}
}

func carry(from, to *net.TCPConn, delay time.Duration) {
	pieces := make(chan piece, piecesAhead)
	go deliver(pieces, to)
	defer close(pieces)
	for {
		buffer := make([]byte, pieceBytes)
		count, err := from.Read(buffer)
		if count > 0 {
			pieces <- piece{time.Now().Add(delay), buffer[:count]}
		}
		if err != nil {
			return
		}
	}
}

func deliver(pieces <-chan piece, to *net.TCPConn) {
	for piece := range pieces {
		time.Sleep(time.Until(piece.due))
		if _, err := to.Write(piece.data); err != nil {
			break
		}
	}
	_ = to.CloseWrite()
	for range pieces { // what nobody takes any more
	}
}
