package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/weft-transport/weft/compare/scenarios"
)

// Embedded begins the paths of files that come with the program: weft:published/irn-sizes.txt.
const Embedded = "weft:"

// stat and open find a file of the machine, or one that comes with the program.
func stat(name string) (fs.FileInfo, error) {
	if inside, is := strings.CutPrefix(name, Embedded); is {
		return fs.Stat(scenarios.Published, path.Clean(inside))
	}
	return os.Stat(name)
}

func open(name string) (fs.File, error) {
	if inside, is := strings.CutPrefix(name, Embedded); is {
		return scenarios.Published.Open(path.Clean(inside))
	}
	return os.Open(name)
}

// An Input is a file that a scenario depends on.
type Input struct {
	Path   string
	Bytes  int64
	SHA256 string
}

// inputs collects the files of one scenario.
type inputs struct {
	dir   string // relative paths start here
	files []Input
}

// maxInput bounds the size of an input file.
const maxInput = 1 << 30

// join makes the path in a field start at the scenario's folder and records the file. Fields that
// are not given are left alone.
func (in *inputs) join(r *reader, field string) {
	n := r.node.Child(field)
	if n == nil || n.Null || n.Kind != Scalar || *r.err != nil {
		return
	}
	if !filepath.IsAbs(n.Text) {
		n.Text = filepath.ToSlash(filepath.Join(in.dir, n.Text))
	}
	if err := in.record(n.Text); err != nil {
		r.fail(n, field, err.Error())
	}
}

// record hashes a file.
func (in *inputs) record(path string) error {
	if err := lasting(path); err != nil {
		return err
	}
	file, err := open(path)
	if err != nil {
		return readError(path, err)
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(file, maxInput+1))
	if err != nil {
		return readError(path, err)
	}
	if n > maxInput {
		return fmt.Errorf("%s is larger than %d bytes", path, maxInput)
	}
	in.files = append(in.files, Input{Path: path, Bytes: n, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return nil
}

// lasting refuses what cannot be read a second time, or does not end: an input is hashed first, and read for every
// seed. Directories are left to the error of reading them.
func lasting(path string) error {
	info, err := stat(path)
	if err != nil {
		return readError(path, err)
	}
	if mode := info.Mode(); !mode.IsRegular() && !mode.IsDir() {
		return fmt.Errorf("%s is a pipe or a device; expected a file, which is read more than once", path)
	}
	return nil
}

// readError says in few words why a file cannot be read.
func readError(path string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}

// Open opens an input file of a resolved scenario.
func Open(path string) (io.ReadCloser, error) {
	file, err := open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	return file, nil
}
