module headrace.example/binding-latency

go 1.24

require (
	github.com/headrace/headrace/bindings/go v0.0.0
	github.com/yalue/onnxruntime_go v1.27.0
)

replace github.com/headrace/headrace/bindings/go => ../../../../bindings/go
