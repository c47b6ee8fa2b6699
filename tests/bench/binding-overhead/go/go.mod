module headrace.example/binding-overhead

go 1.24

require github.com/headrace/headrace/bindings/go v0.0.0

replace github.com/headrace/headrace/bindings/go => ../../../../bindings/go
