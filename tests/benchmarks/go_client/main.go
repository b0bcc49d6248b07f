// The client to beat: golang.org/x/crypto/ssh, doing what the Python clients of the benchmarks do.
//
// It prints one line of JSON: operations, failures, CPU and wall seconds of them, and the most memory held.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

const timeout = 30 * time.Second

type client struct {
	address string
	config  *ssh.ClientConfig
	command string
	path    string
	files   int64
}

func main() {
	work := flag.String("work", "connect-exec", "connect-exec, exec, sftp-read, or sftp-files")
	address := flag.String("address", "", "HOST:PORT")
	user := flag.String("user", "load", "who logs in")
	keyFile := flag.String("key", "", "file of the private key")
	hostKeyFile := flag.String("host-key", "", "file of the host's public key")
	command := flag.String("command", "true", "what exec runs")
	path := flag.String("path", "", "what sftp-read and sftp-files read")
	files := flag.Int64("files", 1, "how often sftp-files reads it, which counts as so many operations")
	kex := flag.String("kex", "", "key exchange algorithms, by commas")
	ciphers := flag.String("ciphers", "", "ciphers, by commas")
	atOnce := flag.Int("at-once", 1, "operations under way at a time")
	operations := flag.Int64("operations", 100, "how many in all")
	flag.Parse()
	config, err := newConfig(*user, *keyFile, *hostKeyFile, *kex, *ciphers)
	if err != nil {
		log.Fatal(err)
	}
	measure(*work, client{*address, config, *command, *path, *files}, *atOnce, *operations)
}

func newConfig(user, keyFile, hostKeyFile, kex, ciphers string) (*ssh.ClientConfig, error) {
	pem, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return nil, err
	}
	line, err := os.ReadFile(hostKeyFile)
	if err != nil {
		return nil, err
	}
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey(line)
	if err != nil {
		return nil, err
	}
	config := &ssh.ClientConfig{
		User:              user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   ssh.FixedHostKey(hostKey),
		HostKeyAlgorithms: []string{hostKey.Type()},
		Timeout:           timeout,
	}
	if kex != "" {
		config.KeyExchanges = strings.Split(kex, ",")
	}
	if ciphers != "" {
		config.Ciphers = strings.Split(ciphers, ",")
	}
	return config, nil
}

func measure(work string, c client, atOnce int, operations int64) {
	users := make([]func() error, atOnce)
	for i := range users {
		operation, err := c.operation(work)
		if err != nil {
			log.Fatal(err)
		}
		if err := operation(); err != nil { // warm up
			log.Fatal(err)
		}
		users[i] = operation
	}
	var left, failures atomic.Int64
	left.Store(operations)
	var done sync.WaitGroup
	begin, beginCPU := time.Now(), cpuSeconds()
	for _, operation := range users {
		done.Go(func() {
			for left.Add(-1) >= 0 {
				if err := operation(); err != nil && failures.Add(1) == 1 {
					log.Print(err)
				}
			}
		})
	}
	done.Wait()
	line, err := json.Marshal(map[string]any{
		"operations": operations * c.files, "failures": failures.Load(), "cpu_s": cpuSeconds() - beginCPU,
		"wall_s": time.Since(begin).Seconds(), "max_rss_bytes": usage().Maxrss * 1024,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

// operation returns one user's operation, logged in already where the work is that of a live session.
func (c client) operation(work string) (func() error, error) {
	if work == "connect-exec" {
		return func() error {
			session, err := c.connect()
			if err != nil {
				return err
			}
			defer session.Close()
			return c.execute(session)
		}, nil
	}
	session, err := c.connect()
	if err != nil {
		return nil, err
	}
	switch work {
	case "exec":
		return func() error { return c.execute(session) }, nil
	case "sftp-files":
		return func() error { return c.readFiles(session) }, nil
	case "sftp-read":
		files, err := sftp.NewClient(session)
		if err != nil {
			return nil, err
		}
		return func() error { return c.read(files) }, nil
	}
	return nil, fmt.Errorf("no such work: %s", work)
}

func (c client) connect() (*ssh.Client, error) {
	conn, err := net.DialTimeout("tcp", c.address, timeout)
	if err != nil {
		return nil, err
	}
	session, channels, requests, err := ssh.NewClientConn(conn, c.address, c.config)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return ssh.NewClient(session, channels, requests), nil
}

func (c client) execute(session *ssh.Client) error {
	channel, err := session.NewSession()
	if err != nil {
		return err
	}
	defer channel.Close()
	var said bytes.Buffer
	channel.Stdout, channel.Stderr = io.Discard, &said
	if err := channel.Run(c.command); err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return nil
}

// readFiles reads the file so many times, over an SFTP subsystem of its own.
func (c client) readFiles(session *ssh.Client) error {
	files, err := sftp.NewClient(session)
	if err != nil {
		return err
	}
	for range c.files {
		if err := c.read(files); err != nil {
			_ = files.Close()
			return err
		}
	}
	return files.Close()
}

func (c client) read(files *sftp.Client) error {
	file, err := files.Open(c.path)
	if err != nil {
		return err
	}
	if _, err := file.WriteTo(io.Discard); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

func usage() syscall.Rusage {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return usage
}

func cpuSeconds() float64 {
	used := usage()
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
