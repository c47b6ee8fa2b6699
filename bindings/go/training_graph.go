package headrace

// #include "callbacks.h"
import "C"

// Schedule adds a learning rate that changes from step to step, a scalar, such as
// "cosine base=0.1 warmup=500 steps=10000". The steps are the runs of the signature.
func (g *Graph) Schedule(signature, description string) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		of, text := l.text(signature), l.text(description)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_schedule(graph, of, text, out)
	})
}

// ClipGradients returns clipped gradients, None for those that are None, and their global norm, a
// scalar. Bounds are a text with one or more of "value=0.5", "norm=1" and "global_norm=1".
func (g *Graph) ClipGradients(bounds string, gradients ...Value) (clipped []Value, norm Value) {
	clipped = append([]Value{}, gradients...)
	norm = g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		text := l.text(bounds)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_clip_gradients(graph, text, C.size_t(len(clipped)), lendValues(l, clipped), out)
	})
	return clipped, norm
}

// SetTrainableMatching freezes the variables whose names fit the patterns, or makes them trainable,
// and returns their number. Commas separate patterns; * stands for any characters, ? for one.
func (g *Graph) SetTrainableMatching(patterns string, trainable bool) int {
	var count C.size_t
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(patterns)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_set_trainable_matching(graph, text, C.int(flag(trainable)), &count)
	})
	return int(count)
}

// ParameterGroup is variables with an optimizer and a learning rate of their own.
type ParameterGroup struct {
	Patterns     string // of trainable variables, as SetTrainableMatching takes them
	Optimizer    string // as Minimize takes it; a global norm is that of the group
	LearningRate Value
}

// MinimizeGroups is Minimize with each trainable variable in the first group that has a pattern for it.
func (g *Graph) MinimizeGroups(signature string, loss Value, groups ...ParameterGroup) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of := l.text(signature)
		list := make([]C.hr_parameter_group, len(groups))
		for i, group := range groups {
			list[i] = C.hr_parameter_group{struct_size: C.sizeof_hr_parameter_group, patterns: l.text(group.Patterns),
				optimizer: l.text(group.Optimizer), learning_rate: C.hr_value(group.LearningRate)}
		}
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_minimize_groups(graph, of, C.hr_value(loss), C.size_t(len(list)), lend(l, list))
	})
}

// AverageSignature adds the signature to, which computes what the signature from does, but of the
// averages of those variables that have one (the optimizer's setting average=DECAY).
func (g *Graph) AverageSignature(from, to string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		source, target := l.text(from), l.text(to)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_average_signature(graph, source, target)
	})
}

// SwapAverages adds a signature whose run swaps all variables that have an average with these.
func (g *Graph) SwapAverages(signature string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of := l.text(signature)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_swap_averages(graph, of)
	})
}

// Distribute rewrites a signature that trains so that all ranks of a group train one model: their
// gradients are averaged while the backward pass goes on. The group is the name that
// Session.BindGroup takes, and the strategy such as "mirrored" or "mirrored bucket=4194304 bf16=1".
// Call it after Minimize.
func (g *Graph) Distribute(signature, group, strategy string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of, name, how := l.text(signature), l.text(group), l.text(strategy)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_distribute(graph, of, name, how)
	})
}

// CopySignature adds the signature to with copies of the nodes that the signature from needs, so that
// one of the two can be changed.
func (g *Graph) CopySignature(from, to string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		source, target := l.text(from), l.text(to)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_copy_signature(graph, source, target)
	})
}

// Replace lets all that uses from use to instead: nodes, but for those that compute to, and outputs of
// signatures.
func (g *Graph) Replace(from, to Value) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_replace(graph, C.hr_value(from), C.hr_value(to))
	})
}
