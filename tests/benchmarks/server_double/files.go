package main

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// zeros is an endless source.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// zeroFile is as many zeros as its name says.
type zeroFile struct {
	name string
	size int64
}

func (file zeroFile) ReadAt(into []byte, offset int64) (int, error) {
	if offset >= file.size {
		return 0, io.EOF
	}
	count := min(int64(len(into)), file.size-offset)
	clear(into[:count])
	if offset+count == file.size {
		return int(count), io.EOF
	}
	return int(count), nil
}

func (file zeroFile) Name() string       { return file.name }
func (file zeroFile) Size() int64        { return file.size }
func (file zeroFile) Mode() fs.FileMode  { return 0o444 }
func (file zeroFile) ModTime() time.Time { return time.Unix(0, 0) }
func (file zeroFile) IsDir() bool        { return false }
func (file zeroFile) Sys() any           { return nil }

// zeroFiles is the SFTP subsystem: reading and stat.
type zeroFiles struct{}

func (zeroFiles) Fileread(request *sftp.Request) (io.ReaderAt, error) {
	return fileOf(request)
}

func (zeroFiles) Filelist(request *sftp.Request) (sftp.ListerAt, error) {
	if request.Method == "List" {
		return nil, fs.ErrPermission
	}
	file, err := fileOf(request)
	return oneFile{file}, err
}

func (zeroFiles) Filewrite(*sftp.Request) (io.WriterAt, error) { return nil, fs.ErrPermission }
func (zeroFiles) Filecmd(*sftp.Request) error                  { return fs.ErrPermission }

func fileOf(request *sftp.Request) (zeroFile, error) {
	name := path.Base(request.Filepath)
	size, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return zeroFile{}, errors.Join(fs.ErrNotExist, err)
	}
	return zeroFile{name, size}, nil
}

type oneFile struct{ file zeroFile }

func (one oneFile) ListAt(into []fs.FileInfo, offset int64) (int, error) {
	if offset > 0 || len(into) == 0 {
		return 0, io.EOF
	}
	into[0] = one.file
	return 1, io.EOF
}

func serveFiles(channel ssh.Channel) {
	defer channel.Close()
	handlers := sftp.Handlers{FileGet: zeroFiles{}, FilePut: zeroFiles{}, FileCmd: zeroFiles{}, FileList: zeroFiles{}}
	server := sftp.NewRequestServer(channel, handlers)
	_ = server.Serve()
	_ = server.Close()
}
