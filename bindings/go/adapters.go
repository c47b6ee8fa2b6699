package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
)

// Metric adds a metric of an evaluation, an output of the signature, such as "accuracy" or "auc". The
// inputs are as headrace/training_graph.h says.
func (g *Graph) Metric(signature, name, description string, inputs ...Value) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of, text, what := l.text(signature), l.text(name), l.text(description)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_metric(graph, of, text, what, C.size_t(len(inputs)), lendValues(l, inputs))
	})
}

// AddLoRA adds low-rank adapters wherever the name of a node or of its weight fits a pattern, freezes
// all other variables, and returns the number of nodes. Settings are such as "rank=8 alpha=16"; the
// training signature is needed for dropout and may be "" otherwise.
func (g *Graph) AddLoRA(patterns, settings, training string) int {
	var count C.size_t
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		which, how, signature := l.text(patterns), l.optional(settings), l.optional(training)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_add_lora(graph, which, how, signature, &count)
	})
	return int(count)
}

// LoadAdapters adds the adapters that Session.SaveAdapters has written, freezes all other variables, and
// returns the number of nodes.
func (g *Graph) LoadAdapters(path string) int {
	var count C.size_t
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		file := l.text(path)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_load_adapters(graph, file, &count)
	})
	return int(count)
}

// Quantize makes the numbers of one signature smaller: "weights", "dynamic", "static", "float16" or
// "bfloat16", with options behind. Only what the signature needs stays, so values have other numbers.
// Patterns choose nodes ("": all); data, for static alone and nil otherwise, is drawn from. It returns
// the report as JSON; headrace/train.h has all of it.
func (g *Graph) Quantize(ctx context.Context, signature, settings, patterns string, data *Dataset) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	graph, of, how, which := borrow(&lent, g.object), lent.text(signature), lent.text(settings), lent.optional(patterns)
	var dataset *C.hr_dataset
	if data != nil {
		dataset = borrow(&lent, data.object)
	}
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_graph_quantize(graph, of, how, which, dataset, l, &text)
	})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(text)), nil
}

// SaveAdapters writes the low-rank adapters of the session as a safetensors file.
func (s *Session) SaveAdapters(ctx context.Context, path string) error {
	return s.adapters(ctx, path, func(session *C.hr_session, path *C.char, l *C.hr_limits) *C.hr_status {
		return C.hr_session_save_adapters(session, path, l)
	})
}

// LoadAdapters gives the adapters of the session the values of such a file.
func (s *Session) LoadAdapters(ctx context.Context, path string) error {
	return s.adapters(ctx, path, func(session *C.hr_session, path *C.char, l *C.hr_limits) *C.hr_status {
		return C.hr_session_load_adapters(session, path, l)
	})
}

func (s *Session) adapters(ctx context.Context, path string, function func(*C.hr_session, *C.char, *C.hr_limits) *C.hr_status) error {
	var lent loan
	defer lent.end()
	session, file := borrow(&lent, s.object), lent.text(path)
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return function(session, file, l) })
}

// EvaluateMetrics evaluates as Evaluate does and returns the metrics as JSON.
func (s *Session) EvaluateMetrics(ctx context.Context, signature string, data *Dataset) (json.RawMessage, error) {
	if data == nil {
		return nil, invalid("the data set is nil; give one to evaluate")
	}
	var lent loan
	defer lent.end()
	session, name, dataset := borrow(&lent, s.object), lent.optional(signature), borrow(&lent, data.object)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_evaluate_metrics(session, name, dataset, l, &text) })
	if err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(text)), nil
}
