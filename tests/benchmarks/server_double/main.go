// A cheap SSH server that takes every login, so that a benchmark's limit is the client.
//
// A command "send BYTES" is answered with so many zeros, every other with nothing, and both with exit status 0. SFTP
// serves files of zeros: the name of a file is its size in bytes. The first line printed is the address listened on,
// the second the host key; the end of standard input ends the server.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, of this machine")
	flag.Parse()
	signer, err := newHostKey()
	if err != nil {
		log.Fatal(err)
	}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil },
	}
	config.AddHostKey(signer)
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	fmt.Print(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(conn, config)
	}
}

func newHostKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

func serve(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	session, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer session.Close()
	go ssh.DiscardRequests(requests)
	for opening := range channels {
		if opening.ChannelType() != "session" { // as any server refuses a kind that it does not know
			_ = opening.Reject(ssh.UnknownChannelType, "unknown channel type")
			continue
		}
		channel, requests, err := opening.Accept()
		if err != nil {
			return
		}
		go serveChannel(channel, requests)
	}
}

func serveChannel(channel ssh.Channel, requests <-chan *ssh.Request) {
	for request := range requests {
		switch request.Type {
		case "exec":
			_ = request.Reply(true, nil)
			go run(channel, request.Payload)
		case "subsystem":
			_ = request.Reply(true, nil)
			go serveFiles(channel)
		default:
			_ = request.Reply(false, nil)
		}
	}
}

func run(channel ssh.Channel, payload []byte) {
	defer channel.Close()
	var exec struct{ Command string }
	if err := ssh.Unmarshal(payload, &exec); err != nil {
		return
	}
	if size, found := strings.CutPrefix(exec.Command, "send "); found {
		count, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return
		}
		if _, err := io.CopyBuffer(channel, io.LimitReader(zeros{}, count), make([]byte, 32768)); err != nil {
			return
		}
	}
	_ = channel.CloseWrite()
	_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
}
