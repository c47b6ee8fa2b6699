package headrace

// #include "callbacks.h"
import "C"

import (
	"encoding/json"
	"io"
	"unsafe"
)

// Model is a loaded and verified graph. It is immutable, and several goroutines may use it. Its
// sessions keep it alive, so it may be closed first.
type Model struct{ object *object[*C.hr_model] }

func newModel(model *C.hr_model) *Model {
	if model == nil {
		return nil
	}
	out := new(Model)
	return own(out, &out.object, model, "model", false, func(p *C.hr_model) { C.hr_model_release(p) })
}

// LoadOptions say how a model is loaded. The zero value means defaults.
type LoadOptions struct {
	// Reads the file into memory instead of mapping it. A program that uses a mapped file gets
	// SIGBUS if somebody truncates it.
	ReadWholeFile bool
	// Verifies the checksums of the tensors, which a load without this does not read.
	VerifyChecksums bool
	// Loads a model that has operators that this library does not know, to look at it only.
	InspectOnly bool
}

func (l *loan) load(options *LoadOptions) *C.hr_load_options {
	if options == nil {
		return nil
	}
	return lendStruct(l, C.hr_load_options{struct_size: C.sizeof_hr_load_options,
		read_whole_file:  flag(options.ReadWholeFile),
		verify_checksums: flag(options.VerifyChecksums),
		inspect_only:     flag(options.InspectOnly)})
}

func flag(on bool) C.int32_t {
	if on {
		return 1
	}
	return 0
}

// LoadModel maps a .hrg file and verifies its structure, without reading the weights. The options
// may be nil.
func (e *Env) LoadModel(path string, options *LoadOptions) (*Model, error) {
	var lent loan
	defer lent.end()
	env, file, how := borrow(&lent, e.object), lent.text(path), lent.load(options)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var model *C.hr_model
	err := failure(C.hr_model_load(env, file, how, &model))
	return newModel(model), err
}

// LoadModelBytes loads a model from the contents of a .hrg file, which are used in place and must
// not be changed any more. They are pinned until the last user of the model is gone.
func (e *Env) LoadModelBytes(data []byte, options *LoadOptions) (*Model, error) {
	var lent loan
	defer lent.end()
	env, how := borrow(&lent, e.object), lent.load(options)
	if lent.failure != nil {
		return nil, lent.failure
	}
	memory := pin(address(data))
	var model *C.hr_model
	err := failure(C.hr_model_load_memory(env, address(data), bytesOf(data), releaser(), memory, how, &model))
	if err != nil {
		hrgo_release(memory)
	}
	return newModel(model), err
}

// LoadModelFrom loads a model from the first size bytes of a reader, which is used during the call
// only.
func (e *Env) LoadModelFrom(reader io.ReaderAt, size int64, options *LoadOptions) (*Model, error) {
	if reader == nil || size < 0 {
		return nil, invalid("a model cannot be loaded from %d bytes of %v; give a reader and the size of the file", size, reader)
	}
	var lent loan
	defer lent.end()
	env, how := borrow(&lent, e.object), lent.load(options)
	if lent.failure != nil {
		return nil, lent.failure
	}
	file := newContext(reader)
	c := C.hr_reader{struct_size: C.sizeof_hr_reader, context: file, total_bytes: C.uint64_t(size),
		read: (*[0]byte)(C.hrgo_read), release: releaser()}
	var model *C.hr_model
	err := failure(C.hr_model_load_callback(env, &c, how, &model))
	if err != nil {
		hrgo_release(file)
	}
	return newModel(model), err
}

//export hrgo_read
func hrgo_read(cell unsafe.Pointer, offset C.uint64_t, out unsafe.Pointer, bytes C.size_t) *C.hr_status {
	return guarded("the reader", func() error {
		into := unsafe.Slice((*byte)(out), bytes)
		n, err := contextValue[io.ReaderAt](cell).ReadAt(into, int64(offset))
		if n == len(into) {
			return nil // io.ReaderAt may return io.EOF with the last bytes
		}
		if err == nil || err == io.EOF {
			err = &Error{Code: DataLoss, Message: "the reader has ended before the size that was given with it"}
		}
		return err
	})
}

// Close releases the model.
func (m *Model) Close() error {
	m.object.close()
	return nil
}

// Graph makes a graph that goes on from the model, with all that the model has.
func (m *Model) Graph() (*Graph, error) {
	model, err := m.object.use()
	if err != nil {
		return nil, err
	}
	defer m.object.done()
	var graph *C.hr_graph
	err = failure(C.hr_graph_from_model(model, &graph))
	return newGraph(graph), err
}

// Describe returns signatures with their types, variables, graphs, operators and metadata as JSON.
func (m *Model) Describe() (json.RawMessage, error) {
	model, err := m.object.use()
	if err != nil {
		return nil, err
	}
	defer m.object.done()
	var text *C.hr_text
	return described(C.hr_model_describe(model, &text), text)
}

// GraphText writes the main graph with its nodes as "json" or "dot" (for Graphviz).
func (m *Model) GraphText(format string) (string, error) {
	var lent loan
	defer lent.end()
	model, how := borrow(&lent, m.object), lent.text(format)
	if lent.failure != nil {
		return "", lent.failure
	}
	var text *C.hr_text
	out, err := described(C.hr_model_graph_text(model, how, &text), text)
	return string(out), err
}

// View writes what a signature ("": all) needs of a graph (0: the main graph) as "json" or "dot".
func (m *Model) View(format, signature string, graph uint32) (string, error) {
	var lent loan
	defer lent.end()
	model, how := borrow(&lent, m.object), lent.text(format)
	view := lendStruct(&lent, C.hr_graph_view{struct_size: C.sizeof_hr_graph_view,
		signature: lent.optional(signature), graph: C.uint32_t(graph)})
	if lent.failure != nil {
		return "", lent.failure
	}
	var text *C.hr_text
	out, err := described(C.hr_model_view(model, how, view, &text), text)
	return string(out), err
}

// DescribeModelFile describes the parts of a .hrg file as JSON: format version, sizes, segments,
// checksums. It also works if the file has operators that this library does not know.
func DescribeModelFile(path string) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	file := lent.text(path)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	return described(C.hr_model_file_describe(file, &text), text)
}
