// An SSH server by golang.org/x/crypto/ssh and github.com/pkg/sftp, for tests: any user with the one key.
//
// main AUTHORIZED_KEYS PORT HOSTKEY...: listens on this port of loopback (0: on a free one), and prints it.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	known, _, _, _, err := ssh.ParseAuthorizedKey(must(os.ReadFile(os.Args[1])))
	must(known, err)
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(known.Marshal()) {
				return nil, fmt.Errorf("unknown key")
			}
			return nil, nil
		},
	}
	for _, path := range os.Args[3:] {
		config.AddHostKey(must(ssh.ParsePrivateKey(must(os.ReadFile(path)))))
	}
	listener := must(net.Listen("tcp", "127.0.0.1:"+os.Args[2]))
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		go serve(must(listener.Accept()), config)
	}
}

func serve(connection net.Conn, config *ssh.ServerConfig) {
	server, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		connection.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		switch channel.ChannelType() {
		case "session":
			accepted, requests, err := channel.Accept()
			if err == nil {
				go session(accepted, requests, server.User())
			}
		case "direct-tcpip":
			go forward(channel)
		default:
			channel.Reject(ssh.UnknownChannelType, "no such type of channels")
		}
	}
}

func forward(channel ssh.NewChannel) {
	var asked struct {
		Host       string
		Port       uint32
		Origin     string
		OriginPort uint32
	}
	if ssh.Unmarshal(channel.ExtraData(), &asked) != nil {
		channel.Reject(ssh.ConnectionFailed, "what is asked for is unreadable")
		return
	}
	target, err := net.Dial("tcp", net.JoinHostPort(asked.Host, fmt.Sprint(asked.Port)))
	if err != nil {
		channel.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	accepted, requests, err := channel.Accept()
	if err != nil {
		target.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	go func() { io.Copy(target, accepted); target.Close() }()
	io.Copy(accepted, target)
	accepted.Close()
}

func session(channel ssh.Channel, requests <-chan *ssh.Request, user string) {
	for request := range requests {
		switch request.Type {
		case "exec", "shell":
			var asked struct{ Command string }
			if request.Type == "exec" && ssh.Unmarshal(request.Payload, &asked) != nil {
				request.Reply(false, nil)
				continue
			}
			request.Reply(true, nil)
			go run(channel, asked.Command, user)
		case "subsystem":
			var asked struct{ Name string }
			if ssh.Unmarshal(request.Payload, &asked) != nil || asked.Name != "sftp" {
				request.Reply(false, nil)
				continue
			}
			request.Reply(true, nil)
			go func() {
				server := must(sftp.NewServer(channel))
				server.Serve()
				channel.Close()
			}()
		default:
			request.Reply(request.Type == "pty-req" || request.Type == "env", nil)
		}
	}
}

func run(channel ssh.Channel, command string, user string) {
	defer channel.Close()
	shell := exec.Command("/bin/sh", "-c", command)
	if command == "" {
		shell = exec.Command("/bin/sh")
	}
	shell.Env = append(os.Environ(), "SSH_USER="+user)
	shell.Stdout, shell.Stderr = channel, channel.Stderr()
	input := must(shell.StdinPipe())
	if err := shell.Start(); err != nil {
		return
	}
	go func() { io.Copy(input, channel); input.Close() }()
	shell.Wait()
	status := shell.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		told := struct {
			Signal  string
			Core    bool
			Message string
			Tag     string
		}{Signal: map[syscall.Signal]string{syscall.SIGKILL: "KILL", syscall.SIGTERM: "TERM"}[status.Signal()]}
		channel.SendRequest("exit-signal", false, ssh.Marshal(&told))
		return
	}
	channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(status.ExitStatus())}))
}
