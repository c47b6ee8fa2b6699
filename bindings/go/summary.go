package headrace

// #include "callbacks.h"
import "C"

// Summary is an event file that `tensorboard --logdir DIRECTORY` shows. Several goroutines may use it.
type Summary struct{ object *object[*C.hr_summary] }

// OpenSummary creates a new event file in the directory, which is created if it is missing.
func OpenSummary(directory string) (*Summary, error) {
	var lent loan
	defer lent.end()
	path := lent.text(directory)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var summary *C.hr_summary
	if err := failure(C.hr_summary_open(path, &summary)); err != nil {
		return nil, err
	}
	out := new(Summary)
	return own(out, &out.object, summary, "summary", true, func(p *C.hr_summary) { C.hr_summary_release(p) }), nil
}

// Close flushes the file and closes it.
func (s *Summary) Close() error {
	s.object.close()
	return nil
}

// Calls a function with the handle and a tag.
func (s *Summary) write(tag string, function func(summary *C.hr_summary, tag *C.char, l *loan) *C.hr_status) error {
	var lent loan
	defer lent.end()
	summary, text := borrow(&lent, s.object), lent.text(tag)
	if lent.failure != nil {
		return lent.failure
	}
	if err := failure(function(summary, text, &lent)); err != nil {
		return err
	}
	return lent.failure
}

// Scalar adds a number.
func (s *Summary) Scalar(tag string, step int64, value float64) error {
	return s.write(tag, func(summary *C.hr_summary, tag *C.char, l *loan) *C.hr_status {
		return C.hr_summary_scalar(summary, tag, C.int64_t(step), C.double(value))
	})
}

// Histogram adds a histogram of the elements. Elements that are not finite are left out.
func (s *Summary) Histogram(tag string, step int64, values *Tensor) error {
	return s.write(tag, func(summary *C.hr_summary, tag *C.char, l *loan) *C.hr_status {
		tensor := l.tensor(values)
		if l.failure != nil {
			return nil
		}
		return C.hr_summary_histogram(summary, tag, C.int64_t(step), tensor)
	})
}

// Images adds the first most of the images, of shape [N, C, H, W] or [C, H, W].
func (s *Summary) Images(tag string, step int64, images *Tensor, most int64) error {
	return s.write(tag, func(summary *C.hr_summary, tag *C.char, l *loan) *C.hr_status {
		tensor := l.tensor(images)
		if l.failure != nil {
			return nil
		}
		return C.hr_summary_images(summary, tag, C.int64_t(step), tensor, C.int64_t(most))
	})
}

// Text adds a text in Markdown.
func (s *Summary) Text(tag string, step int64, text string) error {
	return s.write(tag, func(summary *C.hr_summary, tag *C.char, l *loan) *C.hr_status {
		contents := l.text(text)
		if l.failure != nil {
			return nil
		}
		return C.hr_summary_text(summary, tag, C.int64_t(step), contents)
	})
}

// Graph adds the main graph of a model.
func (s *Summary) Graph(model *Model) error {
	var lent loan
	defer lent.end()
	summary, handle := borrow(&lent, s.object), borrow(&lent, model.object)
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_summary_graph(summary, handle))
}

// Flush writes what is buffered.
func (s *Summary) Flush() error {
	summary, err := s.object.use()
	if err != nil {
		return err
	}
	defer s.object.done()
	return failure(C.hr_summary_flush(summary))
}

// Progress shows progress on standard error: as a bar if that is a terminal, otherwise as plain lines.
// One goroutine at a time uses it.
type Progress struct{ object *object[*C.hr_progress] }

// NewProgress begins with so many of total steps (-1: unknown). Items names what the steps handle,
// such as "images", the default. The label may be "".
func NewProgress(label, items string, done, total int64) (*Progress, error) {
	var lent loan
	defer lent.end()
	title, things := lent.optional(label), lent.optional(items)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var progress *C.hr_progress
	if err := failure(C.hr_progress_create(title, things, C.int64_t(done), C.int64_t(total), &progress)); err != nil {
		return nil, err
	}
	out := new(Progress)
	return own(out, &out.object, progress, "progress", false, func(p *C.hr_progress) { C.hr_progress_release(p) }), nil
}

// Update shows that so many steps are done, and that the last of them handled so many items. If the
// name of the metric is "", no metric is shown.
func (p *Progress) Update(done, items int64, metricName string, metric float64) {
	var lent loan
	defer lent.end()
	progress, name := borrow(&lent, p.object), lent.optional(metricName)
	if lent.failure == nil {
		C.hr_progress_update(progress, C.int64_t(done), C.int64_t(items), name, C.double(metric))
	}
}

// Message writes a line of its own above the bar.
func (p *Progress) Message(text string) {
	var lent loan
	defer lent.end()
	progress, line := borrow(&lent, p.object), lent.text(text)
	if lent.failure == nil {
		C.hr_progress_message(progress, line)
	}
}

// Close ends the line.
func (p *Progress) Close() error {
	p.object.close()
	return nil
}
