// Package headrace loads, builds, trains and serves dataflow graphs, and lets processes communicate,
// by the library libheadrace, which it calls by cgo. pkg-config finds the library.
//
//	env, err := headrace.NewEnv(nil)
//	model, err := env.LoadModel("lenet.hrg", nil)
//	session, err := model.NewSession(ctx, nil)
//	call, err := session.NewCall("infer")
//	err = headrace.BindSlice(call, "images", pixels, 1, 1, 28, 28)
//	err = call.Run(ctx)
//	scores, err := call.Result("scores")
//
// # Objects
//
// Objects have Close, which may be called any number of times and from any goroutine. A call that is
// using the object finishes first; later calls fail and match ErrClosed. What nobody closes is closed
// when it is collected, but Go's collector does not see the memory of the library, so close what is
// large. The library counts references: an env, a model or a tensor may be closed as soon as its owner
// needs it no more.
//
// # Errors
//
// Failures are of type *Error. errors.Is(err, headrace.NotFound) compares codes. Panics and errors of
// functions that the library calls (operators, sources, stores, readers) come back as failures of the
// call that needed them. Where no call can return them, as in a log, they go to slog.Default.
//
// # Contexts
//
// All that can wait takes a context. When it ends, the call fails within moments, and the failure
// matches both the code (Cancelled, DeadlineExceeded) and the context's error. A context that can never
// end, such as context.Background(), costs nothing.
//
// # Memory
//
// WrapTensor, BindSlice and OutputTo lend memory of Go in place: it is pinned for as long as the
// library uses it. Data views the memory of a tensor as a slice, which is valid until the tensor is
// closed.
package headrace
